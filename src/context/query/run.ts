// Runs an expression in a process of its own, under limits that hold from outside, and reads what became of it.

import { ToolError } from '../../core/error.js';
import { formatBytes, formatDuration, quoteOutside } from '../../core/text.js';
import type { World } from '../../core/world.js';
import { searchPath } from '../../process/environment.js';
import { findLimiter, limitLauncher } from '../../process/limits.js';
import type { ProcessOutcome } from '../../process/request.js';
import { QUERY_REFERENCE } from '../tools/query-reference.js';

export interface QueryOptions {
  readonly world: World;
  /** The program of the process. */
  readonly entry: () => string;
  /** Called before a process is started. */
  readonly beforeRun?: () => void;
}

/** What is asked: a document by the file it lies in, or by its bytes. */
export interface Question {
  readonly expression: string;
  readonly size: number;
  readonly file?: string | undefined;
  readonly bytes: () => Uint8Array;
  readonly signal: AbortSignal;
}

export interface QueryAnswer {
  readonly type: string;
  readonly count?: number;
  /** The result as JSON; undefined where there is none. */
  readonly json?: Buffer;
}

const MEGABYTE = 1024 * 1024;
/** What a document may have, and a result. */
export const MAX_DOCUMENT_BYTES = 256 * MEGABYTE;
const MAX_RESULT_BYTES = 64 * MEGABYTE;
// For the expression itself; to start and to read the document comes on top, by its size.
const EVALUATION_MS = 5000;
const START_MS = 1000;
const READ_MS_A_MEGABYTE = 50;
const MAX_HEAP_MEGABYTES = 4096;
// Each takes a core and may take much memory.
const MAX_AT_ONCE = 2;
// Should we be killed, the system ends an endless one; its own threads count too.
const CPU_SECONDS_A_SECOND = 4;

/** Gives a function that answers one question after the other, two at once. */
export function createQueryRunner(options: QueryOptions): (question: Question) => Promise<QueryAnswer> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const enter = async (): Promise<void> => {
    if (running < MAX_AT_ONCE) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  };
  return async (question) => {
    await enter();
    try {
      return readAnswer(await run(question, options), heapMegabytes(question.size));
    } finally {
      leave();
    }
  };
}

function heapMegabytes(size: number): number {
  return Math.min(MAX_HEAP_MEGABYTES, 384 + Math.ceil((size / MEGABYTE) * 14));
}

async function run(question: Question, { world, entry, beforeRun }: QueryOptions): Promise<ProcessOutcome> {
  const { expression, size, file, bytes, signal } = question;
  const { runProcess } = await import('../../process/spawn.js');
  const timeoutMs = START_MS + EVALUATION_MS + Math.ceil((size / MEGABYTE) * READ_MS_A_MEGABYTE);
  const header = JSON.stringify({ expression, ...(file === undefined ? {} : { file }) });
  const cpuSeconds = Math.ceil((timeoutMs / 1000) * CPU_SECONDS_A_SECOND);
  const limiter = (): string | undefined => findLimiter(world.platform, searchPath(world));
  beforeRun?.();
  return runProcess(
    {
      argv: [
        ...limitLauncher({ outputBytes: MAX_RESULT_BYTES, cpuSeconds }, limiter),
        process.execPath,
        `--max-old-space-size=${heapMegabytes(size)}`,
        // An expression can name any key; none of them leads to code, and these two make sure of it.
        '--disable-proto=delete',
        '--disallow-code-generation-from-strings',
        entry(),
      ],
      cwd: '/',
      environment: {},
      stdin: file === undefined ? `${header}\n${Buffer.from(bytes()).toString('utf8')}` : `${header}\n`,
      timeoutMs,
      outputBytes: MAX_RESULT_BYTES,
      signal,
    },
    world,
  );
}

interface Header {
  readonly type?: string;
  readonly count?: number;
  readonly fault?: Fault;
}

interface Fault {
  readonly kind: 'io' | 'not_json' | 'syntax' | 'evaluation' | 'too_deep' | 'too_large';
  readonly code?: string;
  readonly message: string;
  readonly position?: number;
}

function readAnswer(outcome: ProcessOutcome, heap: number): QueryAnswer {
  const { ending, exitCode, signal, stdout, stderr } = outcome;
  if (ending === 'timeout') {
    throw new ToolError('timeout', `the expression did not end within ${formatDuration(EVALUATION_MS)}`, {
      hint: 'filter before you sort or join, or write a part to output_path and go on from there',
      data: { timeoutMs: EVALUATION_MS },
    });
  }
  if (ending === 'cancelled') {
    throw new ToolError('cancelled', 'the query was cancelled', {
      hint: 'call it again if that was not meant',
    });
  }
  if (ending === 'capped') throw tooLarge(`its result is over ${formatBytes(MAX_RESULT_BYTES)}`);
  if (exitCode !== 0) {
    // The engine gives up by aborting where its heap is full; the system kills where memory is.
    const full = /heap|memory|allocation/i.test(stderr.toString('latin1')) || signal === 'SIGKILL';
    if (full) throw tooLarge(`it needs more memory than ${heap} MiB`);
    const said = quoteOutside(stderr.toString('utf8').trim().split('\n').at(-1) ?? '', 200);
    throw new ToolError('internal', `the query ended with ${signal ?? exitCode}: ${said}`, {
      hint: 'this is a fault in wield; report the expression',
    });
  }
  const end = stdout.indexOf(0x0a);
  const { type = 'undefined', count, fault } = JSON.parse(stdout.toString('utf8', 0, end)) as Header;
  if (fault !== undefined) throw toError(fault);
  return {
    type,
    ...(count === undefined ? {} : { count }),
    ...(type === 'undefined' ? {} : { json: stdout.subarray(end + 1) }),
  };
}

function toError({ kind, code, message, position }: Fault): ToolError {
  const at = position === undefined ? '' : ` at character ${position}`;
  const data = { ...(code === undefined ? {} : { code }), ...(position === undefined ? {} : { position }) };
  switch (kind) {
    case 'io':
      return new ToolError('io', `the document cannot be read: ${quoteOutside(message)}`, {
        hint: 'try again, or write it anew',
      });
    case 'not_json':
      return new ToolError('invalid_input', `the document is not JSON: ${quoteOutside(message)}`, {
        hint: 'context_read shows it, context_search finds words in it',
        data,
      });
    case 'syntax':
      // Whoever wrote it needs the syntax, and would have to ask for it next (CTX-32).
      return new ToolError('invalid_input', `the expression is malformed${at}: ${quoteOutside(message)}`, {
        hint: `mend it there. ${QUERY_REFERENCE}`,
        data,
      });
    case 'evaluation':
      return new ToolError('invalid_input', `the expression failed${at}: ${quoteOutside(message, 300)}`, {
        hint: 'expression: "?" explains the syntax; context_read shows the document',
        data,
      });
    case 'too_deep':
      return tooLarge('it goes too deep');
    case 'too_large':
      return tooLarge(quoteOutside(message));
  }
}

function tooLarge(why: string): ToolError {
  return new ToolError('too_large', `the expression was given up: ${why}`, {
    hint: 'filter first, or ask for less of it',
  });
}
