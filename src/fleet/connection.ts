// Opens connections to the Redis or Valkey server of a fleet; the client libraries are optional and loaded here (FLT-1).

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Redis, RedisOptions } from 'ioredis';
import { pause } from '../core/async.js';
import { isToolError, ToolError } from '../core/error.js';
import { redactKnown } from '../core/redact.js';
import { decodeUri, quoteWord, sanitize } from '../core/text.js';
import { settlesWithin } from '../core/time-limit.js';
import type { FleetNames } from './names.js';

/** Where the server of a fleet is, and how to log in. */
export interface FleetAddress {
  /** The address without credentials, for messages. */
  readonly shown: string;
  /** Likewise with the user, for commands; the password comes from the environment. */
  readonly command: string;
  readonly options: RedisOptions;
  /** Values that must not appear in messages. */
  readonly secrets: readonly string[];
}

/** Settings of one connection. */
export interface ConnectOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  /** A connection is closed and opened again if the server does not answer a command for so long. */
  readonly silenceMs?: number;
  /** Commands fail at once while the connection is lost, instead of waiting for it. */
  readonly failsFast?: boolean;
  /** Receives errors of a connection that was open before; it reconnects by itself. */
  readonly onError?: (message: string) => void;
}

const PASSWORD = 'WIELD_FLEET_PASSWORD';
// How long the first attempt may take.
const FIRST_ATTEMPT_MS = 5000;
const SILENCE_MS = 2000;
const MAX_PAUSE_MS = 300;
// How often the first work is tried if the connection is lost meanwhile, which a busy machine can cause.
const MAX_TRIES = 15;
const READY_MS = 1000;
const MAX_DATABASE = 1_000_000;

/** Whether Redis answers, for probes (FLT-87, FLT-90). */
export async function answers(redis: Redis): Promise<boolean> {
  try {
    return await settlesWithin(redis.ping(), READY_MS);
  } catch {
    return false;
  }
}

/** Parses the value of `--fleet`: `redis://[user[:password]@]host[:port][/database]`, `rediss://` with TLS, or `redis+unix:///path`. */
export function parseFleetAddress(text: string, env: Readonly<Record<string, string | undefined>>): FleetAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^(?:rediss?|redis\+unix):$/.test(url.protocol)) throw notAnAddress();
  const password = decodeUri(url.password) || env[PASSWORD] || undefined;
  const username = decodeUri(url.username) || undefined;
  const isSocket = url.protocol === 'redis+unix:';
  const database = isSocket ? '' : url.pathname.replace(/^\//, '');
  if (isSocket ? url.host !== '' || !/^\/./.test(url.pathname) : url.hostname === '') throw notAnAddress();
  if (!/^\d*$/.test(database) || Number(database) > MAX_DATABASE || url.search !== '' || url.hash !== '')
    throw notAnAddress();
  const place: RedisOptions = isSocket
    ? { path: decodeURIComponent(url.pathname) }
    : { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 6379), db: Number(database || 0) };
  const shown = isSocket ? `redis+unix://${url.pathname}` : `${url.protocol}//${url.host}${url.pathname}`;
  return {
    shown,
    command: username === undefined ? shown : shown.replace('//', `//${url.username}@`),
    options: { ...place, username, password, ...(url.protocol === 'rediss:' ? { tls: {} } : {}) },
    secrets: password === undefined ? [] : [password],
  };
}

/** Opens a connection, which reconnects until it is closed. Throws `unavailable` if the first attempt fails. */
export async function connect(address: FleetAddress, settings: ConnectOptions): Promise<Redis> {
  const { name, silenceMs = SILENCE_MS, failsFast = false, onError = () => {} } = settings;
  const { Redis: Client } = loadLibrary<typeof import('ioredis')>('ioredis');
  const client = new Client({
    ...address.options,
    connectionName: `wield-${name}`,
    lazyConnect: true,
    connectTimeout: FIRST_ATTEMPT_MS,
    socketTimeout: silenceMs,
    maxRetriesPerRequest: failsFast ? 0 : null,
    enableOfflineQueue: !failsFast,
    autoResendUnfulfilledCommands: !failsFast,
    // The client does not handle that Redis refuses it.
    autoResubscribe: false,
    retryStrategy: (times) => Math.min(times * 50, MAX_PAUSE_MS),
  });
  let last: Error | undefined;
  client.on('error', (error: Error) => {
    last = error;
    onError(describe(error, address));
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(last ?? new Error('no answer')), FIRST_ATTEMPT_MS);
  });
  try {
    await Promise.race([client.connect().then(() => client.ping()), late]);
    return client;
  } catch (error) {
    client.disconnect();
    throw cannotConnect(address, last ?? (error as Error));
  } finally {
    clearTimeout(timer);
  }
}

/** Listens to channels, also after the connection was lost. If Redis refuses that then, tries again. */
export function subscribe(client: Redis, ...channels: readonly string[]): Promise<unknown> {
  client.on('ready', () => {
    client.subscribe(...channels).catch((error: Error) => {
      client.emit('error', error);
      setTimeout(() => client.status === 'ready' && client.disconnect(true), MAX_PAUSE_MS).unref();
    });
  });
  return client.subscribe(...channels);
}

/**
 * Does the first work on connections, again if they are lost meanwhile; if it fails, they are closed. Throws `unavailable` if a
 * command fails, and if the server is a node of a cluster that does not have the keys of the fleet, with the address of the one
 * that does (FLT-84).
 */
export async function begin<T>(
  connections: readonly Redis[],
  { shown }: FleetAddress,
  names: FleetNames,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      await connections[0]!.exists(names.tags);
      return await work();
    } catch (error) {
      if (isLost(error) && tries < MAX_TRIES) {
        await pause(MAX_PAUSE_MS);
        continue;
      }
      for (const connection of connections) connection.disconnect();
      throw isToolError(error) ? error : cannotUse(shown, error as Error);
    }
  }
}

function cannotUse(shown: string, error: Error): ToolError {
  const [, node] = /^(?:MOVED|ASK) \d+ (\S+)$/.exec(error.message) ?? [];
  return new ToolError('unavailable', `cannot use ${shown}: ${explainFailure(error)}`, {
    hint:
      node === undefined
        ? 'check the state of this Redis, and what its user may do'
        : `a fleet uses one node of a cluster; connect to the one that has its keys: --fleet ${shown.replace(/\/\/.*$/, `//${node}`)}`,
    cause: error,
  });
}

/** Returns why a command failed, for messages; those of the client library name its options. */
export function explainFailure(error: unknown): string {
  return isLost(error) ? 'no connection to Redis' : `Redis: ${(error as Error).message}`;
}

function isLost(error: unknown): boolean {
  const { message } = error as Error;
  return /^(?:Stream isn't writeable|Connection is closed|Reached the max retries)/.test(message);
}

/** Loads BullMQ, which is optional. */
export function loadBullmq(): typeof import('bullmq') {
  return loadLibrary('bullmq');
}

function loadLibrary<T>(name: 'ioredis' | 'bullmq'): T {
  const { createRequire } = process.getBuiltinModule('node:module');
  const load = createRequire(import.meta.url);
  try {
    return load(name) as T;
  } catch (error) {
    const root = dirname(load.resolve('../../package.json'));
    throw new ToolError('unavailable', `--fleet needs the package ${name}, which could not be loaded from ${root}`, {
      hint: `install both where wield is: ${toInstallCommand(root)}`,
      cause: error,
    });
  }
}

const PACKAGES = 'bullmq@6 ioredis@6';

/** Returns the command that installs the packages where a wield in this directory finds them. */
export function toInstallCommand(root: string): string {
  const modules = dirname(root);
  const place = dirname(modules);
  // A checkout.
  if (basename(modules) !== 'node_modules') return `npm install --no-save --prefix ${quoteWord(root)} ${PACKAGES}`;
  if (/[/\\]_npx[/\\]/.test(modules))
    return `npx --package wield ${PACKAGES.replace(/^| /g, ' --package ').trim()} wield`;
  // npm keeps global packages in PREFIX/lib/node_modules.
  if (basename(place) === 'lib' && !existsSync(join(place, 'package.json')))
    return `npm install --global --prefix ${quoteWord(dirname(place))} ${PACKAGES}`;
  return `npm install --prefix ${quoteWord(place)} ${PACKAGES}`;
}

// ioredis repeats no password, but a server or a proxy might.
function describe(error: Error, { secrets }: FleetAddress): string {
  return sanitize(redactKnown(error.message, secrets));
}

function cannotConnect(address: FleetAddress, error: Error): ToolError {
  const why = describe(error, address);
  const isRefused = /^(?:NOAUTH|WRONGPASS|NOPERM)|password|certificate/i.test(why);
  return new ToolError('unavailable', `cannot use ${address.shown}: ${why}`, {
    hint: isRefused
      ? `check user and password (in the address, or ${PASSWORD}) and, for rediss://, NODE_EXTRA_CA_CERTS`
      : 'check that Redis or Valkey runs there and can be reached from this machine',
  });
}

function notAnAddress(): ToolError {
  return new ToolError('usage', '--fleet is not the address of a Redis server', {
    hint: 'write redis://HOST:PORT, rediss://USER@HOST:PORT with TLS, or redis+unix:///PATH',
  });
}
