// Entry point of the tool host: a process that loads modules, runs their tools, and reports over descriptor 3.

import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { ToolError, toToolError } from '../../../core/error.js';
import { type Output, textPart } from '../../../core/result.js';
import { formatBytes } from '../../../core/text.js';
import type { FunctionAction, ModuleFiles } from '../../../core/tool.js';
import { acceptHome } from '../../../files/home.js';
import { type Collected, collectExports } from '../../../formats/module/collect.js';
import { type Description, describe } from '../../../formats/module/description.js';
import { CHANNEL, createLineReader, sendLine } from '../../../process/lines.js';
import { invoke, scopeStore } from '../../shared/invoke.js';
import type { Reply, Request } from '../protocol.js';
import { createHostedCall, type HostedCall, type RunRequest } from './call-context.js';
import { describeLoadError } from './compile.js';
import { createLoader, type Exports } from './loader.js';

interface Running extends HostedCall {
  readonly controller: AbortController;
}

const cacheDirectory = process.argv[2]!;
// It is `cache/modules` of the wield home.
acceptHome(dirname(dirname(cacheDirectory)));
const loader = createLoader(cacheDirectory);
// Not a Map, whose methods a module may replace.
const running: Record<number, Running> = Object.create(null);
const log = process.stderr.write.bind(process.stderr);
// Captured before modules are loaded, which may replace them (MOD-30).
const { stringify, parse } = JSON;
const exit = process.exit.bind(process);
const MAX_LINE_BYTES = 256 * 1024 * 1024;

const handle = (request: Request): void => {
  if (request.type === 'describe') describeModule(request.id, request.source);
  else if (request.type === 'run') run(request);
  else if (request.type === 'answer') running[request.id]?.answer(request.question, request.answer);
  else {
    send({ type: 'cancelling', id: request.id });
    running[request.id]?.controller.abort();
  }
};

async function describeModule(id: number, source: ModuleFiles): Promise<void> {
  let description: Description;
  try {
    description = describe(collect(await loader.load(source), source.file));
  } catch (error) {
    description = { loaded: false, tools: [], offers: [], findings: [describeLoadError(error)] };
  }
  send({ type: 'described', id, description: parse(stringify(description)) });
}

// Answers whatever the module did to the built-ins that the steps use.
async function run(request: RunRequest): Promise<void> {
  const { id, tool } = request;
  try {
    sendResult(request, await runTool(request));
  } catch (error) {
    const message = `${tool} replaced built-in objects that its host needs: ${(error as Error)?.message}`;
    const hint = 'remove from the tool what changes JSON, Array, Promise and other built-in objects';
    // Only texts are serialized: objects may have inherited a toJSON.
    const failure = `{"code":"exec_failed","message":${stringify(message)},"hint":${stringify(hint)}}`;
    sendLine(`{"type":"result","id":${id},"content":[],"error":${failure}}`);
  }
  delete running[id];
}

async function runTool(request: RunRequest): Promise<Output> {
  const { id, tool } = request;
  try {
    const controller = new AbortController();
    const hosted = createHostedCall(request, send);
    running[id] = { ...hosted, controller };
    const body = findRun(await loader.load(request.source), request);
    // MOD-6: using the store after the call is an error.
    const scoped = scopeStore(hosted.store);
    try {
      const output = await invoke(body, request.input, hosted.call, {
        name: tool,
        config: request.config,
        workdir: request.workdir,
        controller,
        scoped,
        log: (message) => send({ type: 'log', id, message: String(message) }),
      });
      return withCause(output);
    } finally {
      scoped.end();
    }
  } catch (error) {
    return { content: [textPart('')], error: toRunError(error, tool) };
  }
}

// What `fetch` throws says why only in the cause of its cause.
function withCause(output: Output): Output {
  const thrown = output.error?.cause;
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  if (!(cause instanceof Error)) return output;
  const { code, message, hint, data } = output.error!;
  const why = cause.message || (cause as NodeJS.ErrnoException).code;
  return { ...output, error: new ToolError(code, `${message}: ${why}`, { hint, data }) };
}

function sendResult(request: RunRequest, { content, structured, error }: Output): void {
  const { id, tool, outputBytes: limit } = request;
  const text = stringify({ type: 'result', id, content, structured, error: error?.toJSON() });
  if (text.length <= limit) {
    sendLine(text);
    return;
  }
  const message = `${tool} returned ${formatBytes(text.length)}; the limit is ${formatBytes(limit)}`;
  const hint = 'return less, or raise limits.output in the configuration';
  send({ type: 'result', id, content: [], error: new ToolError('too_large', message, { hint }).toJSON() });
}

// Inline code exports a function; a file exports a definition, or a function with frontmatter.
function findRun(exports: Exports, { source, export: name, offer, tool }: RunRequest): FunctionAction['run'] {
  if ('inline' in source) {
    const value = exports[name];
    if (typeof value === 'function') return value as FunctionAction['run'];
    throw new ToolError('exec_failed', `the code of ${tool} in ${source.file} exports no function`, {
      hint: 'write export default (input, context) => …',
    });
  }
  const { tools, offers } = collect(exports, source.file);
  const found =
    offer === undefined
      ? tools.find((entry) => entry.export === name)?.tool
      : offers.find((entry) => entry.export === name)?.find(offer);
  if (found?.action.kind === 'function') return found.action.run;
  throw new ToolError(
    'exec_failed',
    `${source.file} has no export "${name}" with ${offer === undefined ? 'the tool ' : ''}${tool}`,
    {
      hint: 'call it again; its exports depend on more than its files',
    },
  );
}

// Converting a library's schema takes longer than most tools run.
const collected = new WeakMap<Exports, Collected>();
function collect(exports: Exports, file: string): Collected {
  let known = collected.get(exports);
  if (known === undefined) {
    known = collectExports(exports, file);
    collected.set(exports, known);
  }
  return known;
}

function toRunError(error: unknown, tool: string): ToolError {
  const thrown = toToolError(error);
  if (thrown.code !== 'internal') return thrown;
  const { message, hint } = describeLoadError(error);
  return new ToolError('exec_failed', `${tool} cannot be loaded: ${message}`, { hint });
}

function send(reply: Reply): void {
  sendLine(stringify(reply));
}

/** Passes requests on; the process ends with the channel. */
function listen(): void {
  const channel = new Socket({ fd: CHANNEL, readable: true, writable: false });
  channel.on(
    'data',
    createLineReader((line) => handle(parse(line) as Request), MAX_LINE_BYTES),
  );
  for (const event of ['error', 'close', 'end']) channel.on(event, () => exit(0));
}

// An unhandled rejection of one tool must not end the others.
process.on('unhandledRejection', (reason) => {
  log(`unhandled rejection in a tool: ${String((reason as Error)?.stack ?? reason)}\n`);
});
listen();
