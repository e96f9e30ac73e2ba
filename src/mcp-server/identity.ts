// What the server says about itself when a client connects.

import type { Toolbox } from '../core/toolbox.js';
import { TASKS } from './wants-task.js';

/** What the server announces; every client gets the same. */
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
  extensions: { [TASKS]: {} },
};

/** Only of the older protocol version; in the newer it is the extension. */
export const OLDER_TASKS = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

export interface ServerIdentity {
  readonly info: { readonly name: string; readonly version: string };
  readonly capabilities: typeof CAPABILITIES;
  /** Text for the model, undefined if there is none. */
  readonly instructions: string | undefined;
}

export async function readIdentity(toolbox: Toolbox, version: string): Promise<ServerIdentity> {
  const instructions = await toolbox.workspace.instructions();
  return {
    info: { name: 'wield', version },
    capabilities: CAPABILITIES,
    instructions: instructions || undefined,
  };
}
