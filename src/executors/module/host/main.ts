// Entry point of the tool host: a process that loads modules, runs their tools, and reports over descriptor 3.

import { Socket } from 'node:net';
import { type ErrorValue, ToolError, toToolError } from '../../../core/error.js';
import { type Output, textPart } from '../../../core/result.js';
import { scopeStore } from '../../../core/scoped-store.js';
import { formatBytes } from '../../../core/text.js';
import type { FunctionAction, InlineModule, ModuleFiles } from '../../../core/tool.js';
import { type Collected, collectTools } from '../../../formats/module/collect.js';
import { type Description, describe } from '../../../formats/module/description.js';
import { invoke } from '../../shared/invoke.js';
import { createLineReader, type Reply, type Request } from '../protocol.js';
import { createHostedCall, type HostedCall, type RunRequest } from './call-context.js';
import { describeLoadError } from './load-error.js';
import { createLoader, type Exports } from './loader.js';

interface Running extends HostedCall {
  readonly controller: AbortController;
}

const MAX_LINE_BYTES = 256 * 1024 * 1024;
const channel = new Socket({ fd: 3, readable: true, writable: true });
const loader = createLoader(process.argv[2]!);
const running = new Map<number, Running>();

const send = (reply: Reply): void => {
  channel.write(`${JSON.stringify(reply)}\n`);
};

const handle = (request: Request): void => {
  if (request.type === 'describe') describeModule(request.id, request.source);
  else if (request.type === 'run') run(request);
  else if (request.type === 'answer') running.get(request.id)?.answer(request.question, request.answer);
  else {
    send({ type: 'cancelling', id: request.id });
    running.get(request.id)?.controller.abort();
  }
};

async function describeModule(id: number, source: ModuleFiles): Promise<void> {
  let description: Description;
  try {
    description = describe(collect(await loader.load(source), source.file));
  } catch (error) {
    description = { loaded: false, tools: [], findings: [describeLoadError(error)] };
  }
  send({ type: 'described', id, description: JSON.parse(JSON.stringify(description)) });
}

async function run(request: RunRequest): Promise<void> {
  const { id, tool, outputBytes } = request;
  const controller = new AbortController();
  const hosted = createHostedCall(request, send);
  running.set(id, { ...hosted, controller });
  let output: Output;
  try {
    const body = findRun(await loader.load(request.source), request);
    // MOD-6: using the store after the call is an error.
    const scoped = scopeStore(hosted.store);
    output = await invoke(body, request.input, hosted.call, {
      name: tool,
      signal: () => controller.signal,
      scope: () => scoped,
      log: (message) => send({ type: 'log', id, message: String(message) }),
    }).finally(scoped.end);
  } catch (error) {
    output = { content: [textPart('')], error: toRunError(error, tool) };
  }
  running.delete(id);
  sendResult(id, tool, output, outputBytes);
}

function sendResult(id: number, tool: string, { content, structured, error }: Output, limit: number): void {
  const reply: Reply = { type: 'result', id, content, structured, error: error?.toJSON() };
  const text = JSON.stringify(reply);
  if (text.length <= limit) channel.write(`${text}\n`);
  else send({ type: 'result', id, content: [], error: tooLarge(tool, text.length, limit) });
}

function tooLarge(tool: string, size: number, limit: number): ErrorValue {
  const message = `${tool} returned ${formatBytes(size)}; the limit is ${formatBytes(limit)}`;
  return new ToolError('too_large', message, {
    hint: 'return less, or raise limits.output in the configuration',
  }).toJSON();
}

// Inline code exports a function; a file exports a definition, or a function with frontmatter.
function findRun(exports: Exports, { source, export: name, tool }: RunRequest): FunctionAction['run'] {
  if (isInline(source)) {
    const value = exports[name];
    if (typeof value === 'function') return value as FunctionAction['run'];
    throw new ToolError('exec_failed', `the code of ${tool} in ${source.file} exports no function`, {
      hint: 'write export default (input, context) => …',
    });
  }
  const found = collect(exports, source.file).tools.find((entry) => entry.export === name);
  if (found?.tool.action.kind === 'function') return found.tool.action.run;
  throw new ToolError('exec_failed', `${source.file} has no export "${name}" with the tool ${tool}`, {
    hint: 'call it again; its exports depend on more than its files',
  });
}

// Converting a library's schema takes longer than most tools run.
const collected = new WeakMap<Exports, Collected>();
function collect(exports: Exports, file: string): Collected {
  let known = collected.get(exports);
  if (known === undefined) {
    known = collectTools(exports, file);
    collected.set(exports, known);
  }
  return known;
}

function isInline(source: ModuleFiles | InlineModule): source is InlineModule {
  return 'inline' in source;
}

function toRunError(error: unknown, tool: string): ToolError {
  const thrown = toToolError(error);
  if (thrown.code !== 'internal') return thrown;
  const { message, hint } = describeLoadError(error);
  return new ToolError('exec_failed', `${tool} cannot be loaded: ${message}`, { hint });
}

// An unhandled rejection of one tool must not end the others.
process.on('unhandledRejection', (reason) => {
  process.stderr.write(`unhandled rejection in a tool: ${String((reason as Error)?.stack ?? reason)}\n`);
});
channel.on(
  'data',
  createLineReader((line) => handle(JSON.parse(line) as Request), MAX_LINE_BYTES),
);
// Without the channel no result can be delivered.
channel.on('error', () => process.exit(0));
channel.on('close', () => process.exit(0));
channel.on('end', () => process.exit(0));
