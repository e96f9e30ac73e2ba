// Starts the server of the page with what other commands know: doctor, tokens and logging in.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { NodeToolbox } from '../node.js';
import type { PageServer } from '../ui/server/index.js';
import { SENT } from './sent.js';
import type { VerbCall } from './verb.js';
import { runDoctor } from './verbs/doctor/run.js';
import { findAddressed } from './verbs/mcp/server.js';

declare const WIELD_VERSION: string;

export async function openPage(call: VerbCall, toolbox: NodeToolbox, port: number): Promise<PageServer> {
  const { servePage } = await import('../ui/server/index.js');
  const doctor = async () => (await runDoctor(toolbox, call.reserved)).checks;
  const login = (name: string, signal: AbortSignal) => logIn(toolbox, name, signal);
  const installedChanges = async () => (await import('./installed-changes.js')).findInstalledChanges(call, toolbox);
  const version = WIELD_VERSION;
  const onAddress = (url: string) => call.terminal.err(`  that address is no longer valid; a new one: ${url}\n`);
  return servePage({ toolbox, version, doctor, providers: SENT, login, installedChanges, onAddress }, port);
}

const LOGIN_MS = 5 * 60_000;

async function logIn(toolbox: NodeToolbox, name: string, signal: AbortSignal): Promise<void> {
  const { wieldHome, world } = toolbox.machine;
  const { upstreams } = toolbox.state;
  const server = await findAddressed(toolbox, name, 'login');
  const [{ login }, { openBrowser }] = await Promise.all([
    import('../upstream/login/index.js'),
    import('../upstream/login/open-browser.js'),
  ]);
  const show = async (url: URL): Promise<void> => {
    if (await openBrowser(url, world)) return;
    throw new ToolError('unavailable', 'no browser could be opened', { hint: `run wield mcp login ${name}` });
  };
  await login(server, { directory: join(wieldHome, 'oauth'), world, timeoutMs: LOGIN_MS, signal, show });
  const entry = upstreams.states().find((state) => state.server.name === name)?.server;
  if (entry !== undefined) upstreams.forgetFailure(entry);
}
