// Made-up tools, for decisions about what is not a tool itself.

import { IN_CODE } from './origin.js';
import { NO_PARAMETERS } from './schema.js';
import { NO_TRAITS, type Tool } from './tool.js';

/** Returns a tool that does nothing and accepts any input, with other members as given. */
export function toMadeUpTool(name: string, members: Partial<Tool> = {}): Tool {
  return {
    name,
    description: '',
    input: { json: NO_PARAMETERS, check: async (value) => ({ ok: true, value }) },
    action: { kind: 'function', run: () => null },
    origin: IN_CODE,
    traits: NO_TRAITS,
    ...members,
  };
}

/** Returns a tool with the name and origin of those of a server: rules that deny it deny the server as a whole. */
export function anyToolOf(server: string): Tool {
  return toMadeUpTool(`${server}_any`, { origin: { ...IN_CODE, format: 'mcp', server, owner: 'upstream' } });
}
