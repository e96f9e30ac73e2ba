// What clients and servers of MCP share: error responses, and the names of extensions.

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
