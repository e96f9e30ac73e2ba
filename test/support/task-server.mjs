// A stdio server that answers every call with a task. Its first argument is the only protocol version that it knows; what it is
// asked is logged to the file that its second names.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , version, log] = process.argv;
const isModern = version === '2026-07-28';
const hello = { capabilities: { tools: {} }, serverInfo: { name: 'tasks', version: '1' } };
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const FORM = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const question = { mode: 'form', message: 'Who?', requestedSchema: FORM };
const tool = (name) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  ...(isModern ? {} : { execution: { taskSupport: 'required' } }),
});

// The states of a task by its tool; `asks` has an answer once it was given.
const answers = new Map();
const STATES = {
  works: () => ({ status: 'completed', result: text('worked') }),
  fails: () => ({ status: 'failed', error: { code: -32603, message: 'the disk is full' } }),
  stops: () => ({ status: 'cancelled' }),
  waits: () => ({ status: 'working' }),
  asks: () =>
    answers.has('asks')
      ? { status: 'completed', result: text(`Hello, ${answers.get('asks').content.name}!`) }
      : { status: 'input_required', inputRequests: { who: { method: 'elicitation/create', params: question } } },
};

const asked = new Map();
const METHODS = {
  initialize: () => (isModern ? undefined : { ...hello, protocolVersion: version }),
  'server/discover': () => (isModern ? { ...hello, supportedVersions: [version] } : undefined),
  'tools/list': () => ({ tools: Object.keys(STATES).map(tool) }),
  'tools/call': ({ name, task }) => {
    if (!isModern && task === undefined) return undefined;
    const fields = { taskId: name, status: 'working', createdAt: new Date().toISOString() };
    return isModern
      ? { ...fields, resultType: 'task', ttlMs: 60_000, pollIntervalMs: 1 }
      : { task: { ...fields, ttl: 1 } };
  },
  'tasks/get': ({ taskId }) => ({ taskId, pollIntervalMs: 1, ...STATES[taskId]() }),
  'tasks/update': ({ taskId, inputResponses }) => {
    answers.set(taskId, inputResponses.who);
    return {};
  },
  'tasks/cancel': () => ({}),
  // The older version: questions are sent while the client waits for the result.
  'tasks/result': ({ taskId }, id) => {
    if (taskId === 'waits') return 'later';
    const { status, result, error } = STATES[taskId]();
    if (status !== 'input_required') return result ?? { error: error ?? { code: -32603, message: 'cancelled' } };
    asked.set('q1', { taskId, id });
    write({ id: 'q1', method: 'elicitation/create', params: question });
    return 'later';
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {}, result } = JSON.parse(line);
  if (method === undefined && asked.has(id)) {
    const { taskId, id: waiting } = asked.get(id);
    answers.set(taskId, result);
    return write({ id: waiting, result: STATES[taskId]().result });
  }
  if (id === undefined) return;
  appendFileSync(log, `${method} ${params.taskId ?? params.name ?? ''}\n`);
  const given = METHODS[method]?.(params, id);
  if (given === 'later') return;
  if (given === undefined) return write({ id, error: { code: -32601, message: 'Method not found' } });
  if (given.error !== undefined && given.status === undefined) return write({ id, error: given.error });
  write({ id, result: isModern ? { resultType: 'complete', ...given } : given });
});
