// The protocol version of a stdio connection: how messages decide on it, and who answers them.

import {
  hasEnvelope,
  isEnvelope,
  isInitializeParams,
  isSetLevelParams,
  META,
  type Message,
  metaOf,
  NEWER_VERSION,
  type Params,
  type RequestMessage,
} from './message.js';
import { isHot } from './routes.js';

/**
 * The protocol version of a connection, fixed by its first messages: `probing` after `server/discover`, which clients of
 * either version may send first.
 */
type Phase = 'opening' | 'probing' | 'older' | 'newer';

/** What the SDK server must know of a connection before its next message. */
export interface ConnectionState {
  readonly phase: Phase;
  /** The last `initialize`, and the `_meta` of the last request of the newer version. */
  readonly initialize: Message | undefined;
  readonly envelope: Params | undefined;
  /** The level of log messages that the client set. */
  readonly logLevel: string | undefined;
}

export const NEW_CONNECTION: ConnectionState = {
  phase: 'opening',
  initialize: undefined,
  envelope: undefined,
  logLevel: undefined,
};

/** Returns the state after a request or notification. */
export function advance(state: ConnectionState, message: Message): ConnectionState {
  const { method, params, id } = message;
  const { phase } = state;
  const isInitialize = method === 'initialize' && id !== undefined;
  const initialize = isInitialize && isInitializeParams(params) ? message : state.initialize;
  if (phase === 'newer') return state;
  if (phase === 'older' && method === 'logging/setLevel' && isSetLevelParams(params))
    return { ...state, logLevel: params!.level as string };
  if (phase === 'older') return initialize === state.initialize ? state : { ...state, initialize };
  const version = metaOf(params)?.[META.version];
  const isClaimed = isEnvelope(params?._meta) && (version as string) >= NEWER_VERSION;
  if (isInitialize && !isClaimed) return { ...state, phase: 'older', initialize };
  if (!hasEnvelope(params)) return { ...state, phase: 'older' };
  // An invalid or unknown version is rejected and decides nothing.
  if (!isClaimed || version !== NEWER_VERSION) return state;
  const envelope = metaOf(params);
  if (method === 'server/discover' && id !== undefined) return { ...state, phase: 'probing', envelope };
  if (phase === 'probing' && id === undefined) return state;
  return { ...state, phase: 'newer', envelope };
}

/** Whether the lane answers a request. Until the version is fixed, the request itself names it. */
export function isAnswered(message: RequestMessage, before: Phase, after: Phase): boolean {
  if (after === 'older') return isHot(message, false);
  if (before !== 'newer' && metaOf(message.params)?.[META.version] !== NEWER_VERSION) return false;
  return isHot(message, true);
}
