// What sessions and the broker say to each other.

import type { ErrorValue } from '../../core/error.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import type { DataRequest, RemoteCall } from '../connection/call.js';
import type { ToolListing } from '../connection/fetch-listing.js';
import type { NegotiatedVersion } from '../connection/handshake.js';
import type { SharedPlan } from './plan.js';

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
