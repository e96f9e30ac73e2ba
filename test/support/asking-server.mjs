// A stdio server of the older protocol version that asks its client for more than it should. Its argument is its log file.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , file] = process.argv;
const log = (line) => appendFileSync(file, `${line}\n`);
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const waiting = new Map();
let last = 0;
const ask = (method, params = {}) =>
  new Promise((resolve) => {
    const id = `ask${++last}`;
    waiting.set(id, resolve);
    write({ id, method, params });
  });
const sample = (text, more = {}) =>
  ask('sampling/createMessage', {
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens: 10,
    ...more,
  });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const TOOLS = {
  // Of all servers behind a gateway, which is one server for the client.
  context: () => sample('Say it.', { includeContext: 'thisServer' }),
  everywhere: () => sample('Say it.', { includeContext: 'allServers' }),
  large: () => sample('x'.repeat(5 * 1024 * 1024)),
  flood: async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => sample('Say it.')));
    return { answered: all.filter(({ result }) => result !== undefined).length };
  },
  // Asks when its call is over.
  late: async () => {
    setTimeout(async () => {
      for (const method of ['roots/list', 'sampling/createMessage'])
        log(`${method} ${JSON.stringify((await ask(method, { messages: [], maxTokens: 1 })).error !== undefined)}`);
    }, 1000);
    return {};
  },
  // Asks after a while, when calls of others may run.
  slow: async () => {
    log('began');
    await sleep(1500);
    return (await ask('roots/list')).result;
  },
  roots: async () => (await ask('roots/list')).result,
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'asking', version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.keys(TOOLS).map((name) => ({ name, description: name, inputSchema: { type: 'object' } })),
  }),
  'tools/call': async ({ name }) => ({ content: [{ type: 'text', text: JSON.stringify(await TOOLS[name]()) }] }),
};

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, method, params = {}, result, error } = JSON.parse(line);
    if (method === undefined) return waiting.get(id)?.({ result, error });
    if (id === undefined) return;
    if (METHODS[method] === undefined) write({ id, error: { code: -32601, message: 'Method not found' } });
    else write({ id, result: await METHODS[method](params) });
  })
  .on('close', () => process.exit());
