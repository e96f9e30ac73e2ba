// JSON-RPC messages of MCP: which values are one, and the shapes of their parameters.

import { isRecord } from '../core/json.js';
import {
  boolean,
  custom,
  either,
  formatFault,
  list,
  matches,
  object,
  oneOf,
  optional,
  readShape,
  record,
  type Shape,
  string,
  strings,
  table,
} from '../core/shape.js';

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
  subscription: 'io.modelcontextprotocol/subscriptionId',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

export const ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** What the transport refuses, as in the SDK. */
  transport: -32000,
} as const;

/** From the least to the most severe. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

// Members that are not listed are allowed everywhere.
const LOOSE = { unknown: 'drop' } as const;

export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value);

const requestId = custom('a string or an integer', (value) => (isRequestId(value) ? value : undefined));
const number = custom('a number', (value) => (typeof value === 'number' ? value : undefined));
const integer = custom('an integer', (value) => (Number.isSafeInteger(value) ? value : undefined));

const META_SHAPE = object(
  {
    progressToken: optional(requestId),
    [META.relatedTask]: optional(object({ taskId: string }, LOOSE)),
  },
  LOOSE,
);
const PARAMS = object({ _meta: optional(META_SHAPE) }, LOOSE);
const RESULT = object({ _meta: optional(table) }, LOOSE);
const RPC_ERROR = object({ code: integer, message: string }, LOOSE);

/** Returns the value if it is a request, notification or response of JSON-RPC 2.0 as MCP defines them. */
export function toMessage(value: unknown): Message | undefined {
  if (!isRecord(value) || value.jsonrpc !== '2.0') return undefined;
  const hasId = 'id' in value;
  if (hasId && !isRequestId(value.id)) return undefined;
  const members = Object.keys(value).filter((key) => key !== 'jsonrpc' && key !== 'id');
  return isContent(value, members, hasId) ? (value as unknown as Message) : undefined;
}

function isContent(value: Params, members: readonly string[], hasId: boolean): boolean {
  if (typeof value.method === 'string') {
    const hasParams = 'params' in value;
    return members.length === (hasParams ? 2 : 1) && (!hasParams || matches(PARAMS, value.params));
  }
  if (members.length !== 1) return false;
  return (hasId && matches(RESULT, value.result)) || matches(RPC_ERROR, value.error);
}

const CAPABILITIES = {
  experimental: optional(record(table)),
  sampling: optional(object({ context: optional(table), tools: optional(table) }, LOOSE)),
  elicitation: optional(
    object({ form: optional(object({ applyDefaults: optional(boolean) }, LOOSE)), url: optional(table) }, LOOSE),
  ),
  roots: optional(object({ listChanged: optional(boolean) }, LOOSE)),
  extensions: optional(record(table)),
};
const TASK_CAPABILITIES = object(
  {
    list: optional(table),
    cancel: optional(table),
    requests: optional(
      object(
        {
          sampling: optional(object({ createMessage: optional(table) }, LOOSE)),
          elicitation: optional(object({ create: optional(table) }, LOOSE)),
        },
        LOOSE,
      ),
    ),
  },
  LOOSE,
);
const ICON = object(
  { src: string, mimeType: optional(string), sizes: optional(strings), theme: optional(oneOf('light', 'dark')) },
  LOOSE,
);
const IMPLEMENTATION = object(
  {
    name: string,
    version: string,
    title: optional(string),
    icons: optional(list(ICON)),
    websiteUrl: optional(string),
    description: optional(string),
  },
  LOOSE,
);

/** `_meta` of every request of the newer protocol version. */
const ENVELOPE = object(
  {
    [META.version]: string,
    [META.capabilities]: object(CAPABILITIES, LOOSE),
    [META.client]: optional(IMPLEMENTATION),
    [META.logLevel]: optional(oneOf(...LOG_LEVELS)),
    progressToken: optional(requestId),
  },
  LOOSE,
);

const TEXTS = record(string);
const REFERENCE = either([
  object({ type: oneOf('ref/prompt'), name: string }, LOOSE),
  object({ type: oneOf('ref/resource'), uri: string }, LOOSE),
]);

/** The parameters of requests; `_meta` is checked for all of them. */
export const PARAM_SHAPES = {
  none: object({}, LOOSE),
  initialize: object(
    {
      protocolVersion: string,
      capabilities: object({ ...CAPABILITIES, tasks: optional(TASK_CAPABILITIES) }, LOOSE),
      clientInfo: IMPLEMENTATION,
    },
    LOOSE,
  ),
  setLevel: object({ level: oneOf(...LOG_LEVELS) }, LOOSE),
  list: object({ cursor: optional(string) }, LOOSE),
  call: object({ name: string, arguments: optional(table) }, LOOSE),
  /** Of a call that is a task, in the older version. */
  task: object({ task: object({ ttl: optional(number) }, LOOSE) }, LOOSE),
  resource: object({ uri: string }, LOOSE),
  prompt: object({ name: string, arguments: optional(TEXTS) }, LOOSE),
  complete: object(
    {
      ref: REFERENCE,
      argument: object({ name: string, value: string }, LOOSE),
      context: optional(object({ arguments: optional(TEXTS) }, LOOSE)),
    },
    LOOSE,
  ),
  listen: object(
    {
      notifications: object(
        {
          toolsListChanged: optional(boolean),
          promptsListChanged: optional(boolean),
          resourcesListChanged: optional(boolean),
          resourceSubscriptions: optional(strings),
        },
        LOOSE,
      ),
    },
    LOOSE,
  ),
  cancelled: object({ requestId, reason: optional(string) }, LOOSE),
} as const;

/** Returns what is wrong with parameters: `params.name must be a string, got the number 3`. */
export function findParamsFault(shape: Shape<unknown>, params: unknown): string | undefined {
  const [fault] = readShape(shape, params, ['params']).faults;
  return fault && formatFault(fault);
}

/** What is wrong with the `_meta` of a request of the newer protocol version. */
export interface EnvelopeFault {
  readonly key: string;
  readonly problem: string;
}

export function findEnvelopeFaults(meta: Params): readonly EnvelopeFault[] {
  return readShape(ENVELOPE, meta).faults.map(({ path, kind, message }) => ({
    key: path.join('.'),
    problem: kind === 'missing' ? 'missing' : message,
  }));
}

/** Returns `_meta` of a message, if it is an object. */
export function metaOf(params: Params | undefined): Params | undefined {
  const meta = params?._meta;
  return isRecord(meta) ? meta : undefined;
}

/** Whether a message names a protocol version itself, as in the newer version. */
export function namesVersion(params: Params | undefined): boolean {
  return META.version in (metaOf(params) ?? {});
}

/** Whether a message names the newer protocol version, or one after it, in a valid `_meta`. */
export function claimsNewer(params: Params | undefined): boolean {
  const meta = metaOf(params);
  if (meta === undefined || findEnvelopeFaults(meta).length > 0) return false;
  return (meta[META.version] as string) >= NEWER_VERSION;
}

/** Whether a message is to be answered. */
export function isRequest(message: Message): message is RequestMessage {
  return message.method !== undefined && message.id !== undefined;
}

export function toNotification(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
