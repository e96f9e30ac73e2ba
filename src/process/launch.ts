// Waits until the launcher that marks a process has become its program, and reports why it could not.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { readProcText } from './tool-mark.js';

/** The code of an error if the system does not let the launcher set the mark. */
export const CANNOT_MARK = 'CANNOT_MARK';

const POLL_MS = 1;
// Only if another process of the program keeps the pipe open.
const REPORT_MS = 1000;
// A process that is about to end shows nothing for a moment; a program may show nothing at all.
const MOST_EMPTY = 200;
// The messages of glibc and musl. Only those whose cause the user can remove, or that pass.
const CODES: ReadonlyMap<string, string> = new Map([
  ['Permission denied', 'EACCES'],
  ['Argument list too long', 'E2BIG'],
  ['Exec format error', 'ENOEXEC'],
  ['Too many levels of symbolic links', 'ELOOP'],
  ['Symbolic link loop', 'ELOOP'],
  ['Text file busy', 'ETXTBSY'],
  ['Resource temporarily unavailable', 'EAGAIN'],
  ['Cannot allocate memory', 'ENOMEM'],
  ['Out of memory', 'ENOMEM'],
]);

/** Resolves when the launcher of this name is gone. Throws like spawn() if it could not start the program. */
export async function launched(child: ChildProcess, name: string): Promise<void> {
  // Node drops the output of a process that has ended, unless someone reads it.
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  for (const stream of outputs) stream.on('readable', ignore);
  try {
    for (let empty = 0; !hasEnded(child) && empty < MOST_EMPTY; ) {
      const command = readCommand(child.pid!);
      if (command !== '' && !command.startsWith(name)) break;
      if (command === '') empty++;
      await pause(POLL_MS);
    }
    if (child.exitCode) await assertLaunched(child, name, child.exitCode);
  } finally {
    for (const stream of outputs) stream.off('readable', ignore);
  }
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

// The program may have ended with the same status before it was seen.
async function assertLaunched({ stderr, stdio }: ChildProcess, name: string, status: number): Promise<void> {
  const report = stderr === null ? '' : await peek(stderr);
  if (!report.startsWith(name)) return;
  for (const stream of stdio) stream?.destroy();
  const reason = report.slice(report.lastIndexOf(': ') + 2).trim();
  const code = status === 127 ? 'ENOENT' : status === 126 ? CODES.get(reason) : CANNOT_MARK;
  throw Object.assign(new Error(reason), { code });
}

// What the process wrote is there, or the end of its output, unless it wrote nothing and another one keeps the pipe open.
async function peek(stream: Readable): Promise<string> {
  if (stream.readableLength === 0 && !stream.closed)
    await Promise.race([once(stream, 'readable'), once(stream, 'close'), pause(REPORT_MS)]);
  await new Promise((resolve) => setImmediate(resolve));
  const chunk = stream.read() as Buffer | null;
  if (chunk === null) return '';
  stream.unshift(chunk);
  return chunk.toString('utf8');
}

// Empty if the process has ended, which is reported next.
function readCommand(pid: number): string {
  try {
    return readProcText(`/proc/${pid}/cmdline`);
  } catch {
    return '';
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function ignore(): void {}
