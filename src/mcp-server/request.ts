// A client, and the scope of one of its requests: what handlers know about it, and how they send messages meanwhile.

import { setMaxListeners } from 'node:events';
import { CallController } from '../core/call-controller.js';
import { type Caller, type TraceParent, toSessionId } from '../core/caller.js';
import type { LogListener, ProgressListener } from '../core/context.js';
import { isRecord } from '../core/json.js';
import type { Operation } from '../core/telemetry.js';
import type { DoorOptions } from '../core/toolbox.js';
import type { ProtocolVersion } from '../core/upstream.js';
import type { AutoMode } from '../core/view.js';
import { loadCrypto } from '../files/digest.js';
import { META } from '../net/mcp.js';
import { showsApps } from './apps.js';
import { ClientRequests, type InputAnswer, type InputRequest } from './client-requests.js';
import type { Exchange } from './exchange.js';
import { toCaller } from './identity.js';
import { LOG_LEVELS, metaOf, type Params, type RequestId, type RequestMessage, toNotification } from './message.js';

/**
 * A stdio connection, a session of the older protocol version over HTTP, or one request of the newer, which has no
 * sessions.
 */
export class Client {
  /** Identifies who may read the stored results of calls (CTX-3). */
  readonly session: string;
  /** Its id in spans. */
  readonly sessionId: string | undefined;
  /** Sends a message that belongs to no request. */
  readonly announce: (text: string) => void;
  /** The instructions that it was given at first. */
  instructions: string | undefined;
  /** What mode `auto` is for it, once it has listed tools. */
  autoMode: AutoMode | undefined;
  /** Parameters of `initialize`, in the older protocol version. */
  initialized: Params | undefined;
  /** The level that the client set, in the older protocol version. */
  logLevel: string | undefined;
  readonly requests = new ClientRequests();
  readonly subscriptions = new Subscriptions();
  /** Aborted when the session ends; `none` if there is none. */
  readonly sessionEnd: AbortSignal | 'none';
  readonly #end = new AbortController();
  readonly #running = new Map<RequestId, RunningRequest>();
  readonly #held = new Map<string, () => void>();
  #calls = 0;
  #isClosed = false;

  constructor(session: string, announce: (text: string) => void, hasSession = true) {
    this.session = session;
    this.sessionId = toSessionId(session);
    this.announce = announce;
    this.sessionEnd = hasSession ? this.#end.signal : 'none';
    // Every process in the background listens, and Node warns about more than ten.
    if (hasSession) setMaxListeners(0, this.#end.signal);
  }

  /** Begins a request, which can be cancelled until it ends. */
  begin(id: RequestId): RunningRequest {
    const request: RunningRequest = { id, controller: new CallController(), isCancelled: false };
    if (this.#isClosed) cancel(request);
    this.#running.set(id, request);
    return request;
  }

  end(request: RunningRequest): void {
    if (this.#running.get(request.id) === request) this.#running.delete(request.id);
  }

  /** Runs a call of a tool. Changes of lists are announced after it: they cost a model its prompt cache (SRV-99). */
  async runCall<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await call();
    } finally {
      this.#calls--;
      // After the answer.
      if (this.#held.size > 0) setImmediate(() => this.#announceHeld());
    }
  }

  /** Announces a change of a list: once, when no call runs. */
  announceChange(list: string, send: () => void): void {
    this.#held.set(list, send);
    this.#announceHeld();
  }

  #announceHeld(): void {
    if (this.#calls > 0 || this.#isClosed) return;
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const send of held) send();
  }

  /** Whether a request with this id is being answered. */
  isRunning(id: RequestId): boolean {
    return this.#running.has(id);
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Cancels a request, which gets no answer. */
  cancel(id: RequestId, reason?: string): void {
    const request = this.#running.get(id);
    this.#running.delete(id);
    if (request !== undefined) cancel(request, reason);
  }

  /** The client has disconnected. */
  close(): void {
    this.#isClosed = true;
    for (const request of this.#running.values()) cancel(request);
    this.#end.abort();
    this.requests.close();
    this.subscriptions.close();
  }
}

interface RunningRequest {
  readonly id: RequestId;
  /** Also aborted by its call, when the time of the call is over. */
  readonly controller: CallController;
  isCancelled: boolean;
}

function cancel(request: RunningRequest, reason?: string): void {
  request.isCancelled = true;
  request.controller.abort(reason);
}

/** Of one client. */
export const MAX_SUBSCRIPTIONS = 1000;

/** The resources that a client follows, each once. */
export class Subscriptions {
  readonly #ends = new Map<string, () => void>();
  #isClosed = false;
  #starting = 0;

  /** Starts to follow a resource; undefined if there are too many. */
  async start<T>(begin: () => Promise<T>): Promise<T | undefined> {
    if (this.#ends.size + this.#starting >= MAX_SUBSCRIPTIONS) return undefined;
    this.#starting++;
    try {
      return await begin();
    } finally {
      this.#starting--;
    }
  }

  add(uri: string, end: () => void): void {
    this.delete(uri);
    this.#ends.set(uri, end);
    // The client left while the subscription started.
    if (this.#isClosed) this.close();
  }

  delete(uri: string): void {
    this.#ends.get(uri)?.();
    this.#ends.delete(uri);
  }

  close(): void {
    this.#isClosed = true;
    for (const uri of [...this.#ends.keys()]) this.delete(uri);
  }
}

/** How a request came, and how messages that belong to it are sent. */
export interface Channel {
  readonly client: Client;
  /** Over HTTP. */
  readonly exchange?: Exchange | undefined;
  readonly isNewer: boolean;
  /** Sends a message as part of the request. */
  send(text: string): void;
}

/** What handlers know about a request, and how they send messages meanwhile. */
export type RequestScope = ReturnType<typeof toScope> & {
  /** Whether questions are sent by `request` now, because the request was answered with the handle of a task. */
  readonly asksInTask?: boolean;
  /** Called with the id of the approval that the call waits for, if it can wait. */
  readonly onPending?: DoorOptions['onPending'];
};

/** `operation` is set while requests are traced or counted. */
export function toScope(
  { id, params }: RequestMessage,
  channel: Channel,
  { controller }: RunningRequest,
  operation: Operation | undefined,
) {
  const { client, exchange, isNewer } = channel;
  const meta = metaOf(params);
  const info = isNewer ? meta?.[META.client] : client.initialized?.clientInfo;
  const logLevel = isNewer ? (meta?.[META.logLevel] as string | undefined) : client.logLevel;
  const notify = (method: string, sent: object): void => {
    if (!controller.isAborted) channel.send(toNotification(method, sent));
  };
  return {
    id,
    client,
    identity: exchange?.identity,
    address: exchange?.address,
    exchange,
    isNewer,
    /** What the client says it supports. */
    capabilities: isNewer ? meta?.[META.capabilities] : client.initialized?.capabilities,
    clientName: isRecord(info) ? (info.name as string) : undefined,
    meta,
    /** Aborted when the client cancels the request, or the time of its call is over. */
    controller,
    operation,
    /** State that a server signed, and the answers that came with it. */
    requestState: params?.requestState,
    inputResponses: params?.inputResponses,
    /** The lowest level of log messages that the client wants, if it said so. */
    logLevel,
    notify,
    /** Sends a log message, if the client wants messages of this level. */
    log(level: string, data: unknown, logger: string | undefined): void {
      if (logLevel === undefined || severityOf(level) >= severityOf(logLevel))
        notify('notifications/message', { level, data, logger });
    },
    /** Sends a request to the client; only in the older protocol version, and in tasks. */
    async request(request: InputRequest, until: AbortSignal): Promise<InputAnswer> {
      if (isNewer) throw new Error('this protocol version has no requests of the server');
      return client.requests.request(request, until, (text) => channel.send(text));
    },
    /** Whether consent can be taken from the client. */
    mayConsent: async (): Promise<boolean> => (await exchange?.mayConsent()) ?? true,
  };
}

/** Returns who makes a request, with its session. Every handler lists and calls for this caller (FLW-5). */
export function callerOf(scope: RequestScope): Caller {
  const { identity, address, client, clientName: name } = scope;
  return { session: client.session, name, address, protocol: protocolOf(scope), ...toCaller(identity) };
}

/** Returns the options that every call of a request has. */
export function toCallOptions(scope: RequestScope) {
  const { client, capabilities } = scope;
  // Clients without a session may have the same name.
  const person = client.sessionEnd === 'none' ? loadCrypto().randomUUID() : undefined;
  return {
    caller: { apps: showsApps(capabilities), person, ...callerOf(scope) },
    background: client.sessionEnd,
    trace: readTraceParent(scope),
  } satisfies DoorOptions;
}

/** Returns the protocol version of a request, without its revisions. */
function protocolOf({ isNewer }: RequestScope): ProtocolVersion {
  return isNewer ? '2026-07-28' : '2025-11-25';
}

function severityOf(level: string): number {
  return LOG_LEVELS.indexOf(level as (typeof LOG_LEVELS)[number]);
}

/** Reads the caller's span from `_meta`, as OpenTelemetry's conventions for MCP define it. */
export function readTraceParent({ meta }: Pick<RequestScope, 'meta'>): TraceParent | undefined {
  if (typeof meta?.traceparent !== 'string') return undefined;
  const { traceparent, tracestate, baggage } = meta;
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return { traceparent: traceparent as string, tracestate: textOf(tracestate), baggage: textOf(baggage) };
}

const KEY = 'wield/key';

/** Reads the caller's name for a call, which makes it safe to repeat in a fleet (FLT-12). */
export function readKey({ meta }: RequestScope): string | undefined {
  const key = meta?.[KEY];
  return key === undefined ? undefined : JSON.stringify(key);
}

/** Returns a listener that sends log messages as part of the request; in the newer version clients have to ask for them. */
export function toLogListener(scope: RequestScope): LogListener | undefined {
  if (scope.isNewer && scope.logLevel === undefined) return undefined;
  return ({ level, data, logger }) => scope.log(level, data, logger);
}

/** Returns a listener that sends progress notifications, or undefined if the client asked for none. */
export function toProgressListener(scope: RequestScope): ProgressListener | undefined {
  const progressToken = scope.meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  return ({ done, total, message }) => {
    // The protocol requires each value to be higher than the previous one, also for a mere heartbeat.
    const progress = done !== undefined && done > last ? done : Math.max(last, 0) + 0.01;
    last = progress;
    scope.notify('notifications/progress', { progressToken, progress, total, message });
  };
}
