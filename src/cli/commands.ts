// Tools as commands of wield: what collides with its own words, and how a tool is called.

import { commandLineOf, findCommandProblems, type Program } from '../commands/table.js';
import type { Problem } from '../core/problem.js';
import type { Tool } from '../core/tool.js';
import type { Survey } from '../core/toolbox.js';

const toProgram = (reserved: ReadonlySet<string>): Program => ({
  name: 'wield',
  reserved,
  call: 'wield call',
});

/** Commands that cannot be offered (MOD-25). */
export function commandProblems({ tools, unlisted }: Survey, reserved: ReadonlySet<string>): Problem[] {
  // A verb and a built-in tool of one word are both ours, and do the same.
  const isOwn = ({ name, origin, traits }: Tool): boolean =>
    origin.builtin === true && reserved.has(traits.group ?? name);
  const others = [...tools, ...unlisted].filter((tool) => !isOwn(tool));
  return findCommandProblems(others, toProgram(reserved));
}

/** What one types to call a tool, before its arguments. */
export function commandOf(tool: Tool, reserved: ReadonlySet<string>): string {
  return commandLineOf(tool, toProgram(reserved));
}
