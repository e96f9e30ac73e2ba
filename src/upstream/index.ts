// Upstream servers put together: which there are, what they listed, and how one is started when it is needed.

import { join } from 'node:path';
import { toToolError } from '../core/error.js';
import type { Executor } from '../core/executor.js';
import { canonicalJson, type Json } from '../core/json.js';
import { redactError, redactOutput, redactValue } from '../core/redact.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { ServerEntry } from '../core/upstream.js';
import type { World } from '../core/world.js';
import { digestParts } from '../files/digest.js';
import type { PinStore } from '../policy/pins.js';
import { readVersion } from '../workspace/machine.js';
import {
  createListingFiles,
  createUpstreamFormat,
  type ServerState,
  type UpstreamFormat,
} from './catalog/format.js';
import type { Pool } from './connection/pool.js';
import type { NegotiatedVersion } from './connection/version.js';
import type { KnownSecrets } from './entries/known-secrets.js';
import { describeServer } from './entries/mask.js';
import type { ServerList } from './entries/servers.js';
import { createRemoteExecutor } from './execute/executor.js';

export interface UpstreamsOptions {
  readonly wieldHome: string;
  /** Where servers are started: it stays, also where the workdir moves. */
  readonly workdir: string;
  readonly servers: ServerList;
  readonly pins: PinStore;
  /** What servers were given that must be shown nowhere. */
  readonly secrets: KnownSecrets;
  readonly patienceMs: number;
  readonly onWait?: (servers: readonly string[]) => void;
  readonly onChange: () => void;
  readonly beforeRun?: () => void;
  readonly world: World;
}

export interface Upstreams {
  readonly format: UpstreamFormat;
  readonly executor: Executor<'remote'>;
  /** The configuration files that define servers. */
  readonly files: readonly string[];
  /** Starts a server for its list of tools, whatever happened before. Throws why it cannot be had. */
  refresh(server: ServerEntry, snapshot: Snapshot): Promise<void>;
  /** How each server stands, those that are switched off last; nothing is started to tell. */
  states(snapshot: Snapshot): readonly ServerState[];
  /** The tools of a server that are others than those that were approved, with lines that say how. */
  changes(state: ServerState): readonly ChangedTool[];
  /** Tools as they are now are approved. */
  approve(tools: readonly Tool[], snapshot: Snapshot): void;
}

export interface ChangedTool {
  readonly tool: Tool;
  readonly diff: readonly string[];
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { wieldHome, workdir, servers, pins, secrets, world } = options;
  const configurationOf = createConfigurationNames(workdir);

  let opened: Promise<Pool> | undefined;
  const loadPool = (): Promise<Pool> => {
    opened ??= openPool();
    return opened;
  };
  // Loaded with the first server that is needed: a listing needs none of it.
  const openPool = async (): Promise<Pool> => {
    const [{ createPool }, { openTransport }, { expandServer }, { keepListing }] = await Promise.all([
      import('./connection/pool.js'),
      import('./connection/open-transport.js'),
      import('./entries/expand.js'),
      import('./catalog/keep-listing.js'),
    ]);
    return createPool({
      world,
      version: readVersion(),
      redact: (said) => redactValue(said, secrets.all()),
      keyOf: configurationOf,
      open: async (entry, { env }) => {
        // Whether a workspace's server may be started was asked before: by the policy, or by whoever lists.
        const { server, secrets: found } = expandServer(entry, { ...world, workdir, trusted: true });
        secrets.add(found);
        return openTransport(server, {
          world,
          pass: env.pass,
          logins: join(wieldHome, 'oauth'),
          beforeRun: options.beforeRun,
        });
      },
      knownVersionOf: (server) => format.verdictOf(server) as NegotiatedVersion | undefined,
      onListing: (server, listing, { version, instructions }) =>
        format.keep(server, {
          ...keepListing(listing, server),
          verdict: version as unknown as Json,
          instructions,
        }),
      onFailure: (server, error) => format.fail(server, redactError(error, secrets.all())),
    });
  };
  const pool: Pick<Pool, 'acquire' | 'close'> = {
    acquire: async (server, settings, signal) => (await loadPool()).acquire(server, settings, signal),
    close: async () => (await opened)?.close(),
  };
  const refresh: Upstreams['refresh'] = async (server, { settings }) => {
    try {
      await (await loadPool()).refresh(server, settings);
    } catch (error) {
      throw redactError(toToolError(error), secrets.all());
    }
  };

  const executor = createRemoteExecutor({
    find: (name, snapshot) => {
      const server = snapshot.servers.servers.find((one) => one.name === name);
      return server && { server, configuration: configurationOf(server) };
    },
    pool,
    redact: (output) => redactOutput(output, secrets.all()),
    redactProgress: (progress) => redactValue(progress, secrets.all()),
  });
  const withDigest = (tool: Tool): Tool => ({
    ...tool,
    origin: { ...tool.origin, digest: executor.digest(tool) },
  });

  const format = createUpstreamFormat({
    configurationOf,
    describe: describeServer,
    mayStart: ({ owner }, snapshot) => owner !== 'workspace' || snapshot.trusted,
    ask: refresh,
    files: createListingFiles(join(wieldHome, 'cache', 'upstream'), world),
    review: (tools) => {
      const found = tools.map(withDigest);
      const states = found.map(pins.check);
      const fresh = found.filter((_, at) => states[at] === 'new');
      if (fresh.length > 0) pins.pin(fresh, new Date(world.now()));
      return found.map((tool, at) => (typeof states[at] === 'string' ? undefined : pins.approved(tool)));
    },
    patienceMs: options.patienceMs,
    ...(options.onWait === undefined ? {} : { onWait: options.onWait }),
    onChange: options.onChange,
    world,
  });

  return {
    format,
    executor,
    files: servers.files,
    refresh,
    states: (snapshot) => [
      ...format.states(snapshot),
      ...snapshot.servers.disabled.map(
        (server): ServerState => ({ server, state: 'off', tools: [], changed: [] }),
      ),
    ],
    changes: ({ tools, changed }) =>
      tools
        .filter(({ name }) => changed.includes(name))
        .map(withDigest)
        .flatMap((tool) => {
          const pin = pins.check(tool);
          return typeof pin === 'string' ? [] : [{ tool, diff: pin.diff }];
        }),
    approve(tools, snapshot) {
      pins.pin(tools, new Date(world.now()));
      format.accept(snapshot);
    },
  };
}

// Everything that decides what is started or asked, with references as written: no secret goes into a name of a file.
function createConfigurationNames(workdir: string): (server: ServerEntry) => string {
  const names = new WeakMap<ServerEntry, string>();
  return (server) => {
    let name = names.get(server);
    if (name === undefined) {
      const { place, owner, allow: _, deny: __, timeoutMs: ___, startTimeoutMs: ____, ...how } = server;
      // What a checkout says of its own directory means another one elsewhere.
      const where = owner === 'workspace' ? workdir : '';
      name = digestParts([owner, where, canonicalJson(how as unknown as Json)]).slice(0, 32);
      names.set(server, name);
    }
    return name;
  };
}
