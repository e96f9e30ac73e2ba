// JSON-RPC messages of MCP: which values are one, and the parameters that the lane understands.

import { isRecord } from '../core/json.js';

export type RequestId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: RequestId;
  /** Absent in responses. */
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A message with an id and a method. */
export interface RequestMessage extends Message {
  readonly id: RequestId;
  readonly method: string;
}

export const OLDER_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
export const NEWER_VERSION = '2026-07-28';

export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  client: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  server: 'io.modelcontextprotocol/serverInfo',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

export const ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  missingCapability: -32021,
} as const;

// Not zod, which takes 20 ms to load and 15 µs per message.
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isBoolean: Check = (value) => typeof value === 'boolean';
const isCode: Check = (value) => Number.isSafeInteger(value);

/** An object with these members; others are allowed unless `strict`. */
function shape(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check {
  const needed = Object.entries(required);
  const known = Object.entries(optional);
  // Loops: every message is checked by several shapes, and callbacks take 1 µs of it.
  return (value) => {
    if (!isRecord(value)) return false;
    for (const [key, check] of needed) if (!check(value[key])) return false;
    for (const [key, check] of known) if (value[key] !== undefined && !check(value[key])) return false;
    return true;
  };
}

const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const mapOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) && Object.values(value).every(check);
const oneOf =
  (...texts: string[]): Check =>
  (value) =>
    texts.includes(value as string);

export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value);

const isMeta = shape({}, { progressToken: isRequestId, [META.relatedTask]: shape({ taskId: isText }) });
const isError = shape({ code: isCode, message: isText });
const RESULT_META = shape({}, { _meta: isRecord });

/** Returns the value if it is a request, notification or response of JSON-RPC 2.0 as MCP defines them. */
export function toMessage(value: unknown): Message | undefined {
  if (!isRecord(value) || value.jsonrpc !== '2.0') return undefined;
  // Counted instead of listed: every message passes here.
  let others = 0;
  for (const key in value) if (key !== 'jsonrpc' && key !== 'id') others++;
  const { id, method, params } = value;
  const hasId = 'id' in value;
  if (hasId && !isRequestId(id)) return undefined;
  if (typeof method === 'string') {
    if (others !== ('params' in value ? 2 : 1)) return undefined;
    return !('params' in value) || isParams(params) ? (value as unknown as Message) : undefined;
  }
  if (others !== 1) return undefined;
  const isResponse = hasId && RESULT_META(value.result);
  return isResponse || isError(value.error) ? (value as unknown as Message) : undefined;
}

function isParams(value: unknown): boolean {
  return isRecord(value) && (value._meta === undefined || isMeta(value._meta));
}

const isObject: Check = isRecord;
const CAPABILITIES: Readonly<Record<string, Check>> = {
  experimental: mapOf(isObject),
  sampling: shape({}, { context: isObject, tools: isObject }),
  elicitation: shape({}, { form: shape({}, { applyDefaults: isBoolean }), url: isObject }),
  roots: shape({}, { listChanged: isBoolean }),
  extensions: mapOf(isObject),
};
const isNewerCapabilities = shape({}, CAPABILITIES);
const isOlderCapabilities = shape(
  {},
  {
    ...CAPABILITIES,
    tasks: shape(
      {},
      {
        list: isObject,
        cancel: isObject,
        requests: shape(
          {},
          {
            sampling: shape({}, { createMessage: isObject }),
            elicitation: shape({}, { create: isObject }),
          },
        ),
      },
    ),
  },
);
const isIcon = shape({ src: isText }, { mimeType: isText, sizes: listOf(isText), theme: oneOf('light', 'dark') });
const isImplementation = shape(
  { name: isText, version: isText },
  { title: isText, icons: listOf(isIcon), websiteUrl: isText, description: isText },
);

export const isInitializeParams = shape({
  protocolVersion: isText,
  capabilities: isOlderCapabilities,
  clientInfo: isImplementation,
});

/** From the least to the most severe. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const isLogLevel = oneOf(...LOG_LEVELS);
export const isSetLevelParams = shape({ level: isLogLevel });

/** Whether `_meta` is what every request of the newer protocol version carries. */
export const isEnvelope = shape(
  { [META.version]: isText, [META.capabilities]: isNewerCapabilities },
  { [META.client]: isImplementation, [META.logLevel]: isLogLevel, progressToken: isRequestId },
);

export const isCallParams = shape({ name: isText }, { arguments: isObject, task: shape({}, { ttl: isFiniteNumber }) });
export const isListParams = shape({}, { cursor: isText });
export const isCancelParams = shape({ requestId: isRequestId }, { reason: isText });

function isFiniteNumber(value: unknown): boolean {
  return typeof value === 'number';
}

/** Returns `_meta` of a message, if it is an object. */
export function metaOf(params: Params | undefined): Params | undefined {
  const meta = params?._meta;
  return isRecord(meta) ? meta : undefined;
}

/** Whether a message names a protocol version itself, as in the newer version. */
export function hasEnvelope(params: Params | undefined): boolean {
  const meta = metaOf(params);
  return meta !== undefined && META.version in meta;
}

/** Whether a message is to be answered. */
export function isRequest(message: Message): message is RequestMessage {
  return message.method !== undefined && message.id !== undefined;
}
