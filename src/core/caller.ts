// The default caller, and what only a person may do.

import { ToolError } from './error.js';
import type { Caller } from './toolbox.js';

/** Code that says nothing else about itself. */
export const CODE: Caller = { kind: 'code', door: 'library' };

/** Throws where this process was started by a tool: consent is a person's. */
export function assertPerson(insideCall: boolean, what: string): void {
  if (!insideCall) return;
  throw new ToolError('denied', `${what} from inside a tool call does not count`, {
    hint: 'a person must do it, in a shell that no tool started',
  });
}
