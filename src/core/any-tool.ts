// A made-up tool of a server, for questions about the server as a whole.

import { IN_CODE } from './origin.js';
import { NO_PARAMETERS } from './schema.js';
import { NO_TRAITS, type Tool } from './tool.js';

/** Returns a tool with the name and origin of those of a server: rules that deny it deny the server as a whole. */
export function anyToolOf(server: string): Tool {
  return {
    name: `${server}_any`,
    description: '',
    input: { json: NO_PARAMETERS, check: async (value) => ({ ok: true, value }) },
    action: { kind: 'delegate', ref: '', ownInput: true },
    origin: { ...IN_CODE, format: 'mcp', server, owner: 'upstream' },
    traits: NO_TRAITS,
  };
}
