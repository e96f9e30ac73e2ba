// Function tools served over HTTP with a shared token, or for users of an identity provider; prints its port.

import { createServer } from 'node:http';
import { createToolbox } from '../../dist/index.js';
import { createMcpHttp } from '../../dist/mcp-server/index.js';
import { createGuardedFetch } from '../../dist/net/fetch.js';
import { createVerifier } from '../../dist/net/tokens.js';
import { listen } from './listen.mjs';
import { DESCRIPTION, execute, inputSchema, toolNames } from './tool.mjs';

const [, , , issuer] = process.argv;
const tools = toolNames(10).map((name) => ({ name, description: DESCRIPTION, inputSchema, execute }));
const settings = { issuer, audience: 'bench', userClaim: 'sub', groupsClaim: 'groups', scopes: [] };
const toUsers = () =>
  createVerifier({
    issuers: [settings],
    audience: 'bench',
    expand: (text) => text,
    createFetch: createGuardedFetch,
    debug: () => {},
  });
const access = issuer === undefined ? { tokens: () => ['a-token-of-the-benchmark'] } : { users: toUsers() };
const handler = createMcpHttp(createToolbox({ tools }), { version: '0', access: { host: '127.0.0.1', ...access } });
listen(createServer(handler.listener));
