// Runs the CLI: its sources in this process, or the binary as a child process.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Io, Output, Signal } from '../../src/cli/io.js';
import { binary } from './built.js';
import { copyCompiledCode } from './compiled-code.js';
import type { Workspace } from './workspace.js';

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly stdin?: string;
  readonly env?: Record<string, string | undefined>;
  readonly cwd?: string;
}

export interface InProcessOptions extends CliOptions {
  /** The file of the command, by default that of the build. */
  readonly binary?: string;
  readonly now?: () => number;
  /** Standard input, instead of a text. */
  readonly input?: Readable;
  /** Called with everything that is written to standard output. */
  readonly onOutput?: (chunk: Uint8Array) => void;
}

/** An `Io` without terminals whose output is collected. */
export interface CollectedIo {
  readonly io: Io;
  stdout(): string;
  stderr(): string;
  /** Sends a signal to the command. */
  signal(name: Signal): void;
}

export function createIo(workspace: Pick<Workspace, 'dir' | 'env'>, options: InProcessOptions = {}): CollectedIo {
  const stdout = createOutput(options.onOutput);
  const stderr = createOutput();
  const listeners: ((name: Signal) => boolean)[] = [];
  const { stdin = '' } = options;
  const input = options.input ?? Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]);
  const io: Io = {
    stdin: { isTerminal: false, stream: () => input },
    stdout: stdout.output,
    stderr: stderr.output,
    env: { ...workspace.env, ...options.env },
    cwd: () => options.cwd ?? workspace.dir,
    now: options.now ?? (() => Date.now()),
    binary: options.binary ?? join(import.meta.dirname, '../../dist/cli/wield.cjs'),
    onSignal: (listener) => listeners.push(listener),
    reserveStdout: () => {},
  };
  return {
    io,
    stdout: stdout.text,
    stderr: stderr.text,
    signal: (name) => {
      for (const listener of listeners) listener(name);
    },
  };
}

function createOutput(onOutput: (chunk: Uint8Array) => void = () => {}): { output: Output; text(): string } {
  const chunks: Uint8Array[] = [];
  const add = (chunk: Uint8Array): void => {
    chunks.push(chunk);
    onOutput(chunk);
  };
  return {
    text: () => Buffer.concat(chunks).toString('utf8'),
    output: {
      isTerminal: false,
      columns: undefined,
      write: (text) => add(Buffer.from(text)),
      writeAsync: async (bytes) => add(Buffer.from(bytes)),
    },
  };
}

/** Runs `wield ...args` in this process. Not for `wield` and `wield --help` alone, which the binary answers itself. */
export async function wield(
  workspace: Pick<Workspace, 'dir' | 'env'>,
  args: readonly string[],
  options: InProcessOptions = {},
): Promise<CliRun> {
  const { io, stdout, stderr } = createIo(workspace, options);
  const status = await runCommand(args, io);
  return { status, stdout: stdout(), stderr: stderr() };
}

/** Runs a command in this process. */
export async function runCommand(args: readonly string[], io: Io): Promise<number> {
  const { run } =
    args[0] === '__complete' ? await import('../../src/cli/complete.js') : await import('../../src/cli/run.js');
  return run(args, io);
}

/** Runs `wield ...args` as a child process: for tests of signals, pipes, start-up and exit. */
export function wieldProcess(
  workspace: Pick<Workspace, 'dir' | 'env'>,
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliRun> {
  // Throws at once if the build is stale: a test may wait for what the command does, and not for the command.
  const file = binary();
  copyCompiledCode(workspace.env.WIELD_HOME);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], {
      cwd: options.cwd ?? workspace.dir,
      env: { ...workspace.env, ...options.env },
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.once('error', reject);
    child.once('close', (status) =>
      resolve({
        status,
        stdout: Buffer.concat(stdout).toString('utf8'),
        stderr: Buffer.concat(stderr).toString('utf8'),
      }),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
  });
}

/** Parses the JSON document that `--json` prints. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into documents whose shape they are there to prove
export function json(run: CliRun): any {
  return JSON.parse(run.stdout);
}
