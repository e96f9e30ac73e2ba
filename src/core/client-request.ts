// Requests to the client behind a call: to sample its model, and to list its roots (RSC-7).

import { toMadeUpTool } from './any-tool.js';
import type { ClientCapability } from './context.js';
import { ToolError } from './error.js';
import { isRecord, type Json, type JsonObject } from './json.js';
import { IN_CODE } from './origin.js';
import { textPart } from './result.js';
import { NO_TRAITS, type Tool } from './tool.js';

/** The capabilities that a client can have, each with the one request that it answers. */
export const CLIENT_METHODS = {
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
} as const satisfies Record<ClientCapability, string>;
export const CLIENT_CAPABILITIES = ['sampling', 'roots'] as const satisfies readonly ClientCapability[];

export interface ClientRequest {
  readonly capability: ClientCapability;
  readonly params: JsonObject;
  /** The key that the asking server gave the request, in the newer protocol version. */
  readonly id?: string | undefined;
}

/** The client of a door. */
export interface RequestClient {
  /** What it supports, as it announced it. */
  readonly capabilities: Readonly<Partial<Record<ClientCapability, Json>>>;
  /** Sends a request and returns its result. Throws `unavailable` if the client does not support it. */
  request(request: ClientRequest, signal: AbortSignal): Promise<JsonObject>;
  /** Called before a request is decided on. The returned function is called when it is sent or will not be. */
  expect?(): () => void;
}

/** Returns the capability of a method; undefined if it is not a request to clients. */
export function capabilityOf(method: unknown): ClientCapability | undefined {
  return CLIENT_CAPABILITIES.find((capability) => CLIENT_METHODS[capability] === method);
}

// The error code of the protocol, which clients of the newer version get (SRV-82).
const MISSING_CAPABILITY = -32021;

/** The error for a request that the client of a call does not support. */
export function lacksCapability(asker: string, capability: ClientCapability): ToolError {
  return new ToolError('unavailable', `${asker} needs a client that supports ${capability}`, {
    hint: 'use another tool, or a client with this capability',
    data: { code: MISSING_CAPABILITY, requiredCapabilities: { [capability]: {} } },
  });
}

export function isClientResult(capability: ClientCapability, value: unknown): value is JsonObject {
  if (!isRecord(value)) return false;
  if (capability === 'roots')
    return Array.isArray(value.roots) && value.roots.every((root) => isRecord(root) && typeof root.uri === 'string');
  const { role, content, model } = value;
  return typeof role === 'string' && typeof model === 'string' && (isRecord(content) || Array.isArray(content));
}

const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;
// A person may read a request before the client answers it.
const TIMEOUT_MS = 10 * 60_000;

/**
 * The tool that sends a request: `sampling:<asker>` or `roots:<asker>`, so that rules, approvals and the audit log apply
 * to it.
 */
export function toClientTool(
  capability: ClientCapability,
  asker: string,
  send: (params: JsonObject, signal: AbortSignal) => Promise<JsonObject> = () => Promise.reject(new Error('not sent')),
): Tool {
  return toMadeUpTool(`${capability}:${asker}`, {
    description: capability === 'sampling' ? 'Samples the model of the client.' : 'Lists the roots of the client.',
    input: { json: ANY_OBJECT, check: async (value) => ({ ok: true, value }) },
    action: {
      kind: 'function',
      run: async (input, { signal }) => ({
        content: [textPart('')],
        structured: await send(input as JsonObject, signal),
      }),
    },
    origin: { ...IN_CODE, format: 'client', server: asker },
    traits: { ...NO_TRAITS, timeoutMs: TIMEOUT_MS },
  });
}
