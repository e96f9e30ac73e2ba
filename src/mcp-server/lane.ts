// The lane: answers the messages that clients send most, without the SDK. `routes.ts` lists them.

import { Cancellation } from '../core/cancellation.js';
import { isRecord } from '../core/json.js';
import type { OpenMap } from '../core/open-map.js';
import type { CallOptions, Toolbox } from '../core/toolbox.js';
import { RpcError } from '../net/mcp.js';
import { showsApps } from './apps.js';
import { createToolCalls, type ToolCalls } from './calls.js';
import { readIdentity, type ServerIdentity } from './identity.js';
import type { InputAnswer, InputRequest } from './input-request.js';
import { createLiveListing, type LiveListing } from './listing.js';
import {
  ERROR,
  LOG_LEVELS,
  META,
  metaOf,
  NEWER_VERSION,
  OLDER_VERSIONS,
  type Params,
  type RequestId,
  type RequestMessage,
} from './message.js';
import { type OfferKind, watchOffers } from './offer-watch.js';
import { toNotification } from './outgoing.js';
import { CACHE_HINT, createListingPages } from './pages.js';
import type { RequestContext, RequestState } from './request-context.js';
import type { SharedSessions } from './shared-sessions.js';

export interface LaneOptions {
  readonly version: string;
  /** Receives errors of the protocol layer; serving continues. */
  readonly onError?: (error: Error) => void;
  /** Delays calls while the client does not read its responses. */
  readonly ready?: CallOptions['ready'];
  /** What the servers of a fleet share. */
  readonly shared?: SharedSessions | undefined;
}

/** The client of a request, and how to reach it while the request is open. */
export interface Peer {
  /** Identifies who may read the stored results of calls (CTX-3). */
  readonly session: string;
  readonly isNewer: boolean;
  /** Parameters of `initialize`, in the older protocol version. */
  readonly initialized: Params | undefined;
  /** The level that the client set, in the older protocol version. */
  readonly logLevel?: string | undefined;
  /** Aborted when the connection ends that alone can carry the result. */
  readonly connection?: AbortSignal | undefined;
  notify(text: string): void;
  request(request: InputRequest, signal: AbortSignal): Promise<InputAnswer>;
  mayConsent?(): boolean;
}

/** JSON of a result. */
type Result = string | Buffer;

/** Parts of the JSON of one message. */
export type Answer = readonly (string | Buffer)[];

export interface Lane extends Pick<LiveListing, 'onChange'> {
  /** Calls the listener when the resources or prompts have changed. */
  onOffersChange(listener: (kind: OfferKind) => void): void;
  readonly listing: LiveListing;
  readonly calls: ToolCalls;
  /** Begins to notice changes; without a call, soon after the first listing. Before it, nobody can miss one. */
  watch(): void;
  /** Answers a request that `isHot`. Resolves to undefined if it was cancelled, which gets no response. */
  answer(message: RequestMessage, peer: Peer, running: Running): Promise<Answer | undefined>;
  close(): void;
}

// Watching takes 10 ms to begin, which the first answers need not wait for.
const WATCH_AFTER_MS = 10;

export function createLane(toolbox: Toolbox, options: LaneOptions): Lane {
  const listing = createLiveListing(toolbox, options.onError);
  const offers = watchOffers(toolbox);
  const calls = createToolCalls({ toolbox, listing, ready: options.ready, shared: options.shared });
  const info = { name: 'wield', version: options.version };
  const pages = createListingPages(listing, info);
  // Appended to results of the newer version.
  const stamp = { [META.server]: info };

  let watchSoon: NodeJS.Timeout | undefined;
  const watch = (): void => {
    listing.watch();
    offers.watch();
  };

  // Not an async function, which takes 0.2 µs and 0.4 kB per call.
  const answerCall = ({ id, params }: RequestMessage, peer: Peer, running: Running): Promise<Answer | undefined> => {
    let request: LaneRequest;
    try {
      request = new LaneRequest(params!, peer, readState(params!, calls));
    } catch (thrown) {
      return Promise.resolve(failed(id, thrown));
    }
    running.set(id, request);
    const end = (): void => {
      if (running.get(id) === request) running.delete(id);
    };
    return calls.call(peer.session, params!, request).then(
      (result) => {
        end();
        return request.cancellation.isCancelled ? undefined : toCallAnswer(id, result, peer);
      },
      (thrown) => {
        end();
        return failed(id, thrown);
      },
    );
  };
  const toCallAnswer = (id: RequestId, result: object, { isNewer }: Peer): Answer => {
    try {
      return answered(id, JSON.stringify(isNewer ? stampResult(result, stamp) : result));
    } catch (thrown) {
      return failed(id, thrown);
    }
  };
  const answerOther = async (message: RequestMessage, peer: Peer): Promise<Answer> => {
    try {
      return answered(message.id, await answerMethod(message, peer));
    } catch (thrown) {
      return failed(message.id, thrown);
    }
  };
  const answerMethod = ({ method, params }: RequestMessage, peer: Peer): Result | Promise<Result> => {
    if (method === 'tools/list') {
      watchSoon ??= setTimeout(watch, WATCH_AFTER_MS).unref();
      return pages.read(params?.cursor as string | undefined, peer.isNewer, showsApps(capabilitiesOf(params, peer)));
    }
    if (method === 'ping') return '{}';
    return readIdentity(toolbox, options.version, calls.tasks !== undefined).then((identity) =>
      JSON.stringify(method === 'initialize' ? toInitializeResult(identity, params!) : toDiscovery(identity, stamp)),
    );
  };
  return {
    listing,
    calls,
    watch,
    onChange: listing.onChange,
    onOffersChange: offers.onChange,
    answer: (message, peer, running) =>
      message.method === 'tools/call' ? answerCall(message, peer, running) : answerOther(message, peer),
    close() {
      clearTimeout(watchSoon);
      listing.close();
      offers.close();
      calls.close();
    },
  };
}

/** Running calls by the id of their request, so that they can be cancelled. */
export type Running = OpenMap<RequestId, LaneRequest>;

/** The context of a call that the lane received. */
export class LaneRequest implements RequestContext {
  readonly isNewer: boolean;
  readonly state: RequestState | undefined;
  readonly #params: Params;
  readonly #peer: Peer;
  readonly cancellation = new Cancellation();

  constructor(params: Params, peer: Peer, state: RequestState | undefined) {
    this.isNewer = peer.isNewer;
    this.state = state;
    this.#params = params;
    this.#peer = peer;
  }

  get meta(): Params | undefined {
    return metaOf(this.#params);
  }

  get capabilities(): unknown {
    return capabilitiesOf(this.#params, this.#peer);
  }

  get clientName(): string | undefined {
    const info = this.isNewer ? this.meta?.[META.client] : this.#peer.initialized?.clientInfo;
    return isRecord(info) ? (info.name as string) : undefined;
  }

  get logLevel(): string | undefined {
    return this.isNewer ? (this.meta?.[META.logLevel] as string | undefined) : this.#peer.logLevel;
  }

  get inputResponses(): unknown {
    return this.#params.inputResponses;
  }

  get connection(): AbortSignal | undefined {
    return this.#peer.connection;
  }

  notify(method: string, params: object): void {
    if (!this.cancellation.isCancelled) this.#peer.notify(toNotification(method, params));
  }

  log(level: string, data: unknown, logger: string | undefined): void {
    const lowest = this.logLevel;
    if (lowest === undefined || LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(lowest))
      this.notify('notifications/message', { level, data, logger });
  }

  request(request: InputRequest, signal: AbortSignal): Promise<InputAnswer> {
    return this.#peer.request(request, signal);
  }

  mayConsent(): boolean {
    return this.#peer.mayConsent?.() ?? true;
  }

  cancel(reason?: unknown): void {
    this.cancellation.cancel(reason);
  }
}

function capabilitiesOf(params: Params | undefined, { isNewer, initialized }: Peer): unknown {
  return isNewer ? metaOf(params)?.[META.capabilities] : initialized?.capabilities;
}

function readState({ requestState }: Params, calls: ToolCalls): RequestState | undefined {
  if (requestState === undefined) return undefined;
  try {
    return calls.verifyState(requestState as string);
  } catch {
    throw new RpcError(ERROR.invalidParams, 'Invalid or expired requestState', { reason: 'invalid_request_state' });
  }
}

function answered(id: RequestId, result: Result): Answer {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  return typeof result === 'string' ? [`${head}${result}}`] : [head, result, '}'];
}

/** Returns the answer to a request that could not be handled. */
export function failed(id: RequestId, thrown: unknown): Answer {
  return [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(toError(thrown))}}`];
}

function toError(thrown: unknown): object {
  const { message, data } = thrown as Error & { readonly data?: unknown };
  return { code: thrown instanceof RpcError ? thrown.code : ERROR.internal, message, data };
}

function stampResult(result: object, stamp: object): object {
  const { _meta } = result as { readonly _meta?: Params };
  return {
    resultType: 'complete',
    ...result,
    _meta: _meta?.[META.server] === undefined ? { ..._meta, ...stamp } : _meta,
  };
}

function toInitializeResult(
  { info, olderCapabilities, instructions }: ServerIdentity,
  { protocolVersion }: Params,
): object {
  const isKnown = OLDER_VERSIONS.includes(protocolVersion as string);
  const version = isKnown ? protocolVersion : OLDER_VERSIONS[0];
  return {
    protocolVersion: version,
    capabilities: olderCapabilities,
    serverInfo: info,
    instructions,
  };
}

function toDiscovery({ capabilities, instructions }: ServerIdentity, stamp: object): object {
  return {
    supportedVersions: [NEWER_VERSION],
    capabilities,
    instructions,
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: CACHE_HINT.cacheScope,
    _meta: stamp,
  };
}
