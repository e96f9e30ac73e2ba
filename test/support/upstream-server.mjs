// A stdio server whose first argument is its mode: correct, or one kind of misbehaviour.
// Each start appends a line to the file of the second argument.

import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, existsSync, readFileSync } from 'node:fs';

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
  bad: () => Object.keys(BAD).map((name) => ({ name, description: 'Goes wrong.', inputSchema: object() })),
  // The same page of tools again and again.
  pages: () => [{ name: `page-${++pages}`, description: 'One of many.', inputSchema: object() }],
  many: () =>
    Array.from({ length: 10_001 }, (_, at) => ({
      name: `t${at}`,
      description: 'One.',
      inputSchema: object(),
    })),
  leaks: () =>
    Object.keys(LEAKS).map((name) => ({
      name,
      title: `Title ${given()}`,
      description: `Leak all of it: ${given()}`,
      inputSchema: object({ a: { type: 'string', description: given(), default: given() } }),
      _meta: { 'example.com/note': given() },
    })),
  // Its tool list is read from a file.
  changing: () => JSON.parse(readFileSync(process.argv[4], 'utf8')),
};
let pages = 0;
const tools = () => (TOOLS[mode] ?? TOOLS.well)();
const nested = (levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const raw = (line) => process.stdout.write(`${line}\n`);
const answerRaw = (id, result) => raw(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
const SAID = '"content":[{"type":"text","text":"said"}]';

const QUESTION = { message: 'Which?', requestedSchema: object({ a: { type: 'string' } }) };

// Misbehaving calls: each gets the id of its request and responds by itself, or never.
const BAD = {
  'no-object': (id) => answerRaw(id, '5'),
  'no-list': (id) => answerRaw(id, '{"content":{"length":1}}'),
  'no-part': (id) => answerRaw(id, '{"content":[{"type":"text"}]}'),
  nothing: (id) => raw(`{"jsonrpc":"2.0","id":${JSON.stringify(id)}}`),
  both: (id) =>
    raw(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${SAID}},"error":{"code":1,"message":"no"}}`),
  deep: (id) => answerRaw(id, `{"content":[{"type":"text","text":"said","x":${nested(10_000)}}]}`),
  'deep-structured': (id) => answerRaw(id, `{${SAID},"structuredContent":{"x":${nested(10_000)}}}`),
  proto: (id) => answerRaw(id, `{${SAID},"structuredContent":{"__proto__":{"polluted":true}}}`),
  'proto-result': (id) => answerRaw(id, `{"__proto__":{"isError":true},${SAID}}`),
  huge: (id) => answerRaw(id, `{"content":[{"type":"text","text":"${'x'.repeat(24 * 1024 * 1024)}"}]}`),
  'huge-last': (id) =>
    raw(
      `{"result":{"content":[{"type":"text","text":"${'x'.repeat(24 * 1024 * 1024)}"}]},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`,
    ),
  'wrong-id': (id) => {
    for (const other of [`${id}0`, 'w999999', 7, null, true, {}, []])
      raw(JSON.stringify({ jsonrpc: '2.0', id: other, result: text('of another') }));
    answerRaw(id, `{${SAID}}`);
  },
  twice: (id) => {
    answerRaw(id, `{${SAID}}`);
    answerRaw(id, '{"content":[{"type":"text","text":"said again"}]}');
  },
  'not-json': (id) => {
    for (const line of ['{', 'null', '"text"', '12', '[]', '\u0000\u001b[31m', '{"jsonrpc":"2.0"}', '{"id":1e999}'])
      raw(line);
    answerRaw(id, `{${SAID}}`);
  },
  'no-line': () => setInterval(() => process.stdout.write('y'.repeat(1_000_000)), 1),
  garbage: () => setInterval(() => raw('x'.repeat(100_000)), 1),
  chatter: () =>
    setInterval(() => {
      for (let at = 0; at < 500; at++)
        write({ method: 'notifications/message', params: { level: 'info', data: 'z'.repeat(2000) } });
    }, 1),
  changes: async (id) => {
    for (let at = 0; at < 5000; at++) write({ method: 'notifications/tools/list_changed' });
    answerRaw(id, `{${SAID}}`);
  },
  requests: async (id) => {
    const kinds = ['ping', 'sampling/createMessage', 'roots/list', 'elicitation/create', 'no/such'];
    for (let at = 0; at < 5000; at++) {
      write({ id: `q${at}`, method: kinds[at % kinds.length], params: QUESTION });
      if (at % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    answerRaw(id, `{${SAID}}`);
  },
  'close-output': () => {
    process.stderr.write('no more words\n');
    closeSync(1);
  },
  'dies-loudly': () => {
    for (let at = 0; at < 5000; at++) process.stderr.write(`\u001b[31mline ${at} ${'.'.repeat(1000)}\n`);
    process.stderr.write('the last line\u001b]0;title\u0007\n', () => process.exit(7));
  },
  'leaves-a-child': (id) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      detached: true,
      stdio: 'ignore',
    });
    answerRaw(id, `{"content":[{"type":"text","text":"${child.pid}"}]}`);
  },
};

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

// Its variables as one text, and encoded.
const given = () => {
  const values = ['VARIABLE', 'FROM_FILE', 'API_KEY', 'HEADER'].map((name) => process.env[name] ?? '');
  const encodings = ['base64', 'base64url', 'hex'];
  const encode = (value) => [encodeURIComponent(value), ...encodings.map((one) => Buffer.from(value).toString(one))];
  return [...values, ...values.flatMap((value) => [value, `Bearer ${value}`, `me:${value}`].flatMap(encode))].join(
    ' | ',
  );
};

const LEAKS = {
  leak: () => ({
    content: [
      { type: 'text', text: `all of it: ${given()}` },
      { type: 'text', text: JSON.stringify(process.env) },
      {
        type: 'resource_link',
        uri: `demo://x?key=${encodeURIComponent(given())}`,
        name: given(),
        title: given(),
      },
      { type: 'resource', resource: { uri: 'demo://two', text: given() } },
    ],
    _meta: { 'example.com/note': given() },
  }),
  split: () => ({
    content: given()
      .match(/.{1,5}/gs)
      .map((piece) => ({ type: 'text', text: piece })),
  }),
  structured: () => ({ content: [], structuredContent: { [given()]: given(), list: given().split(' | ') } }),
  error: () => ({ ...text(given()), isError: true }),
  refuse: () => {
    throw new Error(given());
  },
  die: () => {
    process.stderr.write(`my keys are ${given()}\n`, () => process.exit(5));
    return new Promise(() => {});
  },
  progress: (_, token) => {
    if (token !== undefined)
      write({
        method: 'notifications/progress',
        params: { progressToken: token, progress: 1, message: given() },
      });
    write({ method: 'notifications/message', params: { level: 'info', data: given() } });
    return text('done');
  },
};

const CURSORS = {
  pages: () => ({ nextCursor: `after-${pages}` }),
  circle: () => ({ nextCursor: 'again' }),
};

const structuredFor = (name) =>
  tools().find((tool) => tool.name === name)?.outputSchema === undefined ? {} : { structuredContent: {} };

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
    if (mode === 'slow-start') await new Promise((resolve) => setTimeout(resolve, 11_000));
    // After the response is written.
    if (mode === 'gone') setImmediate(() => process.stdout.write('', () => process.exit(4)));
    return write({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'test', version: '1' },
        ...(mode === 'leaks' ? { instructions: given() } : {}),
      },
    });
  }
  if (method === 'tools/list') {
    if (mode === 'raw') return answerRaw(id, `{"tools":${readFileSync(process.argv[4], 'utf8')}}`);
    if (mode === 'no-list') return write({ id, result: { tools: 'none' } });
    return write({ id, result: { tools: tools(), ...(CURSORS[mode]?.() ?? {}) } });
  }
  if (method === 'tools/call') {
    running.set(id, params.name);
    if (mode === 'bad' && BAD[params.name] !== undefined) return BAD[params.name](id);
    if (mode === 'leaks') {
      try {
        return write({ id, result: await LEAKS[params.name](params.arguments, params._meta?.progressToken) });
      } catch (error) {
        return write({ id, error: { code: -32000, message: error.message, data: given() } });
      }
    }
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
    const answer =
      call === undefined
        ? mode === 'changing'
          ? { ...text(`called ${params.name}`), ...structuredFor(params.name) }
          : text('called')
        : await call(params.arguments ?? {});
    running.delete(id);
    return write({ id, result: answer });
  }
  // A server that exits at the first unknown method.
  if (mode === 'curt' && id !== undefined) process.exit(9);
  if (id !== undefined) write({ id, error: { code: -32601, message: `unknown method ${method}` } });
}

function appendLog(line) {
  if (starts) appendFileSync(`${starts}.log`, `${line}\n`);
}

if (mode === 'leaks-and-exits') {
  process.stderr.write(`my key is ${process.env.API_KEY} ${given()}\n`);
  process.exit(2);
}
if (mode === 'exits') {
  process.stderr.write('first line\nno configuration found\n');
  process.exit(2);
}
if (mode === 'stubborn') {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
}
if (mode === 'greets') process.stdout.write('Welcome to this server!\n\n{"not": "a message"}\n[1,2]\n');
if (mode === 'loud') setInterval(() => process.stderr.write(`${'noise '.repeat(10_000)}\n`), 1);
if (mode === 'flood') setInterval(() => process.stdout.write(`${'x'.repeat(100_000)}\n`), 1);
if (mode === 'endless') {
  process.stdout.on('error', () => {});
  setInterval(() => process.stdout.write('y'.repeat(1_000_000)), 1);
}
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
if (mode === 'deaf') setInterval(() => {}, 1000);
else
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.trim() !== '') void handle(JSON.parse(line));
  });
if (mode !== 'deaf' && mode !== 'stubborn') process.stdin.on('end', () => process.exit(0));
