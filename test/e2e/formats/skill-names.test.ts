// Names and frontmatter of skills that other agents accept: sanitized with a warning, and hints that fit.

import { describe, expect } from 'vitest';
import { finding } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

function withSkill(header: string, directory = 'notes') {
  const workspace = createWorkspace();
  workspace.write(`.agents/skills/${directory}/SKILL.md`, `---\n${header}\n---\nText.\n`);
  return workspace.toolbox();
}

describe('a name', () => {
  const names: [string, string, RegExp][] = [
    ['Foo & Bar', 'Foo-Bar', /leave out "&"/],
    ['docs/api', 'docs-api', /leave out "\/"/],
    ['-lead', 'lead', /start with a letter or digit/],
    ['a (b)', 'a-b', /leave out "\("/],
    ['C++', 'C', /leave out "\+"/],
  ];
  for (const [name, usable, hint] of names) {
    finding('D11 SKL-1', `${name} is read as ${usable}, with a warning`, async () => {
      const toolbox = withSkill(`name: "${name}"\ndescription: D`);
      expect((await toolbox.catalog.survey()).skills.map((skill) => skill.name)).toEqual([usable]);
      expect(await toolbox.catalog.problems()).toContainEqual(
        expect.objectContaining({
          severity: 'warning',
          message: `name "${name}" is not allowed, using "${usable}"`,
          hint: expect.stringMatching(hint),
        }),
      );
    });
  }

  for (const name of ['&&', '---', 'x'.repeat(65), '&/../a']) {
    finding('D11 SKL-1', `${name} is refused with a hint that fits`, async () => {
      const toolbox = withSkill(`name: "${name}"\ndescription: D`);
      expect((await toolbox.catalog.survey()).skills).toEqual([]);
      const [problem] = await toolbox.catalog.problems();
      expect(problem).toMatchObject({ severity: 'error', message: expect.stringContaining('is not allowed') });
      expect(problem?.hint).toMatch(
        name.length > 64 ? /at most 64/ : name.startsWith('&') ? /leave out "&"/ : /start with/,
      );
    });
  }
});

describe('a fault of YAML', () => {
  const faults: [string, RegExp, number][] = [
    ['name: a\ndescription: Use it: always', /colon in quotes/, 3],
    ['name: a\ndescription: D\nmetadata:\n\ttags: x', /with spaces/, 5],
    ['name: a\ndescription: D\nname: b', /remove one/, 4],
    ['name: a\ndescription: "open', /close the quote/, 4],
    ['name: a\ndescription: D\ntags: [a, b', /close every quote and bracket/, 4],
    ['name: a\ndescription: @home', /start with @/, 3],
  ];
  for (const [header, hint, line] of faults) {
    finding('D11 SKL-1', `${JSON.stringify(header)} has a hint that fits and its line`, async () => {
      const problems = await withSkill(header).catalog.problems();
      const problem = problems.find(({ message }) => message.includes('not valid YAML'));
      expect(problem?.hint).toMatch(hint);
      expect(problem?.line).toBeGreaterThanOrEqual(line - 1);
      expect(problem?.line).toBeLessThanOrEqual(line + 1);
      // Named once, with the file.
      expect(problem?.message).not.toContain('line');
    });
  }

  finding('D11 SKL-1', 'of one value leaves the others, blank lines and comments as they are', async () => {
    for (const header of [
      'name: a\ndescription: Use it: always',
      '  \n# A comment.\n\t\nname: a\n\n   \ndescription: Use it: always\n  ',
      'name: "a"\ndescription: Use it:\n  always',
    ]) {
      const toolbox = withSkill(header);
      expect([header, (await toolbox.find('a')).description]).toEqual([header, 'Use it: always']);
    }
  });
});
