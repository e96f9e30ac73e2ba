// The commands of tools, and their collisions with verbs.

import { commandLineOf, findCommandProblems, type Program } from '../commands/table.js';
import type { Problem } from '../core/problem.js';
import type { Tool } from '../core/tool.js';
import type { Survey } from '../core/toolbox.js';

const toProgram = (reserved: ReadonlySet<string>): Program => ({
  name: 'wield',
  reserved,
  call: 'wield call',
});

/** Returns the commands that collide (MOD-25). */
export function commandProblems({ tools, unlisted }: Survey, reserved: ReadonlySet<string>): Problem[] {
  // A built-in tool with the name of a verb does the same as the verb.
  const isOwn = ({ name, origin, traits }: Tool): boolean =>
    origin.builtin === true && reserved.has(traits.group ?? name);
  const others = [...tools, ...unlisted].filter((tool) => !isOwn(tool));
  return findCommandProblems(others, toProgram(reserved));
}

/** Returns the command of a tool without arguments. */
export function commandOf(tool: Tool, reserved: ReadonlySet<string>): string {
  return commandLineOf(tool, toProgram(reserved));
}
