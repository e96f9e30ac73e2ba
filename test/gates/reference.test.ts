// Gate: the reference pages list every key, verb, flag and tag, and no others.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMON_FLAGS } from '../../src/cli/verb.js';
import { VERBS } from '../../src/cli/verbs.js';
import { defaultOf, formatValue, keys } from '../../src/config/keys.js';
import { findRows, findSection, ROOT, readDocument } from '../support/documents.js';
import { SCHEMAS } from '../support/file-schemas.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

// After a change of the keys: npx vitest run test/gates/reference -u
describe('configuration', () => {
  test('the page has a row for each key, as in the table of keys', async () => {
    const rows = Object.entries(keys()).map(([key, { word, project, description }]) => {
      const value = defaultOf(key);
      const standard = value === undefined ? 'none' : formatValue(key, value).replace(/^"(.*)"$/, '$1');
      return `| \`${key}\` | ${word} | ${standard} | ${project} | ${description} |`;
    });
    const page = 'docs/reference/configuration.md';
    const table = /(?<=\| key \| value \| default \| project \| description \|\n\|[-|]+\|\n)(?:\|.*\n)+/;
    const written = readDocument(page).replace(table, `${rows.join('\n')}\n`);
    await expect(written).toMatchFileSnapshot(join(ROOT, page));
  });

  test('the schemas for editors are those of the tables of the code', async () => {
    for (const [name, schema] of Object.entries(SCHEMAS))
      await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(join(ROOT, 'schemas', `${name}.json`));
  });
});

describe('command line', () => {
  const page = readDocument('docs/reference/cli.md');
  const flagsIn = (text: string): string[] =>
    findRows(text)
      .map(([cell = '']) => /^--([a-z-]+)(?: [A-Z0-9]\S*)?$/.exec(cell)?.[1])
      .filter((name) => name !== undefined);

  spec('CLI-1', 'every verb has a section, an example and help', async () => {
    const headings = [...page.matchAll(/^## (.*)$/gm)].map((match) => match[1]!);
    expect(headings.slice(-VERBS.length).sort()).toEqual(VERBS.map((verb) => verb.name).sort());
    for (const { name, load, modes } of VERBS) {
      const verb = await load();
      expect(verb.usage).toMatch(new RegExp(`^${name}(?: |$)`, 'm'));
      expect(Object.keys(verb.flags)).toEqual(expect.arrayContaining(Object.keys(modes)));
      for (const [mode, loadMode] of Object.entries(modes))
        expect((await loadMode()).usage).toMatch(new RegExp(`^${name} --${mode}(?: |$)`, 'm'));
      expect(verb.examples.length).toBeGreaterThan(0);
      expect(findSection(page, name)).toContain(`\`wield ${name}`);
      expect(findSection(page, name)).toContain('JSON');
    }
  });

  test('every section lists exactly the flags of its verb', async () => {
    const shared = flagsIn(findSection(page, 'Flags of several verbs'));
    for (const { name, load, modes } of VERBS) {
      const section = findSection(page, name);
      // `Also `--yes`.` refers to the table of shared flags.
      const also = [...(/^Also (.*)\.$/m.exec(section)?.[1] ?? '').matchAll(/`--([a-z-]+)`/g)].map(
        (match) => match[1]!,
      );
      expect(shared).toEqual(expect.arrayContaining(also));
      const verbs = await Promise.all([load, ...Object.values(modes)].map((one) => one()));
      const own = [...new Set(verbs.flatMap(({ flags }) => Object.keys(flags)))];
      expect([name, [...flagsIn(section), ...also].sort()]).toEqual([name, own.sort()]);
    }
    const common = Object.keys(COMMON_FLAGS).filter((name) => name !== 'h');
    expect(flagsIn(findSection(page, 'Flags of every verb'))).toEqual(common);
  });
});

describe('script header', () => {
  const rows = findRows(findSection(readDocument('docs/reference/script-header.md'), 'Tags'));
  const tags = rows.map(([tag = '']) => tag.slice(1));

  spec('SCR-4 SCR-5', 'every tag of the specification has a row, and every row is a known tag', async () => {
    const statements = readDocument('spec/script.md')
      .split('\n')
      .filter((line) => /^- `SCR-(?:4|5|24)`/.test(line))
      .join('\n');
    const stated = [...statements.matchAll(/`@([a-z-]+)/g)].map((match) => match[1]!);
    expect([...new Set(tags)].sort()).toEqual([...new Set(stated)].sort());

    const workspace = createWorkspace();
    const header = [...tags, 'unheard-of'].map((tag) => `# @${tag}`).join('\n');
    workspace.script('tool', `#!/bin/sh\n# @description A tool.\n${header}\n`);
    const said: string[] = [];
    await workspace.toolbox({ debug: (message) => said.push(message) }).list();
    expect(said.filter((message) => message.includes('unknown tag'))).toEqual([
      expect.stringContaining('unknown tag @unheard-of'),
    ]);
  });
});
