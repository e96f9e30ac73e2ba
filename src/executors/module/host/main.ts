// The tool host: a process of its own that loads modules, runs their tools, and says over descriptor 3 what came of it.

import { Socket } from 'node:net';
import type { Elicitation } from '../../../core/elicit.js';
import { type ErrorValue, ToolError, toToolError } from '../../../core/error.js';
import { type Output, textPart } from '../../../core/result.js';
import { scopeStore } from '../../../core/scoped-store.js';
import type { ContextStore } from '../../../core/store.js';
import { formatBytes } from '../../../core/text.js';
import type { FunctionAction, InlineModule, ModuleFiles } from '../../../core/tool.js';
import { type Collected, collectTools } from '../../../formats/module/collect.js';
import { describe } from '../../../formats/module/description.js';
import { invoke } from '../../shared/invoke.js';
import type { CallPart } from '../../shared/tool-context.js';
import { type Answer, createLineReader, type Reply, type Request } from '../protocol.js';
import { createRemoteStore } from '../remote-store.js';
import { createLoader, describeLoadError, type Exports } from './loader.js';

type RunRequest = Request & { readonly type: 'run' };

/** A call that runs here. */
interface Running {
  readonly controller: AbortController;
  readonly questions: Map<number, (answer: Answer) => void>;
}

const MAX_LINE_BYTES = 256 * 1024 * 1024;
const channel = new Socket({ fd: 3, readable: true, writable: true });
const loader = createLoader(process.argv[2]!);
const running = new Map<number, Running>();

const send = (reply: Reply): void => {
  channel.write(`${JSON.stringify(reply)}\n`);
};

const act = (request: Request): void => {
  if (request.type === 'describe') describeModule(request.id, request.source);
  else if (request.type === 'run') run(request);
  else if (request.type === 'answer')
    running.get(request.id)?.questions.get(request.question)?.(request.answer);
  else {
    send({ type: 'cancelling', id: request.id });
    running.get(request.id)?.controller.abort();
  }
};

async function describeModule(id: number, source: ModuleFiles): Promise<void> {
  try {
    const description = describe(collect(await loader.load(source), source.file));
    send({ type: 'described', id, description: JSON.parse(JSON.stringify(description)) });
  } catch (error) {
    send({
      type: 'described',
      id,
      description: { loaded: false, tools: [], findings: [{ ...describeLoadError(error) }] },
    });
  }
}

async function run(request: RunRequest): Promise<void> {
  const { id, tool, outputBytes } = request;
  const mine: Running = { controller: new AbortController(), questions: new Map() };
  running.set(id, mine);
  let output: Output;
  try {
    const body = findRun(await loader.load(request.source), request);
    const { call, store } = createCall(request, mine);
    // MOD-6: what is used after the call is an error.
    const scoped = scopeStore(store);
    output = await invoke(body, request.input, call, {
      name: tool,
      signal: () => mine.controller.signal,
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
  const reply = {
    type: 'result',
    id,
    content,
    ...(structured === undefined ? {} : { structured }),
    ...(error === undefined ? {} : { error: error.toJSON() }),
  } as const;
  const text = JSON.stringify(reply);
  if (text.length <= limit) channel.write(`${text}\n`);
  else send({ type: 'result', id, content: [], error: tooLarge(tool, text.length, limit) });
}

function tooLarge(tool: string, size: number, limit: number): ErrorValue {
  return new ToolError(
    'too_large',
    `${tool} gave ${formatBytes(size)}, and ${formatBytes(limit)} is the limit`,
    {
      hint: 'let it give less, or raise limits.output in the configuration',
    },
  ).toJSON();
}

// An export is a definition, or a function with frontmatter beside it; in a piece of code, a function alone.
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
  throw new ToolError('exec_failed', `${source.file} has no export "${name}" that is ${tool}`, {
    hint: 'call it again: what it exports depends on more than its files',
  });
}

// To publish a library's schema takes longer than most tools run.
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

function createCall(
  { id, workdir, config, asks, stores, upstreams }: RunRequest,
  { questions }: Running,
): { readonly call: CallPart; readonly store: ContextStore | null } {
  let asked = 0;
  const question = (toReply: (question: number) => Reply): Promise<Answer> =>
    new Promise((resolve) => {
      const mine = ++asked;
      questions.set(mine, (answer) => {
        questions.delete(mine);
        resolve(answer);
      });
      send(toReply(mine));
    });
  const store = createRemoteStore(async (method, args) => {
    const given = await question((mine) => ({ type: 'store', id, question: mine, method, args }));
    if ('value' in given) return given.value;
    throw toError(given);
  });
  const call: CallPart = {
    workdir,
    config,
    progress: (progress) => send({ type: 'progress', id, progress }),
    async call(ref, input) {
      const given = await question((mine) => ({
        type: 'call',
        id,
        question: mine,
        ref,
        input: input as never,
      }));
      if ('result' in given) return given.result;
      throw toError(given);
    },
    ...(upstreams
      ? {
          async remoteTools() {
            const given = await question((mine) => ({ type: 'remote-tools', id, question: mine }));
            if ('remoteTools' in given) return given.remoteTools;
            throw toError(given);
          },
        }
      : {}),
    ...(asks
      ? {
          async elicit(request: Elicitation) {
            const given = await question((mine) => ({ type: 'elicit', id, question: mine, request }));
            if ('elicited' in given) return given.elicited;
            throw toError(given);
          },
        }
      : {}),
  };
  return { call, store: stores ? store : null };
}

function toError(answer: Answer): ToolError {
  if (!('error' in answer)) return new ToolError('internal', 'an answer to another question');
  const { code, message, ...more } = answer.error;
  return new ToolError(code, message, more);
}

function toRunError(error: unknown, tool: string): ToolError {
  const thrown = toToolError(error);
  if (thrown.code !== 'internal') return thrown;
  const { message, hint } = describeLoadError(error);
  return new ToolError('exec_failed', `${tool} cannot be loaded: ${message}`, { hint });
}

// A promise that a tool forgot is that tool's fault, and no reason to end the others.
process.on('unhandledRejection', (reason) => {
  process.stderr.write(
    `a tool left a rejected promise behind: ${String((reason as Error)?.stack ?? reason)}\n`,
  );
});
channel.on(
  'data',
  createLineReader((line) => act(JSON.parse(line) as Request), MAX_LINE_BYTES),
);
// Whatever still runs here has nobody to answer any more.
channel.on('error', () => process.exit(0));
channel.on('close', () => process.exit(0));
channel.on('end', () => process.exit(0));
