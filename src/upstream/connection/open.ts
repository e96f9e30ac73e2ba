// Opens the connection to a server within its start timeout, trying the other protocol version on failure.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inBackground, onAbort } from '../../core/async.js';
import type { Caller } from '../../core/caller.js';
import { CLIENT_CAPABILITIES, toClientTool } from '../../core/client-request.js';
import type { ClientCapability, Progress } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { Settings } from '../../core/settings.js';
import type { Snapshot, World } from '../../core/snapshot.js';
import type { ServerEntry } from '../../core/upstream.js';
import { findDenial } from '../../policy/decide.js';
import { toRules } from '../../policy/rules.js';
import { isNpx, runnerOf } from '../entries/package-runner.js';
import { findLoginUser, type LoginUser } from '../login/user.js';
import { findRun } from '../pins/package.js';
import { type Connection, connect } from './connection.js';
import { isFinal, startFailure, startTimeout } from './failure.js';
import type { ConnectOptions, NegotiatedVersion } from './handshake.js';
import type { UpstreamTransport } from './transport.js';

/** The settings that a server is started with. */
export interface StartSettings extends Pick<Settings, 'env' | 'sandbox' | 'allowedServers' | 'broker' | 'advisories'> {
  /** What the server may request of clients (RSC-7). */
  readonly announces: readonly ClientCapability[];
  /** Whose login is used, if not that of this machine. */
  readonly user?: LoginUser | undefined;
}

const MODEL: Caller = { kind: 'model', door: 'mcp' };

/** Returns the settings of a server. It is told that clients support what no rule denies (RSC-7). */
export function toStartSettings(server: ServerEntry, snapshot: Snapshot): StartSettings {
  const { env, sandbox, allowedServers, broker, advisories } = snapshot.settings;
  const announces = CLIENT_CAPABILITIES.filter(
    (capability) => findDenial(toClientTool(capability, server.name), MODEL, toRules(snapshot)) === undefined,
  );
  return {
    ...{ env, sandbox, allowedServers, broker, announces },
    ...(advisories !== undefined && { advisories }),
    user: findLoginUser(server, snapshot.user),
  };
}

export interface OpenOptions {
  readonly world: World;
  /** The version of wield. */
  readonly version: string;
  /** Expands the references of a server and creates its transport, not started. */
  readonly open: (server: ServerEntry, settings: StartSettings) => Promise<UpstreamTransport>;
  /** Removes secrets from what a server sends, by its name. */
  readonly redact: <T>(value: T, server: string) => T;
  /** Returns the protocol version of an earlier connection. */
  readonly knownVersionOf: (server: ServerEntry) => NegotiatedVersion | undefined;
}

export interface OpenHow {
  readonly signal: AbortSignal;
  /** Whether to try the older protocol version first. */
  readonly older: 'first' | undefined;
}

const START_TIMEOUT_MS = 30_000;
// Of a package runner, which may download what it runs.
const RUNNER_TIMEOUT_MS = 5 * 60_000;

function startTimeoutOf(server: ServerEntry): number {
  return server.startTimeoutMs ?? (runnerOf(server) === undefined ? START_TIMEOUT_MS : RUNNER_TIMEOUT_MS);
}

/** Throws a ToolError; `cancelled` if the signal was aborted. */
export async function openConnection(
  server: ServerEntry,
  settings: StartSettings,
  options: OpenOptions,
  { signal, older }: OpenHow,
): Promise<Connection> {
  // A package that is installed first has the time that its installer takes.
  let until: number | undefined;
  const deadline = (): number => (until ??= options.world.monotonic() + startTimeoutOf(server));
  const known = knownVersionOf(server, options);
  const first = await attempt(server, known, { ...options, settings, deadline, signal, older });
  if (!('failure' in first)) return first;
  // Some servers exit on requests before `initialize`, and a known version may be outdated.
  const isPinned = server.protocol !== undefined && known?.kind !== 'modern';
  if (!first.mayBeVersion || isPinned) throw first.failure;
  const why = options.redact(first.failure.message, server.name);
  options.world.debug(`${server.name}: ${why}; trying another protocol version`);
  const other: NegotiatedVersion | undefined = (known ?? older) ? undefined : { kind: 'legacy' };
  const refused = older && 'refused';
  const second = await attempt(server, other, { ...options, settings, deadline, signal, older: refused });
  if ('failure' in second) throw first.failure;
  return second;
}

function knownVersionOf(server: ServerEntry, options: OpenOptions): NegotiatedVersion | undefined {
  if (server.protocol === '2025-11-25') return { kind: 'legacy' };
  const known = options.knownVersionOf(server);
  return server.protocol !== undefined && known?.kind === 'legacy' ? undefined : known;
}

interface Failed {
  readonly failure: ToolError;
  readonly mayBeVersion: boolean;
}

interface AttemptOptions extends OpenOptions {
  readonly settings: StartSettings;
  /** The first call sets it. */
  readonly deadline: () => number;
  readonly signal: AbortSignal;
  readonly older: ConnectOptions['older'];
}

async function attempt(
  server: ServerEntry,
  knownVersion: NegotiatedVersion | undefined,
  { world, version, open, settings, redact, deadline, signal, older }: AttemptOptions,
): Promise<Connection | Failed> {
  const { name, protocol } = server;
  const startTimeoutMs = startTimeoutOf(server);
  const transport = await open(server, settings);
  const stop = new AbortController();
  const giveUp = (): void => {
    stop.abort();
    inBackground(transport.close(), world.debug);
  };
  const timer = setTimeout(giveUp, Math.max(1, deadline() - world.monotonic()));
  const unlisten = onAbort(signal, giveUp);
  try {
    const redactOwn = <T>(value: T): T => redact(value, name);
    const debug = (message: string): void => world.debug(redactOwn(message));
    const own = { name, version, protocol, startTimeoutMs, knownVersion, older, announces: settings.announces };
    const connecting = { ...own, signal: stop.signal, debug, redact: redactOwn };
    return await connect(transport, connecting);
  } catch (error) {
    const isLate = stop.signal.aborted;
    const { exit } = transport;
    await transport.close().catch(() => {});
    if (signal.aborted) throw closedError(server);
    const isRemote = server.kind === 'http';
    const lastLines = exit?.lastLines ?? transport.lastLines ?? [];
    const brokenCache = exit && findBrokenCache(server, lastLines, world);
    const context = { server: name, isRemote, runner: runnerOf(server), brokenCache, exit, lastLines };
    return {
      failure: isLate ? startTimeout(startTimeoutMs, context) : startFailure(error, context),
      mayBeVersion:
        !isLate && !isFinal(error) && (knownVersion !== undefined || exit !== undefined || older === 'first'),
    };
  } finally {
    clearTimeout(timer);
    unlisten();
  }
}

export function closedError({ name }: ServerEntry): ToolError {
  return new ToolError('cancelled', `the connection to ${name} is closed`, { hint: 'create a new toolbox' });
}

// Of npm, of the shell that npm starts, and of Node.
const SIGNS =
  /ENOTEMPTY|could not determine executable|: (?:command )?not found\b|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND/;
const PLACE = /(?:[A-Za-z]:)?[^\s'"]*[\\/]_npx[\\/][0-9a-f]{16}/;

// Returns the directory that npx installed a server into, if the last lines of its output say that it is incomplete.
function findBrokenCache(server: ServerEntry, lines: readonly string[], world: World): string | undefined {
  if (server.kind !== 'stdio' || !isNpx(runnerOf(server))) return undefined;
  const output = lines.join('\n');
  if (!SIGNS.test(output)) return undefined;
  const [named] = PLACE.exec(output) ?? [];
  const found = named ?? packageOf(server, world);
  return found !== undefined && existsSync(found) ? found : undefined;
}

// npx names the directory by a hash of what it was asked for.
function packageOf({ args, env }: Extract<ServerEntry, { kind: 'stdio' }>, world: World): string | undefined {
  const cache = env.npm_config_cache ?? (world.home && join(world.home, '.npm'));
  const from = args.findIndex((word) => /(?:^|[\\/])npx(?:\.cmd)?$/.test(word) || word === 'exec');
  const wanted = findRun('npx', args.slice(from + 1));
  if (cache === undefined || wanted === undefined) return undefined;
  return join(cache, '_npx', createHash('sha512').update(wanted.spec).digest('hex').slice(0, 16));
}

// How often a client is told that a server is starting.
const PROGRESS_MS = 2000;

/** Runs work that may start a server, and reports progress until it is done. */
export async function reportStart<T>(
  server: ServerEntry,
  onProgress: ((progress: Progress) => void) | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (onProgress === undefined) return work();
  const runner = runnerOf(server);
  const message = `the server ${server.name} is starting${runner === undefined ? '' : ` (${runner} installs it)`}`;
  const timer = setInterval(() => onProgress({ message }), PROGRESS_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
