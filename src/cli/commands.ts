// Tools as commands of wield: the words that are taken, what collides, and how a tool is called.

import { commandLineOf, findCommandProblems, type Program } from '../consumers/commands/table.js';
import type { Problem, Tool } from '../core/tool.js';
import type { Survey } from '../core/toolbox.js';
import { RESERVED } from './verbs.js';

const WIELD: Program = { name: 'wield', reserved: RESERVED, call: 'wield call' };

/** Commands that cannot be offered (MOD-25). */
export function commandProblems({ tools, unlisted }: Survey): Problem[] {
  return findCommandProblems([...tools, ...unlisted], WIELD);
}

/** What one types to call a tool, before its arguments. */
export function commandOf(tool: Tool): string {
  return commandLineOf(tool, WIELD);
}
