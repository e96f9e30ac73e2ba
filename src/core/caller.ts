// Who called, in a word: for records, prompts and rules.

import { ToolError } from './error.js';
import { quoteOutside } from './text.js';
import type { Caller } from './toolbox.js';

/** `mcp:cursor`, `cli`, `library`: the door, and the client's name where it gave one. */
export function formatCaller({ door, name }: Caller): string {
  return name === undefined ? door : `${door}:${quoteOutside(name, 60)}`;
}

/** Code that says nothing else about itself. */
export const CODE: Caller = { kind: 'code', door: 'library' };

/** Throws where this process was started by a tool: consent is a person's. */
export function assertPerson(insideCall: boolean, what: string): void {
  if (!insideCall) return;
  throw new ToolError('denied', `${what} from inside a tool call does not count`, {
    hint: 'a person must do it, in a shell that no tool started',
  });
}
