// Reads the frontmatter of published skills, if the corpus is available.

import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { expect } from 'vitest';
import { CORPORA, NO_CORPORA } from '../../support/corpora.js';
import { specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

interface Found {
  readonly path: string;
  readonly frontmatter: string;
}

const FILE = resolve(CORPORA, 'skills/wshobson-agents.jsonl');
const found: Found[] = existsSync(FILE)
  ? readFileSync(FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Found)
  : [];

// Each that is refused, by the name of its directory, with the reason.
const REFUSED: Readonly<Record<string, RegExp>> = {};
// Each that is read with a warning.
const WARNED: Readonly<Record<string, RegExp>> = {
  postgresql: /^name "postgresql-table-design" differs/,
};

specIf.thorough(found.length > 0, NO_CORPORA, 'SKL-1', 'each is read, or refused for a known reason', async () => {
  expect(found.length).toBeGreaterThan(150);
  const workspace = createWorkspace();
  for (const [index, { path, frontmatter }] of found.entries())
    workspace.write(
      `plugins/${index}/skills/${basename(dirname(path))}/SKILL.md`,
      `---\n${frontmatter}\n---\n\nText.\n`,
    );
  const refused: Record<string, string> = {};
  const warned: Record<string, string> = {};
  let read = 0;
  for (const [index, { path, frontmatter }] of found.entries()) {
    const directory = basename(dirname(path));
    const toolbox = workspace.toolbox({ workdir: resolve(workspace.dir, `plugins/${index}`) });
    const problems = await toolbox.catalog.problems();
    const error = problems.find(({ severity }) => severity === 'error');
    if (error) refused[directory] = error.message;
    for (const { severity, message } of problems) if (severity === 'warning') warned[directory] = message;
    const name = /^name:\s*["']?([^"'\n]+?)["']?\s*$/m.exec(frontmatter)?.[1] ?? '';
    const result = await toolbox.call('read_skill', { skill_name: name });
    expect([path, result.ok]).toEqual([path, error === undefined]);
    if (result.ok) read++;
  }
  for (const [seen, known] of [
    [refused, REFUSED],
    [warned, WARNED],
  ] as const) {
    expect(seen).toEqual(
      Object.fromEntries(Object.entries(known).map(([name, reason]) => [name, expect.stringMatching(reason)])),
    );
  }
  expect(read).toBe(found.length - Object.keys(REFUSED).length);
});
