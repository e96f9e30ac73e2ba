// Skills with tools in any directory of a workspace or its home, for tests of the search path.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSkillWorkspace, type SkillWorkspace } from './commands.js';

export const MODEL = { kind: 'model', door: 'test' } as const;

/** Returns a tools.json whose tools print a word and their name. */
export function printing(word: string, names: readonly string[]) {
  return {
    tools: names.map((name) => ({ name, description: `Says ${word}.`, parameters: { type: 'object' } })),
    allowlist: { args: ['say'] },
    execution: names.map((tool) => ({
      tool,
      binary: 'args',
      subcommand: 'say',
      args: [{ kind: 'literal', value: word }],
    })),
  };
}

/** Writes a skill directory with tools at an absolute path. */
export function writeSkill(directory: string, word: string, names: readonly string[]): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'tools.json'), JSON.stringify(printing(word, names)));
  return directory;
}

export { createSkillWorkspace, type SkillWorkspace };
