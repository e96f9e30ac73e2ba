// `wield serve`: the tools of a workdir for an agent, over stdio or HTTP.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { assertPerson } from '../../core/caller.js';
import { ToolError } from '../../core/error.js';
import { count, sanitize } from '../../core/text.js';
import { needsTrust } from '../../core/tool.js';
import { readTextFile } from '../../files/read.js';
import { createMcpHttp, isLoopback, MCP_PATH, serveMcpStdio } from '../../mcp-server/index.js';
import type { NodeToolbox } from '../../node.js';
import { resolvePath } from '../io.js';
import type { Terminal } from '../terminal.js';
import type { Verb, VerbCall } from '../verb.js';

declare const WIELD_VERSION: string;

const MIN_TOKEN = 16;

export const serve: Verb = {
  name: 'serve',
  usage: 'serve [--http [HOST:]PORT] [--with GROUP]',
  summary: 'Serve the tools of this workdir to an agent, over stdio (MCP) or HTTP.',
  examples: ['wield serve', 'wield serve --http 7070', 'WIELD_TOKEN=… wield serve --http 0.0.0.0:7070'],
  flags: {
    http: {
      kind: 'value',
      value: '[HOST:]PORT',
      description: 'Serve over HTTP at /mcp; 127.0.0.1 unless a host is named',
    },
    'token-file': {
      kind: 'value',
      value: 'FILE',
      description: 'Ask for this bearer token (or set WIELD_TOKEN)',
    },
    with: { kind: 'value', value: 'GROUP,…', description: 'Offer these built-in tools too' },
    trust: { kind: 'switch', description: 'Trust this workspace while the server runs' },
  },
  positionals: 0,
  runsUntilStopped: true,
  async run(call) {
    const toolbox = call.toolbox({
      guard: true,
      // A client that waits for its first list must not wait for a slow server: what comes later is told as a change.
      upstreamPatienceMs: 5000,
      trust: call.flags.has('trust'),
      offer: String(call.flags.get('with') ?? '')
        .split(',')
        .filter(Boolean),
    });
    if (call.flags.has('trust')) assertPerson(toolbox.machine.insideCall, 'trusting');
    const http = call.flags.get('http');
    if (http === undefined) return serveOverStdio(call, toolbox);
    return serveOverHttp(call, toolbox, parseAddress(String(http)), readToken(call));
  },
};

async function serveOverStdio({ terminal, signal }: VerbCall, toolbox: NodeToolbox): Promise<number> {
  if (terminal.inIsTerminal) {
    terminal.err(
      'wield serve speaks MCP on standard input and output; an agent starts it. Ctrl-C ends it.\n',
    );
  }
  const { io } = terminal;
  io.reserveStdout();
  const serving = serveMcpStdio(toolbox, {
    version: WIELD_VERSION,
    input: io.stdin.stream(),
    write: io.stdout.writeAsync,
    onError: (error) => toolbox.machine.world.debug(`protocol: ${error.message}`),
  });
  signal.addEventListener('abort', () => void serving.close(), { once: true });
  await serving.ended;
  return 0;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

async function serveOverHttp(
  call: VerbCall,
  toolbox: NodeToolbox,
  address: Address,
  token: string | undefined,
): Promise<number> {
  const { terminal, signal } = call;
  if (!isLoopback(address.host) && token === undefined) {
    throw new ToolError('usage', `${address.host} is reachable from elsewhere, and no token is set`, {
      hint: 'set WIELD_TOKEN or --token-file, or serve on 127.0.0.1',
    });
  }
  const handler = createMcpHttp(toolbox, {
    version: WIELD_VERSION,
    access: { host: address.host, ...(token === undefined ? {} : { token }) },
    onError: (error) => toolbox.machine.world.debug(`protocol: ${error.message}`),
  });
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 5000,
      // How often the first two are looked at.
      connectionsCheckingInterval: 2000,
      maxHeaderSize: 16 * 1024,
    },
    getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false }),
  );
  server.maxConnections = 1024;
  const { port } = await listen(server, address);
  await announce(terminal, toolbox, address.host, port);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await handler.close();
  server.closeAllConnections();
  server.close();
  return 0;
}

function listen(server: ReturnType<typeof createServer>, { host, port }: Address): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      reject(
        new ToolError(
          'unavailable',
          taken ? `port ${port} is taken` : `cannot listen on ${host}:${port}: ${error.message}`,
          {
            hint: 'choose another port; 0 takes a free one',
          },
        ),
      );
    });
    server.listen(port, host.replace(/^\[|\]$/g, ''), () => resolve(server.address() as AddressInfo));
  });
}

async function announce(terminal: Terminal, toolbox: NodeToolbox, host: string, port: number): Promise<void> {
  // Starting a server starts no other one (UPS-3).
  const tools = await toolbox.list({ caller: { kind: 'model', door: 'mcp' }, knownOnly: true });
  terminal.out(
    `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}${MCP_PATH}\n`,
  );
  terminal.err(`  serving ${count(tools.length, 'tool')} of ${toolbox.workspace.workdir}; Ctrl-C ends it\n`);
  if (!toolbox.workspace.trusted && tools.some(needsTrust)) {
    terminal.err(
      '  this workspace is not trusted: its tools are listed and cannot be called until you run wield trust\n',
    );
  }
}

function parseAddress(text: string): Address {
  const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:[\]]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) {
    throw new ToolError('usage', `--http "${sanitize(text)}" is no address`, {
      hint: 'write PORT or HOST:PORT, as in --http 7070',
    });
  }
  return { host: match[1] ?? '127.0.0.1', port };
}

function readToken({ flags, env, terminal }: VerbCall): string | undefined {
  const file = flags.get('token-file');
  const token = file === undefined ? env.WIELD_TOKEN : readTokenFile(resolvePath(terminal.io, String(file)));
  if (token === undefined || token === '') return undefined;
  if (token.length < MIN_TOKEN) {
    throw new ToolError('usage', `the token is shorter than ${MIN_TOKEN} characters`, {
      hint: 'make one: openssl rand -hex 32',
    });
  }
  return token;
}

function readTokenFile(file: string): string {
  try {
    const text = readTextFile(file, 4096)?.trim();
    if (text) return text;
  } catch {
    // Said below: a file that cannot be read and one that is not there get the same answer.
  }
  throw new ToolError('io', `no token in ${file}`, {
    hint: 'write one into it: openssl rand -hex 32 > FILE',
  });
}
