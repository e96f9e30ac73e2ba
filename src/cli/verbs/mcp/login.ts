// `wield mcp login`: a person logs in to an upstream server in their browser.

import { join } from 'node:path';
import { assertPerson } from '../../../core/caller.js';
import { ToolError } from '../../../core/error.js';
import { formatDuration, parseDuration, spellOut } from '../../../core/text.js';
import type { HttpServer } from '../../../core/upstream.js';
import { readLine } from '../../line.js';
import { printJson } from '../../print.js';
import type { VerbCall } from '../../verb.js';
import type { McpAction } from './action.js';
import { findAddressed } from './server.js';

const FLAGS: McpAction['flags'] = {
  'no-browser': { kind: 'switch', description: 'With login: print the address only' },
  timeout: { kind: 'value', value: 'TIME', description: 'With login: how long to wait for the answer (5m)' },
  scope: { kind: 'value', value: 'WORDS', description: 'With login: what to ask for' },
  port: { kind: 'value', value: 'N', description: 'With login: the port of this machine to come back to' },
};

export const login: McpAction = {
  usage: 'login NAME [--no-browser] [--timeout TIME] [--scope WORDS] [--port N]',
  example: 'wield mcp login github',
  flags: FLAGS,
  positionals: 1,
  run: async (call, [name]) => loginTo(call, await findAddressed(call.toolbox(), name, 'login')),
};

// As much as a terminal gives at once.
const LONGEST_ADDRESS = 4096;

/** Logs in to a server whose references are replaced. */
export async function loginTo(call: VerbCall, server: HttpServer): Promise<number> {
  const { terminal, flags, signal } = call;
  const {
    machine: { wieldHome, world, insideCall },
  } = call.toolbox();
  assertPerson(insideCall, 'logging in');
  const timeoutMs = readTimeout(flags.get('timeout'));
  const [scope, port] = [flags.get('scope'), readPort(flags.get('port'))];
  const [{ login: logIn }, { openBrowser }] = await Promise.all([
    import('../../../upstream/login/index.js'),
    import('../../../upstream/login/open-browser.js'),
  ]);
  const facts = await logIn(server, {
    directory: join(wieldHome, 'oauth'),
    world,
    timeoutMs,
    signal,
    ...(typeof scope === 'string' ? { scope } : {}),
    ...(port === undefined ? {} : { port }),
    show: async (url) => {
      const opened = !flags.has('no-browser') && (await openBrowser(url, world));
      const asked = opened
        ? 'The browser should have opened; if not, go to'
        : 'Open this address in a browser';
      terminal.err(
        `${asked}:\n\n  ${spellOut(url.href)}\n\nWaiting ${formatDuration(timeoutMs)} for the answer.\n`,
      );
    },
    ...(terminal.canAsk ? { paste: (accept, over) => void takePasted(call, accept, over) } : {}),
  });
  if (call.json) printJson(terminal, { ok: true, login: facts });
  else {
    const until = facts.renewable ? 'renewed by itself' : `until ${facts.expiresAt ?? 'it is revoked'}`;
    terminal.out(`Logged in to ${spellOut(facts.server)} (${spellOut(facts.url)}), ${until}.\n`);
  }
  return 0;
}

// The browser of another machine ends at an address that it cannot open: that is the answer.
async function takePasted(
  { terminal }: VerbCall,
  accept: (address: string) => boolean,
  over: AbortSignal,
): Promise<void> {
  terminal.err('If the browser ends at a page that it cannot open, paste its address here:\n');
  while (!over.aborted) {
    const line = (await readLine(terminal, over, LONGEST_ADDRESS)).trim();
    if (over.aborted || accept(line)) return;
    // The end of standard input.
    if (line === '') return;
    terminal.err('That is not the answer to this login. Paste the whole address, with its state:\n');
  }
}

function readTimeout(flag: string | true | undefined): number {
  const timeoutMs = parseDuration(typeof flag === 'string' ? flag : '5m');
  if (timeoutMs !== undefined) return timeoutMs;
  throw new ToolError('usage', '--timeout is no length of time', { hint: 'for example --timeout 5m' });
}

function readPort(flag: string | true | undefined): number | undefined {
  if (flag === undefined) return undefined;
  const port = Number(flag);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ToolError('usage', '--port is no port', { hint: 'for example --port 8976' });
}
