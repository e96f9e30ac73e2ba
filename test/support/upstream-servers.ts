// Upstream servers of a workspace's user, and how often each was started.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROTOCOL_SERVER } from './bundled-server.js';
import type { ProtocolVersion } from './clients.js';
import { ALL_TESTS, THOROUGH } from './effort.js';
import { onEnd } from './share.js';
import { createWorkspace, type Workspace } from './workspace.js';

const SCRIPTED = fileURLToPath(new URL('./upstream-server.mjs', import.meta.url));

/** A server entry, and what its processes logged. */
export interface CountedServer {
  readonly entry: object;
  /** The ids of the processes that were started, in order. */
  starts(): readonly number[];
  /** Its log. */
  log(): readonly string[];
}

/** Writes these as the user's servers. */
export function configureServers(workspace: Workspace, servers: Readonly<Record<string, object>>): void {
  const directory = join(workspace.home, '.agents');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
}

/** Creates the entry of a stdio server: a program whose second argument is the file that logs its starts. */
export function countedServer(
  workspace: Workspace,
  name: string,
  { program = SCRIPTED, args = ['well'], more = [] as readonly string[] } = {},
): CountedServer {
  const file = join(workspace.home, `${name}.starts`);
  const [mode = 'well'] = args;
  const linesOf = (path: string): readonly string[] =>
    existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  return {
    entry: { command: process.execPath, args: [program, mode, file, ...more] },
    starts: () => linesOf(file).map(Number),
    log: () => linesOf(`${file}.log`),
  };
}

export interface EraServer extends CountedServer {
  /** Stops an HTTP server. */
  stop(): Promise<void>;
  /** Restarts it at the same address, without its state. */
  restart(): Promise<void>;
}

/** A server that speaks one protocol only, over stdio or HTTP. */
export async function protocolServer(
  workspace: Workspace,
  name: string,
  protocol: ProtocolVersion,
  wire: Wire,
): Promise<EraServer> {
  const counted = countedServer(workspace, name, { program: PROTOCOL_SERVER, args: [protocol] });
  if (wire === 'stdio') return { ...counted, stop: async () => {}, restart: async () => {} };
  const file = join(workspace.home, `${name}.starts`);
  const start = async (port: string): Promise<{ url: string; stop(): Promise<void> }> => {
    const child = spawn(process.execPath, [PROTOCOL_SERVER, protocol, file, port], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const stop = async (): Promise<void> => {
      child.kill('SIGKILL');
      await exited;
    };
    onEnd(stop);
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8').trim()));
      void exited.then(() => reject(new Error('the server ended at once')));
    });
    return { url, stop };
  };
  let running = await start('0');
  const { url } = running;
  return {
    ...counted,
    entry: { url },
    stop: () => running.stop(),
    async restart() {
      await running.stop();
      running = await start(new URL(url).port);
    },
  };
}

export type Wire = 'stdio' | 'http';

type Combination = readonly [ProtocolVersion, Wire, ProtocolVersion, Wire];

// Each version and each transport of a server and of a client.
const USUAL: readonly Combination[] = [
  ['older', 'http', 'newer', 'stdio'],
  ['newer', 'stdio', 'older', 'http'],
];
// With these, each version of a server with each of a client.
const MORE: readonly Combination[] = [
  ['older', 'stdio', 'older', 'stdio'],
  ['newer', 'http', 'newer', 'http'],
];
const OTHERS: readonly Combination[] = [
  ['older', 'stdio', 'newer', 'http'],
  ['newer', 'stdio', 'newer', 'stdio'],
  ['older', 'http', 'older', 'http'],
  ['newer', 'http', 'older', 'stdio'],
];

/** Protocol version and transport of a server and of a client. */
export const COMBINATIONS: readonly Combination[] = [...USUAL, ...(ALL_TESTS ? MORE : []), ...(THOROUGH ? OTHERS : [])];

/** Returns the first text of a result. */
export const said = (result: unknown): string =>
  ((result as { content: { text: string }[] }).content[0] ?? { text: '' }).text;

const SEARCH = {
  name: 'search',
  description: 'Search the docs.',
  inputSchema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
  annotations: { readOnlyHint: true },
};
const OTHER = { name: 'other', description: 'Something else.', inputSchema: { type: 'object' } };

/** Creates a workspace with the server `docs`, whose tools are read from a file: at first `search` and `other`. */
export function createDocs() {
  const workspace = createWorkspace();
  const file = join(workspace.home, 'tools.json');
  /** Changes the description of `search`. */
  const describeSearch = (changes: object = {}): void =>
    writeFileSync(file, JSON.stringify([{ ...SEARCH, ...changes }, OTHER]));
  describeSearch();
  const docs = countedServer(workspace, 'docs', { args: ['changing'], more: [file] });
  configureServers(workspace, { docs: docs.entry });
  return { workspace, docs, describeSearch };
}
