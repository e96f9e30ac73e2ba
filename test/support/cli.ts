// Runs the built CLI, in this process or as a child process.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Io, Output, Signal } from '../../src/cli/io.js';
import { linkCompiledCode } from './compiled-code.js';
import type { Workspace } from './workspace.js';

export const BINARY = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));

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
  const listeners: ((name: Signal) => void)[] = [];
  const { stdin = '' } = options;
  const input = options.input ?? Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]);
  const io: Io = {
    stdin: { isTerminal: false, stream: () => input },
    stdout: stdout.output,
    stderr: stderr.output,
    env: { ...workspace.env, ...options.env },
    cwd: () => options.cwd ?? workspace.dir,
    now: options.now ?? (() => Date.now()),
    binary: BINARY,
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

// The built chunks, so that the shipped code is tested.
const require = createRequire(BINARY);

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

/** Runs a command of the built CLI in this process. */
export function runCommand(args: readonly string[], io: Io): Promise<number> {
  const { run } = require(args[0] === '__complete' ? './complete.cjs' : './run.cjs') as
    | typeof import('../../src/cli/run.js')
    | typeof import('../../src/cli/complete.js');
  return run(args, io);
}

/** Runs `wield ...args` as a child process: for tests of signals, pipes, start-up and exit. */
export function wieldProcess(
  workspace: Pick<Workspace, 'dir' | 'env'>,
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliRun> {
  linkCompiledCode(workspace.env.WIELD_HOME);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BINARY, ...args], {
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
