// A server over stdio that does as its first argument says: well, or in one of the ways that servers go wrong.
// Each start is a line in the file that the second argument names.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';

const [, , mode = 'well', starts] = process.argv;
if (starts) appendFileSync(starts, `${process.pid}\n`);

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = (properties = {}, more = {}) => ({ type: 'object', properties, ...more });
const deep = (levels) => {
  let schema = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = { type: 'object', properties: { next: schema } };
  return schema;
};

const TOOLS = {
  well: () => [
    {
      name: 'echo',
      description: 'Say it again.',
      inputSchema: object({ text: { type: 'string' } }, { required: ['text'] }),
    },
    {
      name: 'environment',
      description: 'Show a variable.',
      inputSchema: object({ name: { type: 'string' } }),
    },
    { name: 'slow', description: 'Take a while.', inputSchema: object({ ms: { type: 'integer' } }) },
    { name: 'die', description: 'End in mid-call.', inputSchema: object() },
    {
      name: 'wipe',
      description: 'Remove all.',
      inputSchema: object(),
      annotations: { destructiveHint: true },
    },
    { name: 'fails', description: 'Fail.', inputSchema: object() },
    { name: 'parts', description: 'Every kind of part.', inputSchema: object() },
    { name: 'ask', description: 'Ask the person.', inputSchema: object() },
    {
      name: 'typed',
      description: 'Declare what it returns.',
      inputSchema: object({ valid: { type: 'boolean' } }),
      outputSchema: object({ count: { type: 'integer' } }, { required: ['count'] }),
    },
  ],
  schemas: () => [
    { name: 'fine', description: 'Is fine.', inputSchema: object() },
    {
      name: 'async',
      description: 'Wants a promise.',
      inputSchema: object({ n: { type: 'integer' } }, { $async: true, required: ['n'] }),
    },
    {
      name: 'backtracks',
      description: 'Never ends.',
      inputSchema: object({ s: { type: 'string', pattern: '^(a+)+$' } }),
    },
    { name: 'remote', description: 'Refers away.', inputSchema: { $ref: 'https://example.com/schema.json' } },
    { name: 'deep', description: 'Goes down.', inputSchema: deep(10_000) },
    { name: 'list', description: 'Takes a list.', inputSchema: { type: 'array' } },
    { name: 'none', description: 'Has no schema.' },
    { description: 'Has no name.', inputSchema: object() },
    {
      name: 'proto',
      description: 'Pollutes.',
      inputSchema: JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
    },
    { name: 'hidden', description: 'Looks\u200b fine\u{e0041}.', inputSchema: object() },
  ],
  clash: () => [
    { name: 'a.b', description: 'One.', inputSchema: object() },
    { name: 'a/b', description: 'Two.', inputSchema: object() },
    { name: `${'x'.repeat(80)}1`, description: 'Long.', inputSchema: object() },
    { name: `${'x'.repeat(80)}2`, description: 'Long too.', inputSchema: object() },
  ],
  // What it says of itself stands in a file.
  changing: () => JSON.parse(readFileSync(process.argv[4], 'utf8')),
};
const tools = () => (TOOLS[mode] ?? TOOLS.well)();

const CALLS = {
  echo: ({ text: said }) => text(said),
  environment: ({ name }) => text(`${name} is ${process.env[name]}`),
  slow: async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return text('done');
  },
  die: () => {
    process.stderr.write('about to go\n');
    process.exit(3);
  },
  wipe: () => text('gone'),
  fails: () => ({ ...text('it did not work'), isError: true }),
  typed: ({ valid = true }) => ({ ...text('typed'), structuredContent: { count: valid ? 3 : 'three' } }),
  parts: () => ({
    content: [
      { type: 'text', text: 'words', annotations: { audience: ['user'], priority: 0.5 } },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'demo://one', name: 'one', title: 'One', size: 3 },
      { type: 'resource', resource: { uri: 'demo://two', mimeType: 'text/plain', text: 'two' } },
    ],
    structuredContent: { loose: true },
    _meta: { 'example.com/note': 'kept' },
  }),
  ask: async () => {
    const answer = await request('elicitation/create', {
      message: 'Which colour?',
      requestedSchema: object({ colour: { type: 'string' } }, { required: ['colour'] }),
    });
    return text(JSON.stringify(answer));
  },
};

let ids = 1000;
const waiting = new Map();
function request(method, params) {
  const id = ++ids;
  write({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const running = new Map();
async function handle({ id, method, params, result, error }) {
  if (method === undefined) {
    waiting.get(id)?.(result ?? { error });
    waiting.delete(id);
    return;
  }
  if (method === 'notifications/cancelled') {
    appendLog(`cancelled ${running.get(params.requestId)}`);
    return;
  }
  if (method === 'initialize') {
    if (mode === 'hang') return;
    if (mode === 'wrong') return write({ id, result: { protocolVersion: 42 } });
    return write({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'test', version: '1' },
      },
    });
  }
  if (method === 'tools/list') return write({ id, result: { tools: tools() } });
  if (method === 'tools/call') {
    running.set(id, params.name);
    const call = CALLS[params.name];
    if (call === undefined && !tools().some(({ name }) => name === params.name))
      return write({ id, error: { code: -32602, message: `no tool ${params.name}` } });
    if (params._meta?.progressToken !== undefined)
      for (const progress of [1, 2])
        write({
          method: 'notifications/progress',
          params: {
            progressToken: params._meta.progressToken,
            progress,
            total: 2,
            message: `step ${progress}`,
          },
        });
    const answer = call === undefined ? text('called') : await call(params.arguments ?? {});
    running.delete(id);
    return write({ id, result: answer });
  }
  // A server that ends at the first word that it does not know, as some do.
  if (mode === 'curt' && id !== undefined) process.exit(9);
  if (id !== undefined) write({ id, error: { code: -32601, message: `unknown method ${method}` } });
}

function appendLog(line) {
  if (starts) appendFileSync(`${starts}.log`, `${line}\n`);
}

if (mode === 'exits') {
  process.stderr.write('first line\nno configuration found\n');
  process.exit(2);
}
if (mode === 'greets') process.stdout.write('Welcome to this server!\n\n{"not": "a message"}\n[1,2]\n');
if (mode === 'loud') setInterval(() => process.stderr.write(`${'noise '.repeat(10_000)}\n`), 1);
if (mode === 'flood') setInterval(() => process.stdout.write(`${'x'.repeat(100_000)}\n`), 1);
if (mode === 'endless') setInterval(() => process.stdout.write('y'.repeat(1_000_000)), 1);
if (mode === 'chatty')
  setInterval(() => {
    for (let at = 0; at < 500; at++)
      write({ method: 'notifications/message', params: { level: 'info', data: 'z'.repeat(2000) } });
  }, 1);
if (mode === 'changing' && existsSync(process.argv[4])) {
  const { watchFile } = await import('node:fs');
  watchFile(process.argv[4], { interval: 50 }, () => write({ method: 'notifications/tools/list_changed' }));
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) if (line.trim() !== '') void handle(JSON.parse(line));
});
process.stdin.on('end', () => process.exit(0));
