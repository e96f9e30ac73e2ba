// The servers of the broker: one process each, or one per session that it may ask something at the same time.

import { NO_SANDBOXES } from '../../core/sandbox.js';
import type { World } from '../../core/snapshot.js';
import type { StdioServer } from '../../core/upstream.js';
import { listProcesses, readProc } from '../../process/proc.js';
import type { Connection } from '../connection/connection.js';
import type { StartSettings } from '../connection/open.js';
import { type Lease, Pool } from '../connection/pool.js';
import { createProcessTransport, type ProcessTransport } from '../connection/process-transport.js';
import type { Peer } from './peer.js';
import { identify, type SharedPlan, type SharedState } from './plan.js';

export interface SharedServer extends StdioServer {
  readonly key: string;
  readonly identity: string;
  readonly plan: SharedPlan;
  readonly channels: Set<Channel>;
  readonly processes: Map<ProcessTransport, number>;
  /** The server refused the older protocol version. */
  hasNoOlder: boolean;
  /** Sessions that wait for a connection. */
  waiting: number;
}

/** A connection of a session to a server. */
export interface Channel {
  readonly id: number;
  readonly peer: Peer;
  readonly server: SharedServer;
  readonly lease: Lease;
  /** Resources that the session follows. */
  readonly uris: Set<string>;
  unlisten?: () => void;
  end(): void;
}

export interface SharedServersOptions {
  /** The version of wield. */
  readonly version: string;
  readonly world: World;
  /** Called when it may have become idle. */
  readonly onLeft: () => void;
}

export type SharedServers = ReturnType<typeof createSharedServers>;

export function createSharedServers({ version, world, onLeft }: SharedServersOptions) {
  const servers = new Map<string, SharedServer>();
  const watched = new WeakSet<Connection>();
  const pool = new Pool({
    world,
    version,
    // The session does, which knows the secrets.
    redact: (value) => value,
    keyOf: (server) => toShared(server).key,
    open: async (server) => {
      const { plan, processes } = toShared(server);
      const transport = await createProcessTransport(plan, world);
      processes.set(transport, world.now());
      return transport;
    },
    knownVersionOf: (server) => toShared(server).plan.knownVersion,
    mayHaveBoth: (server) => toShared(server).plan.older && !toShared(server).hasNoOlder,
    isStored: () => true,
    onListing: async (server, listing, { connection }) => {
      for (const { id, peer, lease } of toShared(server).channels)
        if (lease.connection === connection) peer.notify('listing', { channel: id, listing });
    },
    onFailure: () => {},
  });

  const forget = (server: SharedServer): void => {
    for (const transport of server.processes.keys())
      if (transport.exit !== undefined) server.processes.delete(transport);
    if (!isUsed(server) && server.processes.size === 0) servers.delete(server.key);
    onLeft();
  };
  // Once per connection, which outlives most sessions.
  const watch = (server: SharedServer, { connection }: Lease): void => {
    if (watched.has(connection)) return;
    watched.add(connection);
    connection.closed.then(() => {
      for (const channel of server.channels) {
        if (channel.lease.connection !== connection) continue;
        channel.end();
        channel.peer.notify('closed', { channel: channel.id, exit: connection.transport.exit });
      }
      forget(server);
    });
  };

  return {
    /** Removes what nobody uses any more. */
    forget,
    /** Whether the list of servers is empty. */
    isIdle: (): boolean => servers.size === 0,
    close: (): Promise<void> => pool.close(),
    states: (): readonly SharedState[] => [...servers.values()].flatMap(toStates),
    /** Returns the server of a plan, which may have no process yet. */
    find(plan: SharedPlan): SharedServer {
      const identity = identify(plan);
      const key = `${identity} ${plan.older}`;
      const known = servers.get(key);
      if (known !== undefined) return known;
      const own = { key, identity, plan, channels: new Set<Channel>(), processes: new Map(), waiting: 0 };
      const server: SharedServer = { ...plan.entry, ...own, hasNoOlder: false };
      servers.set(key, server);
      return server;
    },
    /** Returns a lease of a process; of its own for a person while another one uses it, where the server needs that. */
    async acquire(server: SharedServer, person: string | undefined, signal: AbortSignal): Promise<Lease> {
      server.waiting++;
      try {
        const { older } = server.plan;
        const use = { protocol: older ? ('2025-11-25' as const) : undefined, person };
        const lease = await pool.acquire(server, toSettings(server.plan), use, { signal, ignoresBackoff: true });
        server.hasNoOlder ||= older && !lease.isSecondary;
        watch(server, lease);
        return lease;
      } finally {
        server.waiting--;
        // A start that nobody waits for any more.
        if (signal.aborted && !isUsed(server)) pool.end(server);
        forget(server);
      }
    },
    /** Ends the processes of a plan if no session uses them, or always all of its entry, whatever they were started with. */
    end(plan: SharedPlan, when: unknown): void {
      const identity = identify(plan);
      const { name, position } = plan.entry;
      for (const server of servers.values()) {
        const isSame = server.identity === identity;
        const isOfEntry = server.name === name && server.position.file === position.file;
        if (when === 'always' ? isSame || isOfEntry : isSame && !isUsed(server)) pool.end(server);
      }
    },
  };
}

function toShared(server: object): SharedServer {
  return server as SharedServer;
}

function isUsed({ channels, waiting }: SharedServer): boolean {
  return channels.size + waiting > 0;
}

// What the session resolved already does not matter here.
function toSettings({ announces }: SharedPlan): StartSettings {
  return { announces, env: { pass: [], from: {} }, sandbox: NO_SANDBOXES, allowedServers: [], broker: false };
}

const PAGE_BYTES = 4096;

// The resident memory of a process group; null if the system does not show it.
function memoryOf(leader: number): number | null {
  let pages = 0;
  for (const pid of listProcesses()) {
    const stat = readProc(`/proc/${pid}/stat`);
    // The name in parentheses can contain anything. Then come state, parent, group, and 19 fields later the resident pages.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    if (Number(fields[2]) === leader) pages += Number(fields[21]);
  }
  return pages === 0 ? null : pages * PAGE_BYTES;
}

function toStates({ name, plan, channels, processes }: SharedServer): SharedState[] {
  const sessions = new Set([...channels].map(({ peer }) => peer)).size;
  return [...processes].flatMap(([{ pid, exit }, startedAt]) =>
    pid === undefined || exit !== undefined
      ? []
      : [{ name, pid, directory: plan.request.cwd, sessions, memoryBytes: memoryOf(pid), startedAt }],
  );
}
