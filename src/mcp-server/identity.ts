// What the server says about itself when a client connects.

import type { Toolbox } from '../core/toolbox.js';
import { TASKS } from '../net/mcp.js';

/** What every server announces. */
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const WITH_EXTENSION = { ...CAPABILITIES, extensions: { [TASKS]: {} } };
const WITH_TASKS = { ...WITH_EXTENSION, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

export interface ServerIdentity {
  readonly info: { readonly name: string; readonly version: string };
  /** In the newer protocol version. */
  readonly capabilities: object;
  readonly olderCapabilities: object;
  /** Text for the model, undefined if there is none. */
  readonly instructions: string | undefined;
}

export async function readIdentity(toolbox: Toolbox, version: string, hasTasks: boolean): Promise<ServerIdentity> {
  const instructions = await toolbox.workspace.instructions();
  return {
    info: { name: 'wield', version },
    capabilities: hasTasks ? WITH_EXTENSION : CAPABILITIES,
    olderCapabilities: hasTasks ? WITH_TASKS : CAPABILITIES,
    instructions: instructions || undefined,
  };
}
