// Workspaces with upstream servers in a given mode, and their processes.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createWorkspace, type Workspace } from './workspace.js';

const SERVER = fileURLToPath(new URL('upstream-server.mjs', import.meta.url));

export interface ServerSetting {
  /** What the server does; see upstream-server.mjs. */
  readonly mode?: string;
  readonly env?: Record<string, unknown>;
  readonly more?: Record<string, unknown>;
}

export interface UpstreamWorkspace extends Workspace {
  /** Process ids of the starts of a server so far. */
  starts(server: string): number[];
  /** Returns the entry of a server in a mode. */
  entry(server: string, setting?: ServerSetting): Record<string, unknown>;
  /** Rewrites the user's servers. */
  servers(servers: Readonly<Record<string, ServerSetting>>): void;
  /** Rewrites the servers of the workspace. */
  workspaceServers(servers: Readonly<Record<string, ServerSetting>>): void;
  /** Writes the tool list of a server in the mode `changing`. */
  tools(server: string, tools: readonly object[] | string): void;
}

/** Creates a workspace whose user has these servers. */
export function createUpstreamWorkspace(servers: Readonly<Record<string, ServerSetting>> = {}): UpstreamWorkspace {
  const workspace = createWorkspace();
  const startsOf = (server: string): string => join(workspace.home, `${encodeURIComponent(server)}.starts`);
  const toolsOf = (server: string): string => join(workspace.home, `${encodeURIComponent(server)}.tools`);
  const entry: UpstreamWorkspace['entry'] = (server, { mode = 'well', env = {}, more = {} } = {}) => ({
    command: process.execPath,
    args: [SERVER, mode, startsOf(server), toolsOf(server)],
    env,
    ...more,
  });
  const write = (file: string, all: Readonly<Record<string, ServerSetting>>): void => {
    mkdirSync(dirname(file), { recursive: true });
    const entries = Object.entries(all).map(([name, setting]) => [name, entry(name, setting)]);
    writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) }, null, 1));
  };
  const result: UpstreamWorkspace = {
    ...workspace,
    entry,
    starts: (server) =>
      existsSync(startsOf(server)) ? readFileSync(startsOf(server), 'utf8').trim().split('\n').map(Number) : [],
    servers: (all) => write(join(workspace.home, '.agents', 'mcp.json'), all),
    workspaceServers: (all) => write(join(workspace.dir, '.mcp.json'), all),
    tools: (server, tools) => writeFileSync(toolsOf(server), typeof tools === 'string' ? tools : JSON.stringify(tools)),
  };
  if (Object.keys(servers).length > 0) result.servers(servers);
  return result;
}

/** Returns a tool as listed by a server. */
export function remoteTool(name: string, more: object = {}): object {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object', properties: {} }, ...more };
}

/** Returns whether a process runs and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}
