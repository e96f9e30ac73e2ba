// Workspaces whose sessions share servers, and their broker.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { wield } from './cli.js';
import { onEnd } from './share.js';
import { createWorkspace, type Workspace } from './workspace.js';

const SERVER = fileURLToPath(new URL('shared-server.mjs', import.meta.url));

export interface BrokerWorkspace extends Workspace {
  /** The directory of the broker. */
  readonly broker: string;
  /** Returns the process of the broker; undefined without one. */
  brokerPid(): number | undefined;
  /** What a server received, in lines that begin with its process. */
  received(server: string): readonly string[];
  /** The processes of a server so far. */
  starts(server: string): number[];
  /** The arguments of a server: its program and its log. */
  arguments(server: string): [program: string, log: string];
  /** Rewrites the servers; each has these fields of its own. */
  servers(servers: Readonly<Record<string, object>>): void;
}

/** Creates a workspace whose user has these servers, and a broker that is ended after the test. */
export function createBrokerWorkspace(servers: Readonly<Record<string, object>> = { far: {} }): BrokerWorkspace {
  const own = createWorkspace();
  const { WIELD_NO_BROKER: _, ...env } = own.env;
  const workspace: Workspace = { ...own, env };
  own.config('[mcp]\nbroker = true\n');
  onEnd(async () => void (await wield(workspace, ['mcp', 'stop'])));
  const broker = join(own.env.WIELD_HOME!, 'broker');
  const logOf = (server: string): string => join(own.home, `${server}.log`);
  const received = (server: string): readonly string[] =>
    existsSync(logOf(server)) ? readFileSync(logOf(server), 'utf8').trim().split('\n') : [];
  const write = (all: Readonly<Record<string, object>>): void => {
    const entries = Object.entries(all).map(([name, more]) => [
      name,
      { command: process.execPath, args: [SERVER, logOf(name)], ...more },
    ]);
    mkdirSync(join(own.home, '.agents'), { recursive: true });
    writeFileSync(join(own.home, '.agents', 'mcp.json'), JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
  };
  write(servers);
  return {
    ...workspace,
    broker,
    received,
    servers: write,
    arguments: (server) => [SERVER, logOf(server)],
    starts: (server) =>
      received(server).flatMap((line) => (line.endsWith(' start') ? [Number.parseInt(line, 10)] : [])),
    brokerPid() {
      const [record] = (existsSync(broker) ? readdirSync(broker) : []).filter((name) => name.endsWith('.json'));
      if (record === undefined) return undefined;
      return (JSON.parse(readFileSync(join(broker, record), 'utf8')) as { pid: number }).pid;
    },
  };
}
