// The lane: answers the messages that clients send most, without the SDK. `routes.ts` lists them.

import { Cancellation } from '../core/cancellation.js';
import { isRecord } from '../core/json.js';
import { RpcError } from '../core/rpc-error.js';
import type { SharedSessions } from '../core/sessions.js';
import type { CallOptions, Toolbox } from '../core/toolbox.js';
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
  type RequestMessage,
} from './message.js';
import { type OfferKind, watchOffers } from './offer-watch.js';
import { toNotification } from './outgoing.js';
import { CACHE_HINT, createListingPages } from './pages.js';
import type { RequestContext, RequestState } from './request-context.js';

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
}

/** JSON of a result; undefined if the request was cancelled. */
type Result = string | Buffer | undefined;

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

  const call = async (message: RequestMessage, peer: Peer, running: Running): Promise<string | undefined> => {
    const params = message.params!;
    const request = new LaneRequest(params, peer, readState(params, calls));
    running.set(message.id, request);
    try {
      const result = await calls.call(peer.session, params, request);
      if (request.cancellation.isCancelled) return undefined;
      return JSON.stringify(peer.isNewer ? stampResult(result, stamp) : result);
    } finally {
      if (running.get(message.id) === request) running.delete(message.id);
    }
  };
  const answerMethod = (message: RequestMessage, peer: Peer, running: Running): Result | Promise<Result> => {
    const { method, params } = message;
    if (method === 'tools/call') return call(message, peer, running);
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
    async answer(message, peer, running) {
      const id = JSON.stringify(message.id);
      try {
        const result = await answerMethod(message, peer, running);
        if (result === undefined) return undefined;
        const head = `{"jsonrpc":"2.0","id":${id},"result":`;
        return typeof result === 'string' ? [`${head}${result}}`] : [head, result, '}'];
      } catch (thrown) {
        return [`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(toError(thrown))}}`];
      }
    },
    close() {
      clearTimeout(watchSoon);
      listing.close();
      offers.close();
      calls.close();
    },
  };
}

/** Running calls by the id of their request, so that they can be cancelled. */
export type Running = Map<RequestMessage['id'], LaneRequest>;

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
