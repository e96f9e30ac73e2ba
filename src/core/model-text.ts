// Texts that every door sends to models in the same form: errors, and descriptions of tools.

import type { ErrorValue } from './error.js';
import { needsTrust, type Tool } from './tool.js';

const UNTRUSTED = '[Not callable yet: a person must review this workspace and run `wield trust`.] ';

/** Formats an error as its code and message, with the hint on a second line. */
export function formatError({ code, message, hint }: ErrorValue): string {
  return `[${code}] ${message}${hint === undefined ? '' : `\nhint: ${hint}`}`;
}

/** Returns the description for a model, marked if the tool cannot be called until the workspace is trusted. */
export function describeForModel(tool: Tool, trusted: boolean): string {
  return needsTrust(tool) && !trusted ? UNTRUSTED + tool.description : tool.description;
}
