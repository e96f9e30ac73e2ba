// Compiles programs to JavaScript, in a thread: what a model writes can take the compiler hours, or leave it unusable (COD-9).

import { createRequire } from 'node:module';
import type { Worker } from 'node:worker_threads';
import { createSemaphore } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import { syntaxError } from './errors.js';

const MAX_CHARACTERS = 256 * 1024;
// A comment at the end of the code with the line of the program for each line of the code, if they differ.
const LINES = '\n//# lines=';

/** Returns an expression whose value is the function. Throws `invalid_input` with the line of a syntax error. */
export async function toSource(code: string): Promise<string> {
  if (code.length > MAX_CHARACTERS) {
    throw new ToolError('too_large', `the program is longer than ${MAX_CHARACTERS / 1024}k characters`, {
      hint: 'pass data by tools and handles instead of writing it into the program',
    });
  }
  const compiled = await compile(`(async () => {${code}\n})`);
  // Also if no line changed: a program may end with such a comment of its own.
  if ('code' in compiled) return `${compiled.code}${LINES}${compiled.lines ?? ''}`;
  if ('fault' in compiled) {
    const { message = 'syntax error', startLine } = compiled.fault;
    // The end of a program that misses something is found in the line after it.
    throw syntaxError(message, startLine && Math.min(startLine, code.split('\n').length));
  }
  throw new ToolError(
    'too_large',
    compiled.failure === 'slow' ? 'the program takes too long to compile' : 'the program is nested too deeply',
    { hint: 'write it with fewer nested types and expressions' },
  );
}

export function toProgramLine(source: string, line: number): number {
  const lines = source.slice(source.lastIndexOf(LINES) + LINES.length).split(',');
  return Number(lines[line - 1] || line);
}

type Compiled =
  /** `lines`: the line of the text for each line of the code, if they differ. */
  | { readonly code: string; readonly lines?: readonly number[] }
  /** What the compiler found wrong. */
  | { readonly fault: { readonly message?: string; readonly startLine?: number } }
  /** Why there is no answer. */
  | { readonly failure: 'slow' | 'deep' };

// Processor time to load the compiler; a program of the largest size then takes less than a tenth of a second.
const START_MS = 60_000;
const COMPILE_MS = 3000;
const CHECK_MS = 100;
// Further programs wait: a thread for each takes longer for all of them.
const THREADS = 4;

// Keeps lines and columns if it can; enums, for example, are not types and need the other mode. The compiler throws
// objects; an Error is one of its WebAssembly, whose memory cannot be used after it.
const THREAD = `
const { SourceMap } = require('node:module');
const { parentPort, workerData } = require('node:worker_threads');
const { transformSync } = require(workerData);
const linesOf = (code, map) => {
  const known = new SourceMap(JSON.parse(map));
  return code.split('\\n').map((line, at) => (known.findEntry(at, line.search(/\\S|$/)).originalLine ?? at) + 1);
};
const compile = (text, mode) => {
  try {
    const { code, map } = transformSync(text, { mode, module: true, sourceMap: mode === 'transform' });
    return map === undefined ? { code } : { code, lines: linesOf(code, map) };
  } catch (error) {
    if (error instanceof Error) return { failure: 'deep' };
    return { fault: { message: error?.message, startLine: error?.startLine } };
  }
};
parentPort.on('message', (text) => {
  const stripped = compile(text, 'strip-only');
  parentPort.postMessage(stripped.fault === undefined ? stripped : compile(text, 'transform'));
});
parentPort.postMessage({});`;

const threads = createSemaphore(THREADS);
let running = 0;
// One that waits for the next program; programs at the same time have threads of their own.
let idle: Worker | undefined;

// The thread is used again unless it failed.
async function compile(text: string): Promise<Compiled> {
  const release = await threads.acquire();
  running++;
  try {
    const known = idle;
    idle = undefined;
    const worker = known ?? start();
    worker.ref();
    if (known === undefined) await answerOf(worker, START_MS);
    worker.postMessage(text);
    const compiled = await answerOf(worker, COMPILE_MS);
    if ('failure' in compiled || idle !== undefined) void worker.terminate();
    else {
      idle = worker;
      worker.unref();
    }
    return compiled;
  } finally {
    running--;
    release();
  }
}

function start(): Worker {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const workerData = createRequire(import.meta.url).resolve('@swc/wasm-typescript');
  // Its end is noticed by `exit`.
  return new Worker(THREAD, { eval: true, workerData, env: {}, execArgv: [], argv: [] }).on('error', () => {});
}

// Node does not say how much processor time a thread has used, so it is the share of the threads that compile in that of
// the process. On a slow or busy machine a program takes longer, and does not fail (COD-9).
function answerOf(worker: Worker, patienceMs: number): Promise<Compiled> {
  return new Promise((resolve) => {
    let used = 0;
    let last = process.cpuUsage();
    let at = performance.now();
    const settle = (compiled: Compiled): void => {
      clearInterval(timer);
      worker.off('message', settle).off('exit', onEnd);
      resolve(compiled);
    };
    const onEnd = (): void => settle({ failure: 'deep' });
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(last);
      used += Math.min(performance.now() - at, (user + system) / 1000 / running);
      last = process.cpuUsage();
      at = performance.now();
      if (used > patienceMs) settle({ failure: 'slow' });
    }, CHECK_MS);
    worker.on('message', settle).on('exit', onEnd);
  });
}
