// `wield mcp logout`: revokes and deletes the login to an upstream server.

import { join } from 'node:path';
import { assertPerson } from '../../../core/caller.js';
import { spellOut } from '../../../core/text.js';
import type { HttpServer } from '../../../core/upstream.js';
import { printJson } from '../../print.js';
import type { VerbCall } from '../../verb.js';
import type { McpAction } from './action.js';
import { findAddressed } from './server.js';

export const logout: McpAction = {
  usage: 'logout NAME',
  example: 'wield mcp logout github',
  flags: {},
  positionals: 1,
  run: async (call, [name]) => logoutOf(call, await findAddressed(call.toolbox(), name, 'logout')),
};

/** Logs out of a server whose references were expanded. */
export async function logoutOf(call: VerbCall, server: HttpServer): Promise<number> {
  const {
    machine: { wieldHome, world, insideCall },
  } = call.toolbox();
  assertPerson(insideCall, 'logging out');
  const { logout: logOut } = await import('../../../upstream/login/index.js');
  const existed = await logOut(server, { directory: join(wieldHome, 'oauth'), world, signal: call.signal });
  if (call.json) printJson(call.terminal, { ok: true, server: server.name, loggedOut: existed });
  else {
    const name = spellOut(server.name);
    call.terminal.out(existed ? `Logged out of ${name}.\n` : `Not logged in to ${name}.\n`);
  }
  return 0;
}
