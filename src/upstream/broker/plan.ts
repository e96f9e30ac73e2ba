// What sessions and the broker say to each other, and the identity that decides which sessions share a process.

import { resolve } from 'node:path';
import type { ClientCapability } from '../../core/context.js';
import type { ErrorValue } from '../../core/error.js';
import { canonicalJson, type Json, type JsonObject } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import { words } from '../../core/text.js';
import type { StdioServer } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';
import { statOrNothing } from '../../files/read.js';
import type { DataRequest, RemoteCall } from '../connection/call.js';
import type { ToolListing } from '../connection/fetch-listing.js';
import type { NegotiatedVersion } from '../connection/handshake.js';
import type { PlannedStart } from '../connection/process-transport.js';

/** A server to share, resolved by the session: with its secrets and its sandbox. */
export interface SharedPlan extends PlannedStart {
  /** The entry as configured, for messages and timeouts. */
  readonly entry: StdioServer;
  readonly announces: readonly ClientCapability[];
  /** Whose login it is started with, if not that of this machine. */
  readonly user: string | undefined;
  /** Whether to try the older protocol version first. */
  readonly older: boolean;
  readonly knownVersion: NegotiatedVersion | undefined;
}

const CODE = /\.(?:[cm]?[jt]s|py|rb|pl|php|sh|jar|exe)$/;

/**
 * Returns the identity of a process: everything that it is started with. It is a digest of all of it, so that two entries
 * that differ in a secret never share, and nobody can name a process without knowing its secrets (UPS-118).
 */
export function identify({ entry, request, egress, announces, user }: SharedPlan): string {
  const { argv, argv0, filter, cwd, environment, umask } = request;
  // A program that was changed is another one.
  const files = argv.map((word, at) => (at === 0 || CODE.test(word) ? stateOf(resolve(cwd, word)) : null));
  const all = { argv, argv0, filter, egress, cwd, environment, umask, files, announces, user };
  const { name, protocol, installed } = entry;
  return digestParts([canonicalJson({ ...all, name, protocol, installed: installed?.digest } as unknown as Json)]);
}

function stateOf(path: string): string | null {
  const stats = statOrNothing(path);
  return stats?.isFile() ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : null;
}

// Servers that keep something for their client between calls, such as an open page.
const STATEFUL = new RegExp(
  words(`
    playwright puppeteer chrome-devtools browser browserbase stagehand selenium webdriver appium chrome firefox chromium
    sequential-?thinking serena
  `)
    .map((word) => `(?:^|[^a-z])${word}(?:$|[^a-z])`)
    .join('|'),
  'i',
);

/** Whether sessions share the process of a server (UPS-117). */
export function isShared({ shared, command, args }: StdioServer): boolean {
  return shared ?? ![command, ...args].some((word) => STATEFUL.test(word));
}

/** The first answer of the broker: which process it is, and what the session has to open. */
export interface Greeting {
  readonly build: string;
  readonly pid: number;
  readonly challenge: string;
}

/** Opens a connection of a session to a shared server, which has the number that the session chose. */
export interface OpenMessage {
  readonly channel: number;
  readonly plan: SharedPlan;
}

/** The connection as the server describes it. */
export interface OpenedChannel {
  readonly version: NegotiatedVersion;
  readonly protocol: string;
  readonly instructions: string | undefined;
  readonly capabilities: JsonObject;
  readonly listing: ToolListing;
  readonly lastLines: readonly string[];
}

/** A call of a session, with what it can be asked. `call` is its number: what happens during it names that. */
export interface CallMessage extends Pick<RemoteCall, 'name' | 'person' | 'logLevel' | 'trace'> {
  readonly channel: number;
  readonly call: number;
  readonly wants: {
    readonly progress: boolean;
    readonly log: boolean;
    readonly elicit: boolean;
    /** Capabilities of the client behind the call, if there is one. */
    readonly client: NonNullable<RemoteCall['client']>['capabilities'] | undefined;
  };
  /** The tool as it was listed. */
  readonly tool?: { readonly name: string; readonly definition: string };
  readonly input?: Json;
  readonly request?: DataRequest;
}

/** An output as it is sent. */
export type WireOutput = Omit<Output, 'error'> & { readonly error?: ErrorValue };

/** A process that sessions share. */
export interface SharedState {
  readonly name: string;
  readonly pid: number;
  /** Where it was started. */
  readonly directory: string;
  /** How many sessions are connected to its server. */
  readonly sessions: number;
  /** Of it and what it started; null if the system does not say. */
  readonly memoryBytes: number | null;
  readonly startedAt: number;
}
