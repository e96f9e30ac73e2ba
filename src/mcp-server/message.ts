// JSON-RPC messages of MCP: which values are one, and the shapes of their parameters.

import { assertExact, isRecord, type Json } from '../core/json.js';
import {
  boolean,
  custom,
  either,
  formatFault,
  list,
  matches,
  number,
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
import { META, NEWER_VERSION } from '../net/mcp.js';

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

/** From the least to the most severe. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

// Members that are not listed are allowed everywhere.
function loose<const F extends Readonly<Record<string, Shape<unknown>>>>(fields: F) {
  return object(fields, { unknown: 'drop' });
}

export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value);

const requestId = custom('a string or an integer', (value) => (isRequestId(value) ? value : undefined));
const integer = custom('an integer', (value) => (Number.isSafeInteger(value) ? value : undefined));

const META_SHAPE = loose({
  progressToken: optional(requestId),
  [META.relatedTask]: optional(loose({ taskId: string })),
});
const PARAMS = loose({ _meta: optional(META_SHAPE) });
const RESULT = loose({ _meta: optional(table) });
const RPC_ERROR = loose({ code: integer, message: string });

/** Refuses the text of a call whose arguments reading has changed (RUN-15). */
export function assertExactCall(value: Json, text: string): void {
  const messages: readonly Json[] = Array.isArray(value) ? value : [value];
  if (messages.some((one) => isRecord(one) && one.method === 'tools/call')) assertExact(text, 'the call');
}

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
  sampling: optional(loose({ context: optional(table), tools: optional(table) })),
  elicitation: optional(loose({ form: optional(loose({ applyDefaults: optional(boolean) })), url: optional(table) })),
  roots: optional(loose({ listChanged: optional(boolean) })),
  extensions: optional(record(table)),
};
const TASK_CAPABILITIES = loose({
  list: optional(table),
  cancel: optional(table),
  requests: optional(
    loose({
      sampling: optional(loose({ createMessage: optional(table) })),
      elicitation: optional(loose({ create: optional(table) })),
    }),
  ),
});
const ICON = loose({
  src: string,
  mimeType: optional(string),
  sizes: optional(strings),
  theme: optional(oneOf('light', 'dark')),
});
const IMPLEMENTATION = loose({
  name: string,
  version: string,
  title: optional(string),
  icons: optional(list(ICON)),
  websiteUrl: optional(string),
  description: optional(string),
});

/** `_meta` of every request of the newer protocol version. */
const ENVELOPE = loose({
  [META.version]: string,
  [META.capabilities]: loose(CAPABILITIES),
  [META.client]: optional(IMPLEMENTATION),
  [META.logLevel]: optional(oneOf(...LOG_LEVELS)),
  progressToken: optional(requestId),
});

const TEXTS = record(string);
const REFERENCE = either([
  loose({ type: oneOf('ref/prompt'), name: string }),
  loose({ type: oneOf('ref/resource'), uri: string }),
]);

/** The parameters of requests; `_meta` is checked for all of them. */
export const PARAM_SHAPES = {
  none: loose({}),
  initialize: loose({
    protocolVersion: string,
    capabilities: loose({ ...CAPABILITIES, tasks: optional(TASK_CAPABILITIES) }),
    clientInfo: IMPLEMENTATION,
  }),
  setLevel: loose({ level: oneOf(...LOG_LEVELS) }),
  list: loose({ cursor: optional(string) }),
  call: loose({ name: string, arguments: optional(table) }),
  /** Of a call that is a task, in the older version. */
  task: loose({ task: loose({ ttl: optional(number) }) }),
  resource: loose({ uri: string }),
  directory: loose({ uri: string, cursor: optional(string) }),
  prompt: loose({ name: string, arguments: optional(TEXTS) }),
  complete: loose({
    ref: REFERENCE,
    argument: loose({ name: string, value: string }),
    context: optional(loose({ arguments: optional(TEXTS) })),
  }),
  listen: loose({
    notifications: loose({
      toolsListChanged: optional(boolean),
      promptsListChanged: optional(boolean),
      resourcesListChanged: optional(boolean),
      resourceSubscriptions: optional(strings),
    }),
  }),
  cancelled: loose({ requestId, reason: optional(string) }),
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
