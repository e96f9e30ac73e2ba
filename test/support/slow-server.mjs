// A stdio server that is slow to answer the version probe. Arguments: mode, file of starts, delay in milliseconds.

import { appendFileSync } from 'node:fs';

const [, , mode, starts, delay = '0'] = process.argv;
appendFileSync(starts, `${process.pid}\n`);

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const later = (work) => setTimeout(work, Number(delay));
const failWith = (id, message) => write({ id, error: { code: -32601, message } });
const modern = (result) => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result });
const info = { capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } };
const TOOL = {
  name: 'echo',
  description: 'Say it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
};

// `late`: of the newer version only, answers the probe late. `mute`: the same, and ignores `initialize`.
// `ignores`: of the older version, never answers the probe. `refuses`: answers it late with an error.
// `strict`: like `late`, and rejects `initialize` at once. `deaf`: the same, and never answers the probe.
// `either`: answers both late, and is bound to the version of the first message.
const isOlder = mode === 'ignores' || mode === 'refuses';
let bound;

function receive({ id, method, params }) {
  appendFileSync(`${starts}.log`, `heard ${method}\n`);
  const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  if (method === 'server/discover') {
    if (mode === 'ignores' || mode === 'deaf') return;
    if (mode === 'refuses') return later(() => failWith(id, 'unknown method'));
    bound ??= 'newer';
    later(() => write({ id, result: modern({ ...info, supportedVersions: ['2026-07-28'] }) }));
  } else if (method === 'initialize') {
    if (mode === 'mute') return;
    if (mode === 'strict' || mode === 'deaf') return failWith(id, 'this connection uses another protocol version');
    bound ??= 'older';
    if (!isOlder && !(mode === 'either' && bound === 'older'))
      return later(() => failWith(id, 'this connection uses another protocol version'));
    later(() => write({ id, result: { ...info, protocolVersion: '2025-11-25' } }));
  } else if (method === 'tools/list') {
    const result = { tools: [TOOL] };
    write({ id, result: version === undefined ? result : modern(result) });
  } else if (method === 'tools/call') {
    const result = { content: [{ type: 'text', text: version ?? 'older' }] };
    write({ id, result: version === undefined ? result : modern(result) });
  }
}

let buffered = '';
process.stdin.on('data', (chunk) => {
  const lines = (buffered + chunk).split('\n');
  buffered = lines.pop();
  for (const line of lines) receive(JSON.parse(line));
});
process.stdin.on('end', () => process.exit(0));
