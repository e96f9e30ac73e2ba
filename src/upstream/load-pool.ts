// The connection pool of a toolbox with everything it needs to start servers; loaded when the first one is needed.

import { delimiter } from 'node:path';
import { addSecrets, type KnownSecrets, redactError, redactValue } from '../core/redact.js';
import type { World } from '../core/snapshot.js';
import type { HttpServer, ServerEntry } from '../core/upstream.js';
import { digestParts } from '../files/digest.js';
import type { CreateFetch } from '../net/fetch.js';
import type { Network } from '../net/network.js';
import { isStartedByTool } from '../process/ancestry.js';
import { baseEnvironment, findProgram } from '../process/environment.js';
import type { StartRequest } from '../process/start.js';
import { readVersion } from '../workspace/machine.js';
import { createSharing } from './broker/sharing.js';
import type { Listing, StoredTool } from './catalog/listing-file.js';
import type { Listings } from './catalog/listings.js';
import { parseListing } from './catalog/parse-listing.js';
import { type ToolListing, toInstructions } from './connection/fetch-listing.js';
import type { StartSettings } from './connection/open.js';
import { Pool, type PoolOptions } from './connection/pool.js';
import { createProcessTransport, type PlannedStart } from './connection/process-transport.js';
import { withReadMessages } from './connection/read-message.js';
import { SseTransport } from './connection/sse-transport.js';
import type { UpstreamTransport } from './connection/transport.js';
import { assertAllowed, createAddressCheck } from './entries/allowed.js';
import { expandWithSecrets, type ResolvedServer } from './entries/expand.js';
import { assertAccepted } from './entries/installed-files.js';
import { runnerOf } from './entries/package-runner.js';
import { serverProfiles } from './entries/sandbox.js';
import { type OAuthOptions, withLogin } from './login/oauth.js';
import { toLoginDirectory, toUserKey } from './login/user.js';
import { assertHarmlessCommand } from './pins/advisories.js';
import { findPackage } from './pins/package.js';
import { type Started, startPinned } from './pins/start.js';
import { digestDefinition, type RemoteTool } from './remote-tool.js';
import type { ServerSecrets } from './server-secrets.js';

export interface LoadPoolOptions {
  readonly wieldHome: string;
  readonly workdir: string;
  readonly configurationOf: (server: ServerEntry) => string;
  /** The lock of the first start of a server. */
  readonly lockOf: (server: ServerEntry) => string;
  /** Returns the name of a server that was added from a registry. */
  readonly registryOf: (server: ServerEntry) => string | undefined;
  readonly secrets: KnownSecrets;
  readonly serverSecrets: ServerSecrets;
  readonly listings: Listings;
  readonly onChange: () => void;
  /** Called before this process starts another one, which the broker does not. */
  readonly beforeRun?: () => void;
  /** Whether processes of servers are shared with other sessions of the user, where the configuration allows it. */
  readonly broker?: boolean | undefined;
  readonly subjectToken?: OAuthOptions['subjectToken'];
  readonly createFetch: CreateFetch;
  readonly network: Pick<Network, 'resolve'>;
  readonly world: World;
}

// The server names the delay after which an ended stream is opened again (UPS-102): so often a minute it may be short.
const QUICK_RECONNECTS = 5;
const QUICK_MS = 100;
const MIN_RECONNECT_MS = 1000;
const MAX_RECONNECT_MS = 600_000;
// How long a package runner may take to install something without wield.
const FIRST_START_MS = 10 * 60_000;

export function loadPool(options: LoadPoolOptions): Pool {
  const { wieldHome, configurationOf, lockOf, serverSecrets, listings, onChange, world } = options;
  const version = readVersion();
  const redact: PoolOptions['redact'] = (value, server) => redactValue(value, serverSecrets.of(server));
  const { knownVersionOf } = listings;
  const toStart = async (entry: ServerEntry, server: ResolvedProcess, settings: StartSettings) => {
    const isFirst = runnerOf(entry) !== undefined && listings.stored(entry) === undefined;
    return planStart(server, settings, options, isFirst ? lockOf(entry) : undefined);
  };
  const sharing = createSharing({
    wieldHome,
    version,
    world,
    redact,
    plan: async (entry, settings) => {
      const { announces, user } = settings;
      const server = (await expand(entry, settings, options)) as ResolvedProcess;
      const planned = await toStart(entry, server, settings);
      const known = { knownVersion: knownVersionOf(entry), user: user && toUserKey(user) };
      return { entry, ...planned, ...known, announces };
    },
  });
  return new Pool({
    world,
    version,
    redact,
    keyOf: configurationOf,
    sharing: options.broker === true ? sharing : undefined,
    open: async (entry, settings) => {
      const server = await expand(entry, settings, options);
      if (server.kind === 'stdio') {
        options.beforeRun?.();
        return createProcessTransport(await toStart(entry, server, settings), world);
      }
      const reread = async () => (await expand(entry, settings, options)) as HttpServer;
      const allows = createAddressCheck(entry, settings, options.registryOf);
      return openAddress(server, reread, settings, options, allows);
    },
    knownVersionOf,
    mayHaveBoth: (server) => {
      const version = listings.stored(server)?.version;
      return version?.kind === 'modern' && version.older !== false;
    },
    isStored: (server, { tools }) => {
      const stored = listings.stored(server)?.tools.filter(({ offers }) => offers !== 'instructions') ?? [];
      const definitions = new Set(stored.map(({ definition }) => definition));
      return tools.length === stored.length && tools.every((tool) => definitions.has(digestDefinition(tool)));
    },
    onListing: async (server, listing, { connection, user, before }) => {
      const { version, instructions, capabilities } = connection;
      const by = user && digestParts([toUserKey(user)]);
      // Users may see different tools: the list is that of this machine's login, else of the first user (IDN-23).
      const known = listings.stored(server);
      if (by !== undefined && known !== undefined && known.by !== by) return;
      const stored = before && known;
      const extra = instructions === undefined || instructions.trim() === '' ? [] : [toInstructions(instructions)];
      const { tools, faults } = parseListing({ ...listing, tools: [...listing.tools, ...extra] }, server);
      const own = { tools, faults, version, capabilities, ...(by && { by }) };
      const next = stored === undefined ? own : withChanges(stored, before!, listing, tools);
      await listings.store(server, next);
      if (listings.isNews(server, next)) onChange();
    },
    onFailure: (server, error) => listings.storeFailure(server, redactError(error, serverSecrets.of(server.name))),
  });
}

// Applies what changed in the list of one protocol version to the stored list of the other (UPS-105).
function withChanges(stored: Listing, before: ToolListing, now: ToolListing, tools: readonly StoredTool[]): Listing {
  const digests = ({ tools: all }: ToolListing) => new Set(all.map(digestDefinition));
  const [known, listed] = [digests(before), digests(now)];
  const added = tools.filter(({ definition, offers }) => offers !== 'instructions' && !known.has(definition));
  const gone = before.tools.filter((tool) => !listed.has(digestDefinition(tool))).map(idOf);
  const changed = new Set([...gone, ...added.map(({ remoteName: name, offers }) => idOf({ name, offers }))]);
  const kept = stored.tools.filter(({ remoteName: name, offers }) => !changed.has(idOf({ name, offers })));
  return { ...stored, tools: [...kept, ...added] };
}

function idOf({ name, offers }: Pick<RemoteTool, 'name' | 'offers'>): string {
  return `${offers} ${name}`;
}

type ResolvedProcess = Extract<ResolvedServer, { kind: 'stdio' }>;

// Expands the references of an entry. Trust was checked before: by the policy, or by the listing.
async function expand(entry: ServerEntry, settings: StartSettings, options: LoadPoolOptions): Promise<ResolvedServer> {
  assertAccepted(entry);
  const { server, secrets } = await expandWithSecrets(entry, options);
  addSecrets(options.secrets, secrets);
  assertAllowed(entry, server, settings, options);
  return server;
}

// Returns what a process is started with, here or by the broker.
async function planStart(
  server: ResolvedProcess,
  { env, sandbox, advisories: path }: StartSettings,
  { world, wieldHome, network, beforeRun }: LoadPoolOptions,
  lock: string | undefined,
): Promise<PlannedStart> {
  // Python would write compiled code next to the files that were accepted.
  const own: Record<string, string> = server.installed === undefined ? {} : { PYTHONDONTWRITEBYTECODE: '1' };
  const environment = { ...baseEnvironment(world, env.pass), ...own, ...server.env };
  const { name, cwd, integrity } = server;
  const advisories = { path, home: world.home };
  const found = findPackage(server.command, server.args);
  if (integrity === undefined) assertHarmlessCommand(server, advisories);
  const pinned: Started =
    integrity === undefined
      ? { environment }
      : await startPinned(found, integrity, {
          ...{ server: name, variables: server.env, cwd, world },
          ...{ environment, wieldHome, advisories, beforeRun },
        });
  const { argv = [server.command, ...server.args], installed } = pinned;
  const root = installed?.root;
  const request = { argv, cwd, environment: pinned.environment };
  const { applied, sandboxes } = serverProfiles(server, sandbox);
  const isFirst = lock !== undefined && root === undefined && mayGoOn(request, world);
  const first = isFirst ? { lock, limitMs: FIRST_START_MS } : undefined;
  if (applied.length === 0) return { request, first, installed };
  const { sandboxServer } = await import('./connection/sandboxed.js');
  const planned = await sandboxServer({ name, request, root, applied, sandboxes }, { world, wieldHome });
  if (planned.egress === undefined) return { request: planned.request, first, installed };
  // What it runs is installed already.
  const egress = { plan: planned.egress, net: await network.resolve() };
  return { request: planned.request, first: undefined, egress, installed };
}

// `allows` throws if requests must not go to an address.
async function openAddress(
  server: HttpServer,
  reread: () => Promise<HttpServer>,
  { user }: StartSettings,
  { world, wieldHome, serverSecrets, subjectToken, createFetch }: LoadPoolOptions,
  allows: ((url: URL) => void) | undefined,
): Promise<UpstreamTransport> {
  const directory = toLoginDirectory(wieldHome, user);
  const fetch = createFetch({ url: server.url, headers: server.headers, limitsEvents: true, allows });
  const withToken = withLogin(fetch, {
    server,
    directory,
    world,
    user,
    subjectToken,
    createFetch,
    reread,
    remember: (tokens) => serverSecrets.remember(server.name, tokens),
  });
  if (server.transport === 'sse') return new SseTransport(new URL(server.url), withToken);
  const { StreamableHTTPClientTransport } = await import('./sdk.js');
  return new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: withReadMessages(withToken),
    reconnectionScheduler: createReconnections(world),
  });
}

// A missing program is reported by its start, and what a tool started ends with its call (EXE-6).
function mayGoOn({ argv, environment }: StartRequest, world: World): boolean {
  const path = environment.PATH?.split(delimiter) ?? [];
  return findProgram(argv[0]!, path) !== undefined && !isStartedByTool(world.env, world.platform);
}

function createReconnections({ monotonic }: World) {
  const quick: number[] = [];
  return (reconnect: () => void, delayMs: number) => {
    const now = monotonic();
    while (quick.length > 0 && now - quick[0]! > 60_000) quick.shift();
    const isQuick = quick.length < QUICK_RECONNECTS;
    if (isQuick && delayMs < MIN_RECONNECT_MS) quick.push(now);
    const least = isQuick ? QUICK_MS : MIN_RECONNECT_MS;
    const timer = setTimeout(reconnect, Math.min(Math.max(delayMs, least), MAX_RECONNECT_MS));
    return () => clearTimeout(timer);
  };
}
