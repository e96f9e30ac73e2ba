// Function tools served over HTTP as by `wield serve --http`; prints its port.

import { createServer } from 'node:http';
import { createToolbox } from '../../dist/index.js';
import { createMcpHttp } from '../../dist/mcp-server/index.js';
import { listen } from './listen.mjs';
import { COUNT, DESCRIPTION, execute, inputSchema, toolNames } from './tool.mjs';

const tools = toolNames(COUNT).map((name) => ({ name, description: DESCRIPTION, inputSchema, execute }));
const handler = createMcpHttp(createToolbox({ tools }), { version: '0', access: { host: '127.0.0.1' } });
listen(createServer(handler.listener));
