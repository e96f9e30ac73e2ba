// Upstream servers for a workspace: its person's own entries, and how often each was started.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createWorkspace, type Workspace } from './workspace.js';

const SCRIPTED = fileURLToPath(new URL('./upstream-server.mjs', import.meta.url));

/** An entry, with a look at what its processes left behind. */
export interface CountedServer {
  readonly entry: object;
  /** The ids of the processes that were started, in order. */
  starts(): readonly number[];
  /** What it wrote down of itself. */
  log(): readonly string[];
}

/** Makes these the servers of the workspace's person. */
export function configureServers(workspace: Workspace, servers: Readonly<Record<string, object>>): void {
  const directory = join(workspace.home, '.agents');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
}

/** A server of ours over stdio: a program whose second argument is the file that its starts are written to. */
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

const SEARCH = {
  name: 'search',
  description: 'Search the docs.',
  inputSchema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
  annotations: { readOnlyHint: true },
};
const OTHER = { name: 'other', description: 'Something else.', inputSchema: { type: 'object' } };

/** A workspace with the server `docs`, whose tools stand in a file: `search` and `other`, until it describes others. */
export function createDocs() {
  const workspace = createWorkspace();
  const file = join(workspace.home, 'tools.json');
  /** The tool `search` is described so from now on. */
  const describeSearch = (changes: object = {}): void =>
    writeFileSync(file, JSON.stringify([{ ...SEARCH, ...changes }, OTHER]));
  describeSearch();
  const docs = countedServer(workspace, 'docs', { args: ['changing'], more: [file] });
  configureServers(workspace, { docs: docs.entry });
  return { workspace, docs, describeSearch };
}
