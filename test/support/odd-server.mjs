// A stdio server with unusual but valid answers. Its first argument is the only protocol version that it knows.

import { createInterface } from 'node:readline';

const [, , version] = process.argv;
const isModern = version === '2026-07-28';
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const DEFAULT_LEVEL = 'error';
const NOTES = { audience: ['user'], priority: 0.3 };
let level = DEFAULT_LEVEL;

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const stamp = isModern ? { resultType: 'complete' } : {};
const hello = {
  capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
  serverInfo: { name: 'odd', version: '1' },
};
const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' }, ...FIELDS[name] });
const FIELDS = {
  padded: { title: ' Padded ', description: '\n  First line.\n\n  Second.\n' },
  bare: { description: undefined },
  titled: { annotations: { title: 'In annotations' } },
};

const TOOLS = {
  log: (meta) => {
    const lowest = isModern ? meta?.['io.modelcontextprotocol/logLevel'] : level;
    // The newer version sends log messages only if the request asks for them.
    const sent = lowest === undefined ? [] : LEVELS.slice(LEVELS.indexOf(lowest));
    for (const one of sent)
      write({ method: 'notifications/message', params: { level: one, data: { one }, logger: 'l' } });
    return { content: [{ type: 'text', text: String(lowest) }] };
  },
  parts: () => ({
    content: [
      { type: 'text', text: '' },
      { type: 'text', text: 'x', annotations: NOTES },
    ],
    _meta: { a: 1 },
  }),
  nothing: () => ({ content: [] }),
  fails: () => ({
    content: [{ type: 'text', text: '{"error": "bad"}\n' }],
    isError: true,
    _meta: { 'example.com/why': [1] },
  }),
  refuses: () => ({ error: { code: -32099, message: 'Not  like\nthis. ', data: { field: 'x', list: [1, null] } } }),
  padded: () => ({ content: [] }),
  bare: () => ({ content: [] }),
  titled: () => ({ content: [] }),
};

const METHODS = {
  initialize: () => (isModern ? undefined : { ...hello, protocolVersion: version }),
  'server/discover': () => (isModern ? { ...hello, supportedVersions: [version] } : undefined),
  'logging/setLevel': (params) => {
    level = params.level;
    return {};
  },
  'tools/list': () => ({ tools: Object.keys(TOOLS).map(tool) }),
  'tools/call': ({ name, _meta }) => TOOLS[name](_meta),
  'resources/list': () => ({ resources: [{ uri: 'urn:isbn:1', name: 'urn' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'note://{id}', name: 'note' }] }),
  'resources/read': ({ uri }) =>
    uri === 'note://none'
      ? { contents: [] }
      : uri === 'note://big'
        ? { contents: [{ uri, text: 'x'.repeat(11 * 1024 * 1024) }] }
        : {
            contents: [
              { uri, text: '', _meta: { b: 2 } },
              { uri: 'urn:isbn:2', blob: '' },
            ],
            _meta: { c: 3 },
          },
  'prompts/list': () => ({ prompts: [{ name: 'refuses' }, { name: 'bare' }] }),
  'prompts/get': ({ name }) =>
    name === 'refuses'
      ? TOOLS.refuses()
      : { messages: [{ role: 'assistant', content: { type: 'text', text: '' } }], _meta: { d: 4 } },
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    if (id === undefined) return;
    const result = METHODS[method]?.(params);
    const cached = isModern ? { ttlMs: 0, cacheScope: 'private' } : {};
    if (result === undefined) write({ id, error: { code: -32601, message: 'Method not found' } });
    else if (result.error !== undefined) write({ id, error: result.error });
    else write({ id, result: { ...stamp, ...cached, ...result } });
  })
  .on('close', () => process.exit());
