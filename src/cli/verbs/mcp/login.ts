// `wield mcp login` and `logout`: log in to an upstream server in the browser, revoke and delete the login.

import { assertPerson } from '../../../core/caller.js';
import { formatDuration, parseDuration, spellOut } from '../../../core/text.js';
import type { HttpServer } from '../../../core/upstream.js';
import type { NodeToolbox } from '../../../node.js';
import type { LoginFacts, LoginOptions } from '../../../upstream/login/index.js';
import { toLoginDirectory } from '../../../upstream/login/user.js';
import { ASKS } from '../../consent.js';
import { report } from '../../print.js';
import { readLine } from '../../terminal.js';
import { numberOf, option, toggle, usageError, type VerbCall } from '../../verb.js';
import { findAddressed, type McpAction } from './server.js';

const FLAGS: McpAction['flags'] = {
  'no-browser': toggle('With login: print the URL without opening it'),
  timeout: option('TIME', 'With login: how long to wait (5m)'),
  scope: option('WORDS', 'With login: the OAuth scopes to request'),
  port: option('N', 'With login: the local port of the redirect', { range: [1, 65_535, 'for example --port 8976'] }),
  // Does not ask: the server does, in the browser (CLI-31).
  ...ASKS,
};

export const login: McpAction = {
  usage: 'login NAME [--no-browser] [--timeout TIME] [--scope WORDS] [--port N] [--dry-run]',
  example: 'wield mcp login github',
  flags: FLAGS,
  positionals: 1,
  run: async (call, [name]) => loginTo(call, await findAddressed(call.toolbox(), name, 'login')),
};

// The line limit of a terminal.
const MAX_ADDRESS = 4096;

/** Logs in to a server whose references were expanded. */
export async function loginTo(call: VerbCall, server: HttpServer): Promise<number> {
  const { terminal, flags, signal, dryRun } = call;
  if (dryRun) return printDryRun(call, server, 'log in to');
  const toolbox = call.toolbox();
  const { world, insideCall } = toolbox.machine;
  assertPerson(insideCall, 'logging in');
  const timeoutMs = readTimeout(flags.get('timeout'));
  const [scope, port] = [flags.get('scope'), numberOf(call, 'port')];
  const { openBrowser } = await import('../../../upstream/login/open-browser.js');
  const facts = await logIn(toolbox, server, {
    timeoutMs,
    signal,
    scope: typeof scope === 'string' ? scope : undefined,
    port,
    show: async (url) => {
      const opened = !flags.has('no-browser') && (await openBrowser(url, world));
      const asked = opened ? 'If the browser did not open, go to' : 'Open this URL in a browser';
      terminal.err(`${asked}:\n\n  ${spellOut(url.href)}\n\nWaiting up to ${formatDuration(timeoutMs)}.\n`);
    },
    paste: terminal.canAsk ? (accept, over) => void readPasted(call, accept, over) : undefined,
  });
  const until = facts.renewable ? 'renewed automatically' : `until ${facts.expiresAt ?? 'it is revoked'}`;
  const text = `Logged in to ${spellOut(facts.server)} (${spellOut(facts.url)}), ${until}.\n`;
  return report(call, { login: facts }, text);
}

/** Logs in without output. The last failure of the server no longer counts. */
export async function logIn(
  { machine: { wieldHome, world }, state: { network, upstreams } }: NodeToolbox,
  server: HttpServer,
  options: Omit<LoginOptions, 'directory' | 'createFetch' | 'world'>,
): Promise<LoginFacts> {
  const { login } = await import('../../../upstream/login/index.js');
  const { createFetch } = network;
  const facts = await login(server, { directory: toLoginDirectory(wieldHome), createFetch, world, ...options });
  // Failures are stored for the entry, whose references are not expanded.
  const entry = upstreams.states().find((state) => state.server.name === server.name)?.server;
  if (entry !== undefined) upstreams.forgetFailure(entry);
  return facts;
}

function printDryRun(call: VerbCall, { name, url }: HttpServer, what: string): number {
  const text = `  would ${what} ${spellOut(name)} (${spellOut(url)})\n`;
  return report(call, { dryRun: true, server: name, url }, text);
}

// A browser on another machine cannot open the redirect URL, so the user pastes it here.
async function readPasted(
  { terminal }: VerbCall,
  accept: (address: string) => boolean,
  over: AbortSignal,
): Promise<void> {
  terminal.err('If the browser cannot open the last page, paste its URL here:\n');
  while (!over.aborted) {
    const line = (await readLine(terminal, over, MAX_ADDRESS)).trim();
    if (over.aborted || accept(line)) return;
    // End of stdin.
    if (line === '') return;
    terminal.err('That URL does not belong to this login. Paste the complete URL:\n');
  }
}

function readTimeout(flag: string | true | undefined): number {
  const timeoutMs = parseDuration(typeof flag === 'string' ? flag : '5m');
  if (timeoutMs !== undefined) return timeoutMs;
  throw usageError('--timeout is not a duration', 'for example --timeout 5m');
}

export const logout: McpAction = {
  usage: 'logout NAME [--user USER] [--dry-run]',
  example: 'wield mcp logout github',
  // Narrows, so it does not ask (CLI-31).
  flags: { user: option('USER', 'With logout: the login of this user of wield serve'), ...ASKS },
  positionals: 1,
  run: async (call, [name]) => logoutOf(call, await findAddressed(call.toolbox(), name, 'logout')),
};

/** Logs out of a server whose references were expanded. */
export async function logoutOf(call: VerbCall, server: HttpServer): Promise<number> {
  if (call.dryRun) return printDryRun(call, server, 'log out of');
  const { wieldHome, world, insideCall } = call.toolbox().machine;
  const { createFetch } = call.toolbox().state.network;
  assertPerson(insideCall, 'logging out');
  const { logout: logOut, findUserDirectories } = await import('../../../upstream/login/index.js');
  const user = call.flags.get('user');
  const directories =
    user === undefined ? [toLoginDirectory(wieldHome)] : findUserDirectories(server, String(user), wieldHome);
  let existed = false;
  for (const directory of directories)
    existed = (await logOut(server, { directory, createFetch, world, signal: call.signal })) || existed;
  const name = spellOut(server.name) + (user === undefined ? '' : ` as ${spellOut(String(user))}`);
  const text = existed ? `Logged out of ${name}.\n` : `Not logged in to ${name}.\n`;
  return report(call, { server: server.name, loggedOut: existed }, text);
}
