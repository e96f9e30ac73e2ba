// Descriptions and parameters of tasks, and which values a task may get.

import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';

// TSK-6: text that a shell reads as nothing but words, none of which is an option.
const WORD = '[\\p{L}\\p{N}_@%+=:,./][\\p{L}\\p{N}_@%+=:,./-]*';

/** Pattern of values that the file puts into text for a shell (TSK-6). */
export const SHELL_SAFE = `^(?:${WORD}(?: ${WORD})*)?$`;

/** What is said of a parameter with this pattern. */
export const SHELL_SAFE_NOTE = 'words without quotes, $ and other characters of the shell';

/** Schema of tasks that declare no parameters. */
export const ARGS = {
  type: 'object',
  properties: {
    args: { type: 'array', items: { type: 'string' }, description: 'Arguments, each one argument' },
  },
} as const;

/** Like `ARGS`, for programs that put arguments into the text of a shell (TSK-6); `:::` begins another task of mise. */
export const PLAIN_ARGS = {
  type: 'object',
  properties: {
    args: {
      type: 'array',
      items: { type: 'string', pattern: `^(?:-{0,2}${WORD}(?: ${WORD})*)?$`, not: { const: ':::' } },
      description: `Arguments, each one argument: ${SHELL_SAFE_NOTE}`,
    },
  },
} as const;

/** Schema of a variable that the file puts into the text of a shell. */
export function toVariable(notes: readonly string[] = []): JsonSchema {
  return { type: 'string', pattern: SHELL_SAFE, description: [...notes, SHELL_SAFE_NOTE].join('; ') };
}

/** Describes a task by its own words, if there are any, or by what it runs. */
export function describeTask(about: unknown, runs: string): string {
  const said = typeof about === 'string' ? quoteOutside(about, 500) : '';
  return said === '' ? `Run ${quoteOutside(runs, 200)}` : said;
}
