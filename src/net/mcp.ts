// What clients and servers of MCP share: versions, keys of `_meta`, error responses, and the names of extensions.

/** The newest first. */
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
  /** In the older version; -32602 in the newer. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** What the transport refuses, as in the SDK. */
  transport: -32000,
} as const;

/** An error response of JSON-RPC, sent to a client or received from a server. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** An answer that was not read: the error is ours, not the server's. */
export class UnreadError extends RpcError {}

/** The extension of the newer protocol version for calls whose result is fetched later. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** The extension for skills with their files (SEP-2640). */
export const SKILLS = 'io.modelcontextprotocol/skills';
