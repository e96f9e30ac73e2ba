// The program of a first start: runs a process for wield, and without it until the process has answered once.

import { deferred, onAbort } from '../core/async.js';
import type { World } from '../core/snapshot.js';
import { settlesWithin } from '../core/time-limit.js';
import { isLocked, withLock } from '../files/lock.js';
import { type PipedCompanion, startPiped } from './companion.js';
import type { FirstStart } from './first-start.js';

// Asked if wield is gone: a server may not have answered what wield asked, or wait for more.
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'first-start',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wield', version: '0' } },
};
const GRACE_MS = 500;
const DRAIN_MS = 200;
// A longer line is an answer, whatever it is.
const MAX_LINE = 1024 * 1024;
const NOT_STARTED = 126;

const world: World = {
  env: {},
  home: undefined,
  platform: process.platform,
  now: Date.now,
  monotonic: () => performance.now(),
  debug: () => {},
  debugging: false,
};
const input = process.stdin;
// Wield is gone.
const left = new AbortController();

async function main(): Promise<void> {
  const first = await readFirst();
  const waiting: Buffer[] = [];
  const keep = (chunk: Buffer): unknown => waiting.push(chunk);
  input.on('data', keep);
  for (const event of ['end', 'error'] as const) input.once(event, () => left.abort());
  // Another one does it: without wield there is nothing to wait for.
  const isSecond = isLocked(first.lock);
  await withLockFor(first.lock, isSecond, async () => {
    if (left.signal.aborted && isSecond) process.exit();
    const companion = await startPiped(first.request, world).catch((error: Error) => {
      process.stderr.write(`${error.message}\n`);
      process.exit(NOT_STARTED);
    });
    process.once('SIGTERM', () => {
      companion.kill();
      process.exit(128 + 15);
    });
    const answered = run(companion, first.limitMs);
    input.off('data', keep);
    companion.stdin.write(Buffer.concat(waiting));
    input.pipe(companion.stdin, { end: false });
    await answered;
  });
}

// Passes on what both write. Resolves when the process has answered or ended.
async function run(companion: PipedCompanion, limitMs: number): Promise<void> {
  const answered = deferred<void>();
  let hasAnswered = false;
  const finish = async (): Promise<void> => {
    companion.stdin.end();
    if (await settlesWithin(companion.ended, GRACE_MS)) return;
    process.kill(companion.pid, 'SIGTERM');
    if (!(await settlesWithin(companion.ended, GRACE_MS))) companion.kill();
  };
  // Keeps this process alive, too.
  const limit = setTimeout(() => {
    if (left.signal.aborted) void finish();
  }, limitMs);
  const leave = (): void => {
    if (hasAnswered) void finish();
    else companion.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  };
  let line = '';
  const look = (chunk: Buffer): void => {
    line += chunk.toString('utf8');
    const lines = line.split('\n');
    line = lines.pop()!;
    if (!lines.some(isMessage) && line.length < MAX_LINE) return;
    hasAnswered = true;
    companion.stdout.off('data', look);
    answered.resolve();
    if (left.signal.aborted) void finish();
  };
  companion.stdout.on('data', look);
  for (const [from, to] of [
    [companion.stdout, process.stdout],
    [companion.stderr, process.stderr],
  ] as const) {
    from.pipe(to, { end: false });
    // Wield no longer reads it: the process must not notice.
    to.on('error', () => {
      from.unpipe(to);
      from.resume();
    });
  }
  onAbort(left.signal, leave);
  companion.ended.then(async ({ code, signal }) => {
    clearTimeout(limit);
    answered.resolve();
    const ends = [companion.stdout, companion.stderr].map((pipe) => new Promise((done) => pipe.once('close', done)));
    await settlesWithin(Promise.all(ends), DRAIN_MS);
    // The lock is released first.
    setImmediate(() => {
      if (signal !== null) process.kill(process.pid, signal as NodeJS.Signals);
      process.exit(code ?? 1);
    });
  });
  await answered.promise;
}

// A first start may take longer than a lock is waited for.
async function withLockFor(directory: string, isSecond: boolean, work: () => Promise<void>): Promise<void> {
  let hasBegun = false;
  const begin = (): Promise<void> => {
    hasBegun = true;
    return work();
  };
  for (;;) {
    try {
      return await withLock(
        directory,
        { doing: 'starting a server', ...(isSecond ? { signal: left.signal } : {}) },
        begin,
      );
    } catch (error) {
      if (left.signal.aborted || hasBegun) process.exit(NOT_STARTED);
      if ((error as { code?: string }).code !== 'busy') throw error;
    }
  }
}

function isMessage(line: string): boolean {
  return line.trimStart().startsWith('{') && line.includes('"jsonrpc"');
}

// The first line; the rest of its chunk is read again.
async function readFirst(): Promise<FirstStart> {
  let read = Buffer.alloc(0);
  for await (const chunk of input.iterator({ destroyOnReturn: false })) {
    read = Buffer.concat([read, chunk as Buffer]);
    const end = read.indexOf(0x0a);
    if (end === -1) continue;
    input.unshift(read.subarray(end + 1));
    return JSON.parse(read.toString('utf8', 0, end)) as FirstStart;
  }
  process.exit();
}

void main();
