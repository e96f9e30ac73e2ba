// Negotiates the protocol version of a server, or uses the one of an earlier connection.

import { promises as timers } from 'node:timers';
import type { ClientCapability } from '../../core/context.js';
import { isRecord, type Json } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { settlesWithin } from '../../core/time-limit.js';
import type { ProtocolVersion } from '../../core/upstream.js';
import { ERROR, META, NEWER_VERSION, OLDER_VERSIONS, RpcError, TASKS } from '../../net/mcp.js';
import { type Client, type Fields, statusOf } from './client.js';

/** The negotiated version as it is stored with the tool list; `discover` is the answer of the server to the probe. */
export type NegotiatedVersion =
  | { readonly kind: 'legacy' }
  | {
      readonly kind: 'modern';
      readonly discover: Json;
      /** False: the server refused the older version. */
      readonly older?: false;
    };

export interface ConnectOptions {
  /** The server. */
  readonly name: string;
  /** The version of wield. */
  readonly version: string;
  /** The only protocol version to use. */
  readonly protocol: ProtocolVersion | undefined;
  readonly startTimeoutMs: number;
  /** The protocol version of an earlier connection. */
  readonly knownVersion: NegotiatedVersion | undefined;
  /** Whether to try the older version first (UPS-105); `refused`: that was tried. */
  readonly older: 'first' | 'refused' | undefined;
  /** What the server may request of clients (RSC-7). */
  readonly announces: readonly ClientCapability[];
  readonly signal: AbortSignal;
  readonly debug: (message: string) => void;
  /** Removes secrets from what the server sends. */
  readonly redact: <T>(value: T) => T;
}

export interface Handshake {
  readonly version: NegotiatedVersion;
  /** The negotiated version, by its date. */
  readonly protocol: string;
  readonly capabilities: unknown;
  readonly instructions: string | undefined;
}

const ELICITATION = { elicitation: { form: {}, url: {} } } as const;
/** Of the newer version, where a server may answer any call with a task. */
export const MODERN_CAPABILITIES = { ...ELICITATION, extensions: { [TASKS]: {} } } as const;
// Some older servers do not answer unknown requests: after this time, or a third of the start timeout, `initialize` is sent too.
const PROBE_TIMEOUT_MS = 10_000;
// How long to wait for the answer to `initialize` after a late answer to the probe.
const LATE_GRACE_MS = 1000;

/** Starts the transport and agrees on a version. Throws if the server supports none. */
export async function shakeHands(client: Client, options: ConnectOptions): Promise<Handshake> {
  const { protocol, knownVersion, startTimeoutMs } = options;
  await client.transport.start();
  if (options.older === 'first') return initializeFirst(client, options);
  if (knownVersion?.kind === 'legacy') return initialize(client, options);
  if (knownVersion !== undefined) return useModern(client, knownVersion.discover, options);
  const probing = probe(client, options);
  if (client.transport.hasPerRequestStream !== true && protocol === undefined) {
    const isAnswered = await settlesWithin(probing, Math.min(PROBE_TIMEOUT_MS, startTimeoutMs / 3));
    if (!isAnswered) return initializeMeanwhile(client, probing, options);
  }
  const discover = await probing;
  if (discover !== undefined) return useModern(client, discover, options);
  if (protocol !== undefined) throw new Error(`it does not support the protocol version ${protocol}`);
  return initialize(client, options);
}

// The server is known to have the newer version.
async function initializeFirst(client: Client, options: ConnectOptions): Promise<Handshake> {
  const initializing = initialize(client, options);
  const isRefused = (error: unknown): boolean => error instanceof RpcError || isClientFault(statusOf(error) ?? 0);
  try {
    if (await settlesWithin(initializing, Math.min(PROBE_TIMEOUT_MS, options.startTimeoutMs / 3)))
      return await initializing;
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  initializing.catch(() => {});
  const discover = await probe(client, options);
  if (discover === undefined) throw new Error('it supports neither protocol version');
  return useModern(client, discover, { ...options, older: 'refused' });
}

function isClientFault(status: number): boolean {
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}

// Returns the answer of a server of the newer version, undefined of an older one.
async function probe(client: Client, options: ConnectOptions, isRetry = false): Promise<Json | undefined> {
  const { signal } = options;
  try {
    const answer = await client.request('server/discover', {}, { signal, envelope: toEnvelope(options) });
    return isModern(answer) ? (answer as unknown as Json) : undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) {
      if (isClientFault(statusOf(error) ?? 0)) return undefined;
      throw error;
    }
    const { supported } = isRecord(error.data) ? error.data : {};
    if (error.code !== ERROR.unsupportedVersion || !Array.isArray(supported)) return undefined;
    if (supported.includes(NEWER_VERSION) && !isRetry) return probe(client, options, true);
    // Dates are compared as text.
    if (supported.some((version) => version >= NEWER_VERSION)) throw error;
    return undefined;
  }
}

/** A late answer to the probe is used if the server does not answer `initialize`, or rejects it (UPS-11). */
async function initializeMeanwhile(
  client: Client,
  probing: Promise<Json | undefined>,
  options: ConnectOptions,
): Promise<Handshake> {
  const stop = new AbortController();
  const legacy = initialize(client, { ...options, signal: AbortSignal.any([options.signal, stop.signal]) });
  const late = probing.catch(() => undefined);
  const isOverdue = late.then((discover) =>
    discover === undefined ? new Promise<never>(() => {}) : timers.setTimeout(LATE_GRACE_MS, true, { ref: false }),
  );
  try {
    if (!(await Promise.race([legacy.then(() => false), isOverdue]))) return await legacy;
  } catch (error) {
    // A server that is bound to the newer version may reject `initialize` long before it answers the probe.
    if ((await late) === undefined) throw error;
  }
  stop.abort();
  return useModern(client, (await late)!, options);
}

async function initialize(client: Client, { version, announces, signal }: ConnectOptions): Promise<Handshake> {
  const announced = Object.fromEntries(announces.map((capability) => [capability, {}]));
  const capabilities = { ...ELICITATION, ...announced };
  const params = { protocolVersion: OLDER_VERSIONS[0], capabilities, clientInfo: toClientInfo(version) };
  const result = await client.request('initialize', params, { signal });
  const { protocolVersion, capabilities: own, instructions } = result as Fields;
  if (typeof protocolVersion !== 'string' || !OLDER_VERSIONS.includes(protocolVersion))
    throw new Error(`its protocol version "${quoteOutside(String(protocolVersion), 40)}" is not supported`);
  client.transport.setProtocolVersion?.(protocolVersion);
  await client.notify('notifications/initialized');
  return {
    version: { kind: 'legacy' },
    protocol: protocolVersion,
    capabilities: own,
    instructions: toText(instructions),
  };
}

function useModern(client: Client, discover: Json, options: ConnectOptions): Handshake {
  if (!isModern(discover)) throw new Error(`it does not support the protocol version ${NEWER_VERSION}`);
  client.transport.setProtocolVersion?.(NEWER_VERSION);
  client.envelope = toEnvelope(options);
  const { capabilities, instructions } = discover;
  const refused = options.older === 'refused' ? { older: false as const } : {};
  return {
    version: { kind: 'modern', discover, ...refused },
    protocol: NEWER_VERSION,
    capabilities,
    instructions: toText(instructions),
  };
}

function toClientInfo(version: string) {
  return { name: 'wield', version };
}

function toEnvelope({ version }: ConnectOptions): Fields {
  return {
    [META.version]: NEWER_VERSION,
    [META.client]: toClientInfo(version),
    [META.capabilities]: MODERN_CAPABILITIES,
  };
}

function isModern(discover: unknown): discover is Readonly<Record<string, Json>> {
  if (!isRecord(discover) || !isRecord(discover.capabilities)) return false;
  const { supportedVersions } = discover;
  return Array.isArray(supportedVersions) && supportedVersions.includes(NEWER_VERSION);
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
