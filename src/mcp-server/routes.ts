// Which messages the lane answers itself, by protocol version; everything else goes to the SDK server.

import {
  hasEnvelope,
  isCallParams,
  isEnvelope,
  isInitializeParams,
  isListParams,
  META,
  metaOf,
  type Params,
  type RequestMessage,
} from './message.js';

// Other methods, and parameters that have another form than is listed here, load the SDK.
type Fits = (params: Params) => boolean;

const always: Fits = () => true;

const OLDER: ReadonlyMap<string, Fits> = new Map([
  ['initialize', isInitializeParams],
  ['ping', always],
  ['tools/list', isListParams],
  // State and answers belong to the newer version.
  ['tools/call', (params) => isCallParams(params) && !('requestState' in params) && !('inputResponses' in params)],
]);

const NEWER: ReadonlyMap<string, Fits> = new Map([
  ['server/discover', always],
  ['tools/list', isListParams],
  ['tools/call', (params) => isCallParams(params) && isTextOrNothing(params.requestState)],
]);

const NONE: Params = {};

/** Whether the lane answers a request. Its notifications are `notifications/initialized` and `notifications/cancelled`. */
export function isHot({ method, params = NONE }: RequestMessage, isNewer: boolean): boolean {
  const fits = (isNewer ? NEWER : OLDER).get(method);
  if (fits === undefined || !fits(params)) return false;
  return isNewer ? isEnvelope(params._meta) : !hasReservedMeta(params);
}

function hasReservedMeta(params: Params): boolean {
  if (params._meta === undefined) return false;
  const meta = metaOf(params) ?? NONE;
  return hasEnvelope(params) || META.client in meta || META.capabilities in meta || META.logLevel in meta;
}

function isTextOrNothing(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
