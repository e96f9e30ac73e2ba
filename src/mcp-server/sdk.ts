// What the server uses of the SDK. The build bundles it, so that the package does not depend on the SDK.

export type {
  JSONRPCMessage,
  MessageExtraInfo,
  ServerContext,
  Transport,
} from '@modelcontextprotocol/server';
export { createMcpHandler, isLegacyRequest, Server } from '@modelcontextprotocol/server';
export { serveStdio } from '@modelcontextprotocol/server/stdio';
export { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker';
