// The `Io` of this process.

import { fstatSync, type Stats, statSync, write, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { exitStatus, orNothing } from '../core/error.js';
import type { Io, Output, Signal } from './io.js';

const SIGNALS: readonly Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export function createProcessIo(): Io {
  return {
    stdin: {
      get isTerminal() {
        return isTerminal(0);
      },
      stream: () => process.stdin,
    },
    stdout: createOutput(1),
    stderr: createOutput(2),
    env: process.env,
    cwd: () => process.cwd(),
    now: () => Date.now(),
    binary: process.argv[1]!,
    onSignal,
    onFault,
    reserveStdout() {
      process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
    },
  };
}

function createOutput(descriptor: 1 | 2): Output {
  // Only on demand: creating a stream loads its module, and makes a pipe non-blocking.
  const stream = () => (descriptor === 1 ? process.stdout : process.stderr);
  // Asked once, because it takes several system calls.
  let send: ((bytes: Uint8Array) => Promise<void>) | undefined;
  return {
    get isTerminal() {
      return isTerminal(descriptor);
    },
    get columns() {
      return isTerminal(descriptor) ? stream().columns : undefined;
    },
    write: (text) => writeAll(descriptor, text),
    // A blocked write would delay the exit of this process, so a pipe must be non-blocking, which its stream makes it.
    // Only a terminal needs the threads that Node starts for asynchronous writes (1 ms).
    async writeAsync(bytes) {
      send ??= chooseWrite(descriptor, stream);
      await send(bytes);
    },
  };
}

function chooseWrite(descriptor: 1 | 2, stream: () => { readonly fd: number }): (bytes: Uint8Array) => Promise<void> {
  if (isTerminal(descriptor)) return (bytes) => writeInThread(stream().fd, bytes);
  const target = isFile(descriptor) ? descriptor : stream().fd;
  return (bytes) => writeAvailable(target, bytes);
}

// node:tty loads sockets and streams (6 ms); a pipe, a file and /dev/null are recognised without it.
function isTerminal(descriptor: 0 | 1 | 2): boolean {
  const stats = orNothing(() => fstatSync(descriptor));
  if (!stats?.isCharacterDevice() || isNull(stats)) return false;
  return process.getBuiltinModule('node:tty').isatty(descriptor);
}

function isFile(descriptor: 1 | 2): boolean {
  const stats = orNothing(() => fstatSync(descriptor));
  return stats !== undefined && (stats.isFile() || isNull(stats));
}

function isNull(stats: Stats): boolean {
  return stats.isCharacterDevice() && stats.rdev === statSync('/dev/null').rdev;
}

function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(descriptor, bytes, offset);
    } catch (error) {
      // The reader of a non-blocking pipe is slow: wait without spinning.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
      else if (descriptor === 2) return;
      else throw error;
    }
  }
}

async function writeAvailable(descriptor: number, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(descriptor, bytes, offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

function writeInThread(descriptor: number, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (offset: number): void => {
      write(descriptor, bytes, offset, (error, written) => {
        if (error?.code === 'EAGAIN') setTimeout(next, 5, offset);
        else if (error) reject(error);
        else if (offset + written < bytes.length) next(offset + written);
        else resolve();
      });
    };
    next(0);
  });
}

// Rejections that nobody handled arrive here too.
function onFault(listener: (error: unknown) => boolean): void {
  process.on('uncaughtException', (error) => {
    if (!listener(error)) process.exit(exitStatus('internal'));
  });
}

// The first signal stops the command, a second one ends the process (CLI-10).
function onSignal(listener: (signal: Signal) => boolean): void {
  let signalled = false;
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (signalled) process.exit(128 + constants.signals[name]);
      signalled = listener(name);
    });
  }
}
