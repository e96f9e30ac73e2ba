// Upstream servers of a toolbox: their tools, the executor that calls them, and their state.

import { join } from 'node:path';
import { toToolError } from '../core/error.js';
import type { CallScope, Executor } from '../core/executor.js';
import type { OfferSource } from '../core/format.js';
import { canonicalJson } from '../core/json.js';
import { memoize } from '../core/memoize.js';
import type { HttpPlan } from '../core/plan.js';
import { redactError, redactOutput, redactValue } from '../core/redact.js';
import { assertConfiguration } from '../core/rule.js';
import { NO_PARAMETERS } from '../core/schema.js';
import type { ConfiguredServers, Snapshot, World } from '../core/snapshot.js';
import { compareText } from '../core/text.js';
import { NO_TRAITS, type Tool } from '../core/tool.js';
import type { ServerEntry, StdioServer } from '../core/upstream.js';
import { lineDiff } from '../files/diff.js';
import { digestParts } from '../files/digest.js';
import { isLocked } from '../files/lock.js';
import type { PinStore } from '../policy/pins.js';
import { worldOf } from '../process/environment.js';
import { createUpstreamFormat, type ServerState, type UpstreamFormat } from './catalog/format.js';
import type { ListingFiles, StoredTool } from './catalog/listing-file.js';
import { createUpstreamOffers, joinInstructions } from './catalog/offers.js';
import { toTool } from './catalog/tools.js';
import type { StartSettings } from './connection/open.js';
import type { Acquire, ConnectionState, Pool } from './connection/pool.js';
import { createServerSubscriptions } from './connection/subscriptions.js';
import { assertAllowed, blocked } from './entries/allowed.js';
import { type ExpandedCredentials, expandCredentials, type ResolvedServer } from './entries/expand.js';
import { describeServer } from './entries/mask.js';
import type { ServerList } from './entries/servers.js';
import { createRemoteExecutor } from './execute/executor.js';
import { hasLogin, type OwnLoginOptions } from './execute/own-login.js';
import type { LoadPoolOptions } from './load-pool.js';
import { isPerUser } from './login/user.js';
import type { RegistryOrigins } from './registry/origin.js';
import { createServerSecrets } from './server-secrets.js';

export interface UpstreamsOptions
  extends Omit<LoadPoolOptions, 'configurationOf' | 'lockOf' | 'listings' | 'serverSecrets' | 'registryOf'> {
  readonly servers: ServerList;
  readonly pins: PinStore;
  readonly listingFiles: ListingFiles;
  readonly patienceMs?: number | undefined;
  readonly onWait?: (servers: readonly string[]) => void;
  readonly loginPages?: OwnLoginOptions['loginPages'];
}

/** What is known of a server besides its entry. */
export interface KnownServer {
  /** With its references resolved. */
  readonly resolved?: ResolvedServer;
  /** Its name in a registry, before its origin is recorded. */
  readonly registry?: string | undefined;
}

export interface Upstreams {
  readonly format: UpstreamFormat;
  /** Their resources and prompts. */
  readonly offers: OfferSource;
  /** What trusted servers want a model to know that may use them (UPS-71). */
  instructions(snapshot: Snapshot): string;
  readonly executor: Executor<'remote'>;
  /** Expands the credentials of a request, which the user's configuration writes like those of a server. */
  expandCredentials(plan: HttpPlan, scope: Pick<CallScope, 'snapshot' | 'options'>): Promise<ExpandedCredentials>;
  /** Returns what a person can do with the servers, each time as of the snapshot of that moment. */
  administer(snapshot: () => Snapshot): ServerAdmin;
  /** Pins tools as they are now. */
  approve(tools: readonly Tool[], snapshot: Snapshot): Promise<void>;
}

/** The upstream servers of the workspace, as of now. */
export interface ServerAdmin {
  /** The configuration files that define servers. */
  readonly files: readonly string[];
  /**
   * Connects to a server to list its tools, ignoring earlier failures: `refresh` starts it again if no other session uses
   * it, `restart` ends it first. Throws if it cannot be started.
   */
  refresh(server: ServerEntry, how?: 'refresh' | 'restart'): Promise<void>;
  /** Describes the last connection of this process to a server. */
  connection(server: ServerEntry): Promise<ConnectionState | undefined>;
  /** Returns the state of each server, disabled ones last; starts nothing. */
  states(): readonly ServerState[];
  /** Returns the servers as they are once a file has this text. */
  preview(file: string, text: string): ConfiguredServers;
  /** Returns the changed tools of a server with a diff to their approved definitions. */
  changes(state: ServerState): readonly ChangedTool[];
  /** Pins tools as they are now. */
  approve(tools: readonly Tool[]): Promise<void>;
  /** Compares the tools that were listed of two versions of a server. */
  compare(before: ServerEntry, after: ServerEntry): readonly ToolDifference[];
  /** Forgets that a server could not be started. */
  forgetFailure(server: ServerEntry): void;
  /** Throws `denied` if the configuration is invalid, or no list of it allows a server (POL-41). */
  assertAllowed(server: ServerEntry, known?: KnownServer): void;
  /** Remembers the entry that a registry gave for a name. */
  readonly addOrigin: RegistryOrigins['add'];
}

export interface ChangedTool {
  readonly tool: Tool;
  readonly diff: readonly string[];
}

/** How a tool of a server differs between two versions. */
export interface ToolDifference {
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly diff: readonly string[];
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { wieldHome, workdir, pins, secrets, onChange, world } = options;
  const configurationOf = createConfigurationHash(workdir);
  const lockOf = (server: ServerEntry): string => join(wieldHome, 'starting', configurationOf(server));
  const serverSecrets = createServerSecrets(secrets);
  const load = async () => {
    const { toStartSettings } = await import('./connection/open.js');
    const { loadPool } = await import('./load-pool.js');
    const pool = loadPool({
      ...options,
      registryOf: options.servers.origins.of,
      serverSecrets,
      configurationOf,
      lockOf,
      listings: format.listings,
    });
    return { pool, toStartSettings };
  };
  let loaded: ReturnType<typeof load> | undefined;
  type Use<T> = (pool: Pool, settings: StartSettings) => Promise<T>;
  const withPool = async <T>(server: ServerEntry, snapshot: Snapshot, use: Use<T>): Promise<T> => {
    try {
      assertConfiguration(snapshot.policy);
      loaded ??= load();
      const { pool, toStartSettings } = await loaded;
      return await use(pool, toStartSettings(server, snapshot));
    } catch (error) {
      throw redactError(toToolError(error), serverSecrets.of(server.name));
    }
  };
  const refresh = (server: ServerEntry, snapshot: Snapshot, how?: Parameters<Pool['list']>[2]) =>
    withPool(server, snapshot, async (pool, { user, ...settings }) => {
      // The list is that of this machine's login for users who have none (IDN-23).
      const isOwn = user !== undefined && (!isPerUser(server) || hasLogin(server, user, snapshot, options));
      await pool.list(server, isOwn ? { ...settings, user } : settings, how);
      if (how !== undefined) format.listings.confirm(server);
    });
  const acquire: Acquire = (server, snapshot, use, signal) =>
    withPool(server, snapshot, (pool, settings) => pool.acquire(server, settings, use, { signal }));
  const executor = createRemoteExecutor({
    world,
    wieldHome,
    loginPages: options.loginPages,
    find: (name, snapshot) => {
      const server = snapshot.servers.servers.find((one) => one.name === name);
      return server && { server, configuration: configurationOf(server) };
    },
    acquire,
    close: async () => {
      subscriptions.close();
      await (await loaded)?.pool.close();
    },
    redact: (output, server) => redactOutput(output, serverSecrets.of(server)),
    redactProgress: (progress, server) => redactValue(progress, serverSecrets.of(server)),
  });
  const withDigest = (tool: Tool): Tool => ({
    ...tool,
    origin: { ...tool.origin, digest: executor.digest(tool) },
  });
  const format = createUpstreamFormat({
    configurationOf,
    refresh,
    files: options.listingFiles,
    approved: (tools) =>
      tools.map(withDigest).map((tool) => (typeof pins.check(tool) === 'string' ? undefined : pins.approved(tool))),
    pinNew: (tools) => pinNew(tools.map(withDigest), pins, world),
    patienceMs: options.patienceMs,
    onWait: options.onWait,
    isInstalling: (server) => isLocked(lockOf(server)),
    world,
  });

  const subscriptions = createServerSubscriptions({ keyOf: configurationOf, acquire, debug: world.debug });
  const statesOf = (snapshot: Snapshot): readonly ServerState[] => [
    ...format.states(snapshot),
    ...snapshot.servers.blocked.map(
      ({ server, block }): ServerState => ({ server, block, state: 'blocked', tools: [], changed: [] }),
    ),
    ...snapshot.servers.disabled.map((server): ServerState => ({ server, state: 'off', tools: [], changed: [] })),
  ];
  const approve: Upstreams['approve'] = async (tools, { servers }) => {
    await pins.pin(tools, new Date(world.now()));
    for (const server of servers.servers) format.listings.reviewAgain(server);
    onChange();
  };
  const describe = (server: ServerEntry, uri: string): Tool => describeUnlisted(server, uri, configurationOf(server));

  return {
    format,
    offers: createUpstreamOffers({ format, describe, follow: subscriptions.follow }),
    instructions: (snapshot) => joinInstructions(format, snapshot),
    executor,
    expandCredentials: createCredentials(join(wieldHome, 'config.toml'), world),
    approve,
    administer: (snapshot) => ({
      files: options.servers.files,
      refresh: (server, how = 'refresh') => refresh(server, snapshot(), how),
      connection: async (server) => (await loaded)?.pool.describe(server),
      states: () => statesOf(snapshot()),
      preview: (file, text) => options.servers.preview(file, text, snapshot().settings),
      changes: ({ tools, all = tools, changed }) =>
        findChanges(all.filter(({ name }) => changed.includes(name)).map(withDigest), pins),
      approve: (tools) => approve(tools, snapshot()),
      compare: (before, after) => {
        const [old, now] = [before, after].map((server) => describeAll(format.listings.stored(server)?.tools ?? []));
        return compareTools(old!, now!);
      },
      forgetFailure: format.listings.forgetFailure,
      assertAllowed(server, { resolved, registry } = {}) {
        const { settings, policy } = snapshot();
        assertConfiguration(policy);
        const block = options.servers.findBlock(server, settings, registry);
        if (block !== undefined) throw blocked(server, block);
        if (resolved !== undefined)
          assertAllowed(server, resolved, settings, { world, registryOf: options.servers.origins.of });
      },
      addOrigin: options.servers.origins.add,
    }),
  };
}

// As JSON, one fact per line.
function describeAll(tools: readonly StoredTool[]): ReadonlyMap<string, string> {
  return new Map(
    tools.map(({ remoteName, offers = 'tool', description, traits, input, output }) => [
      offers === 'tool' ? remoteName : `${offers} ${remoteName}`,
      JSON.stringify({ description, traits, input, output }, null, 1),
    ]),
  );
}

function compareTools(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ToolDifference[] {
  return [...new Set([...before.keys(), ...after.keys()])].sort(compareText).flatMap((name): ToolDifference[] => {
    const [old, now] = [before.get(name), after.get(name)];
    if (old === now) return [];
    const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
    return [{ name, change, diff: lineDiff(old ?? '', now ?? '') }];
  });
}

function createCredentials(file: string, world: World): Upstreams['expandCredentials'] {
  return async ({ tool, server, credentials }, { snapshot: { workdir }, options }) => {
    const values = credentials.map(({ value }) => value);
    return expandCredentials(
      { name: tool.name, url: server, values, file },
      { world: worldOf({ variables: options.dispatched?.variables }, world), workdir },
    );
  };
}

function findChanges(tools: readonly Tool[], pins: PinStore): readonly ChangedTool[] {
  return tools.flatMap((tool) => {
    const pin = pins.check(tool);
    return typeof pin === 'string' ? [] : [{ tool, diff: pin.diff }];
  });
}

// Of several processes, the first one that sees a tool pins it.
async function pinNew(tools: readonly Tool[], pins: PinStore, world: World): Promise<void> {
  const added = tools.filter((tool) => pins.check(tool) === 'new');
  if (added.length > 0) await pins.pin(added, new Date(world.now()), { ifNew: true });
}

// The tool that reads a resource which its server does not list; it has no definition.
function describeUnlisted(server: ServerEntry, uri: string, configuration: string): Tool {
  const stored = {
    name: uri,
    remoteName: uri,
    offers: 'resource' as const,
    description: uri,
    traits: NO_TRAITS,
    definition: '',
    input: NO_PARAMETERS,
  };
  return toTool(stored, { server, configuration, target: describeServer(server) });
}

// Hashes what decides what is started or called, with references as written, so that no secret is in the hash.
function createConfigurationHash(workdir: string): (server: ServerEntry) => string {
  return memoize((server) => {
    const { position, owner, installed, ...own } = server;
    // These decide how it is used.
    const { allow, deny, timeoutMs, startTimeoutMs, shared, ...rest } = own as StdioServer;
    // A server of a workspace is a different one in another directory.
    const where = owner === 'workspace' ? workdir : '';
    return digestParts([owner, where, canonicalJson(rest), ...(installed ? [installed.digest] : [])]).slice(0, 32);
  });
}
