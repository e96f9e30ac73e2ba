// Runs a query in a child process with limits on time, memory and output.

import { createSemaphore } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { formatBytes, formatDuration, quoteOutside } from '../../core/text.js';
import { findEntry } from '../../process/entry.js';
import { findLimiter, limitLauncher, searchPath } from '../../process/environment.js';
import type { ProcessOutcome } from '../../process/request.js';
import { runProcess } from '../../process/spawn.js';

export interface QueryOptions {
  readonly world: World;
  /** Called before each process start. */
  readonly beforeRun?: () => void;
}

/** An expression and its document, which is a file or bytes. */
export interface QueryRequest {
  readonly expression: string;
  readonly size: number;
  readonly file?: string | undefined;
  readonly bytes: () => Uint8Array;
  readonly signal: AbortSignal;
}

export interface QueryResult {
  readonly type: string;
  readonly count?: number;
  /** The result as JSON; undefined if there is none. */
  readonly json?: Buffer;
}

const MEGABYTE = 1024 * 1024;
export const MAX_DOCUMENT_BYTES = 256 * MEGABYTE;
const MAX_RESULT_BYTES = 64 * MEGABYTE;
// For the expression itself, in addition to starting and reading the document.
const EVALUATION_MS = 5000;
const START_MS = 1000;
const READ_MS_PER_MEGABYTE = 50;
// V8 aborts when its heap is full; the operating system kills when memory is.
const OUT_OF_MEMORY = new Set<string>(['SIGABRT', 'SIGKILL', 'SIGTRAP', 'SIGILL']);
const MAX_HEAP_MEGABYTES = 4096;
// Each uses a core and possibly much memory.
const MAX_CONCURRENT = 2;
// Ends a query if this process is killed. Includes the threads of the engine.
const CPU_SECONDS_PER_SECOND = 4;

/** Returns a function that runs queries, two at a time. */
export function createQueryRunner(options: QueryOptions): (request: QueryRequest) => Promise<QueryResult> {
  const slots = createSemaphore(MAX_CONCURRENT);
  return async (request) => {
    const release = await slots.acquire();
    try {
      return readResult(await run(request, options), heapMegabytes(request.size));
    } finally {
      release();
    }
  };
}

function heapMegabytes(size: number): number {
  return Math.min(MAX_HEAP_MEGABYTES, 384 + Math.ceil((size / MEGABYTE) * 14));
}

async function run(request: QueryRequest, { world, beforeRun }: QueryOptions): Promise<ProcessOutcome> {
  const { expression, size, file, bytes, signal } = request;
  const timeoutMs = START_MS + EVALUATION_MS + Math.ceil((size / MEGABYTE) * READ_MS_PER_MEGABYTE);
  const header = JSON.stringify({ expression, file });
  const cpuSeconds = Math.ceil((timeoutMs / 1000) * CPU_SECONDS_PER_SECOND);
  const limiter = (): string | undefined => findLimiter(world.platform, searchPath(world));
  beforeRun?.();
  return runProcess(
    {
      argv: [
        ...limitLauncher({ outputBytes: MAX_RESULT_BYTES, cpuSeconds }, limiter),
        process.execPath,
        `--max-old-space-size=${heapMegabytes(size)}`,
        // Expressions can name any key; these two ensure that none gives access to code.
        '--disable-proto=delete',
        '--disallow-code-generation-from-strings',
        findEntry('query/main.cjs'),
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
  readonly fault?: QueryFault;
}

interface QueryFault {
  readonly kind: 'io' | 'not_json' | 'syntax' | 'evaluation' | 'too_large';
  readonly code?: string;
  readonly message: string;
  readonly position?: number;
}

function readResult(outcome: ProcessOutcome, heap: number): QueryResult {
  const { ending, exitCode, signal, stdout, stderr } = outcome;
  if (ending === 'timeout') {
    throw new ToolError('timeout', `the expression took longer than ${formatDuration(EVALUATION_MS)}`, {
      hint: 'filter before sorting or joining',
      data: { timeoutMs: EVALUATION_MS },
    });
  }
  if (ending === 'cancelled')
    throw new ToolError('cancelled', 'the query was cancelled', { hint: 'call it again if needed' });
  if (ending === 'capped') throw tooLarge(`its result exceeds ${formatBytes(MAX_RESULT_BYTES)}`);
  if (exitCode !== 0) {
    if (signal !== null && OUT_OF_MEMORY.has(signal)) throw tooLarge(`it needs more than ${heap} MiB of memory`);
    const output = quoteOutside(stderr.toString('utf8').trim().split('\n').at(-1) ?? '', 200);
    throw new ToolError('internal', `the query exited with ${signal ?? exitCode}: ${output}`, {
      hint: 'this is a bug in wield; report the expression',
    });
  }
  const end = stdout.indexOf(0x0a);
  const { type = 'undefined', count, fault } = JSON.parse(stdout.toString('utf8', 0, end)) as Header;
  if (fault !== undefined) throw toError(fault);
  return { type, count, json: type === 'undefined' ? undefined : stdout.subarray(end + 1) };
}

function toError({ kind, code, message, position }: QueryFault): ToolError {
  const at = position === undefined ? '' : ` at character ${position}`;
  const data = { code, position };
  switch (kind) {
    case 'io':
      return new ToolError('io', `could not read the document: ${quoteOutside(message)}`, {
        hint: 'try again, or write the document again',
      });
    case 'not_json':
      return new ToolError('invalid_input', `the document is not JSON: ${quoteOutside(message)}`, {
        hint: 'search it for words, or read its lines, instead',
        data,
      });
    case 'syntax':
      // Includes the reference, which the caller would request next (CTX-32).
      return new ToolError('invalid_input', `invalid expression${at}: ${quoteOutside(message)}`, {
        hint: QUERY_REFERENCE,
        data,
      });
    case 'evaluation':
      return new ToolError('invalid_input', `the expression failed${at}: ${quoteOutside(message, 300)}`, {
        hint: 'the expression "?" returns a syntax reference',
        data,
      });
    case 'too_large':
      return tooLarge(quoteOutside(message));
  }
}

function tooLarge(why: string): ToolError {
  return new ToolError('too_large', `the expression was stopped: ${why}`, {
    hint: 'filter first, or request a smaller result',
  });
}

/** The short JSONata reference for callers who request it or send a malformed expression (CTX-32). */
export const QUERY_REFERENCE = `JSONata in short. $ is the document (or the current item), $$ always the document.

Paths       a.b.c   items.name (of every item)   *  (every field)   **.id  (at any depth)   \`odd name\`
Filter      $[amount > 100]   items[status = "open" and amount >= 5]   items[0]   items[-1]   items[[0..9]]
Pluck       $.{ "id": id, "subject": subject }
Group       \${ $substring(ts,0,10): $count($) }   \${ country: $sum(amount) }
Sort        $^(>created)   (> descending, < ascending)   $^(name, >amount)[[0..9]]
Operators   + - * / %   &  (joins text)   = != < <= > >=   in   and or   cond ? a : b   [1..5]
Numbers     $sum $count $max $min $average $round $abs $floor $ceil $power $sqrt $number
Text        $string $length $substring $substringBefore $substringAfter $uppercase $lowercase $trim $pad
            $contains $split $join $replace $match   (regular expressions: /^re/i)
Arrays      $append $distinct $reverse $sort $zip $shuffle   $map(x, function($v, $i) {…})   $filter   $reduce
Objects     $keys $lookup $merge $spread $each $sift $type $exists
Dates       $toMillis("2026-11-15T00:00:00Z")   $fromMillis(ms, "[Y0001]-[M01]-[D01]")
Variables   ( $x := items[0]; $f := function($n) { $n * 2 }; $f($x.amount) )

A missing field gives no result and no error. One match is a value, several are an array; path[] is always an array.
`;
