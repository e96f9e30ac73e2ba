// A stdio server of the older protocol version that sessions share: its first argument is a log of what it received.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { intrude } from './broker-intruder.mjs';

const [, , file] = process.argv;
const log = (line) => appendFileSync(file, `${process.pid} ${line}\n`);
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const waiting = new Map();
const tools = ['echo', 'wait', 'ask', 'update', 'grow', 'environment', 'intrude'];
let last = 0;
const ask = (method, params = {}) =>
  new Promise((resolve) => {
    const id = `w${++last}`;
    waiting.set(id, resolve);
    write({ id, method, params });
  });
const say = (level, data) => write({ method: 'notifications/message', params: { level, data } });

const CALLS = {
  echo: ({ text }) => text,
  intrude: async ({ text }) => [await intrude(text), await intrude(text, process.ppid)].join(' '),
  environment: ({ text }) => process.env[text] ?? '',
  // Reports progress and logs its text, with the token of the request.
  async wait({ text, ms = 200 }, progressToken) {
    for (const done of [1, 2]) {
      await sleep(ms / 2);
      if (progressToken !== undefined)
        write({ method: 'notifications/progress', params: { progressToken, progress: done, message: text } });
      say('info', text);
    }
    return text;
  },
  async ask({ text, ms = 0 }) {
    await sleep(ms);
    const { result } = await ask('elicitation/create', {
      message: text,
      requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
    });
    return JSON.stringify(result);
  },
  update({ text }) {
    write({ method: 'notifications/resources/updated', params: { uri: text } });
    return text;
  },
  grow({ text }) {
    tools.push(text);
    write({ method: 'notifications/tools/list_changed' });
    return text;
  },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true },
      ...(process.env.QUIET ? {} : { logging: {} }),
    },
    serverInfo: { name: 'shared', version: '1' },
  }),
  'tools/list': () => ({
    tools: tools.map((name) => ({
      name,
      description: `Does ${name}.`,
      inputSchema: { type: 'object', properties: { text: { type: 'string' }, ms: { type: 'integer' } } },
    })),
  }),
  'resources/list': () => ({ resources: ['a', 'b'].map((name) => ({ uri: `test://${name}`, name })) }),
  'resources/subscribe': ({ uri }) => {
    log(`subscribe ${uri}`);
    return {};
  },
  'resources/unsubscribe': ({ uri }) => {
    log(`unsubscribe ${uri}`);
    return {};
  },
  'logging/setLevel': () => ({}),
  ping: () => ({}),
  'tools/call': async ({ name, arguments: given = {}, _meta }) => {
    log(`call ${name} ${given.text}`);
    return { content: [{ type: 'text', text: String(await CALLS[name](given, _meta?.progressToken)) }] };
  },
};

log('start');
await sleep(Number(process.env.START_MS ?? 0));
createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, method, params = {}, result } = JSON.parse(line);
    if (method === undefined) return waiting.get(id)?.({ result });
    if (method === 'notifications/cancelled') return log('cancelled');
    if (id === undefined) return undefined;
    const answer = METHODS[method];
    return write(
      answer === undefined ? { id, error: { code: -32601, message: 'no' } } : { id, result: await answer(params) },
    );
  })
  .on('close', () => (process.env.STAYS ? setInterval(() => {}, 1000) : process.exit()));
