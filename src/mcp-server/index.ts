// The MCP server over a toolbox: stdio and Streamable HTTP, for both protocol versions.

export { type AccessOptions, isLoopback } from './access.js';
export { createMcpHttp, type HttpHandler, type HttpOptions, MCP_PATH } from './http.js';
export type { McpServerOptions } from './server.js';
export { type StdioOptions, type StdioServing, serveMcpStdio } from './stdio.js';
