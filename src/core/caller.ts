// Who called, in a word: for records, prompts and rules.

import { quoteOutside } from './text.js';
import type { Caller } from './toolbox.js';

/** `mcp:cursor`, `cli`, `library`: the door, and the client's name where it gave one. */
export function formatCaller({ door, name }: Caller): string {
  return name === undefined ? door : `${door}:${quoteOutside(name, 60)}`;
}

/** Code that says nothing else about itself. */
export const CODE: Caller = { kind: 'code', door: 'library' };
