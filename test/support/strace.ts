// Runs the binary under strace, which kills it or fails a system call at a given step.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { binary } from './built.js';
import type { CliRun } from './cli.js';
import { hasProgram, notInstalled, succeeds } from './machine.js';
import { patience } from './patience.js';

const HUNG_MS = patience(60_000);

export const hasStrace = succeeds('strace', '-o', '/dev/null', 'true');
export const NO_STRACE = hasProgram('strace')
  ? 'strace may not trace here; to run: npm test in a container with --cap-add SYS_PTRACE'
  : notInstalled('strace');

interface Environment {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A system call of the main thread that changes a file near the workdir, or starts a process. */
export interface Step {
  readonly call: string;
  /** The how manieth of these steps of this name it is. */
  readonly at: number;
  /** The how manieth call of this name it is; strace counts all, those that change nothing included. */
  readonly when: number;
  /** The call with its paths, without random names. */
  readonly what: string;
  /** The opened file, unless its name is random, and the how manieth open of it this is. */
  readonly path?: string;
  readonly ofPath: number;
  /** The file of the call with its random names, and the how manieth call of this name with it this is. */
  readonly file?: string;
  readonly ofFile: number;
  /** Whether it starts a process. */
  readonly isStart: boolean;
}

export const FAULTS = ['KILL', 'ENOSPC', 'EIO'] as const;
export type Fault = (typeof FAULTS)[number];

const BY_PATH = [
  'open',
  'creat',
  'rename',
  'link',
  'symlink',
  'unlink',
  'rmdir',
  'mkdir',
  'truncate',
  'chmod',
  'chown',
];
const AT_DIRECTORY = ['openat', 'renameat', 'renameat2', 'linkat', 'symlinkat', 'unlinkat', 'mkdirat', 'fchmodat'];
const BY_DESCRIPTOR = ['write', 'writev', 'pwrite64', 'pwritev', 'ftruncate', 'fallocate', 'fsync', 'fdatasync'];
const TIMES = ['utimensat', 'futimesat', 'utime', 'utimes', 'fchmod', 'fchown', 'copy_file_range', 'sendfile'];
const STARTS = ['clone', 'clone3', 'fork', 'vfork'];
// `?`: not every architecture has every call.
const TRACED = [...BY_PATH, ...AT_DIRECTORY, ...BY_DESCRIPTOR, ...TIMES, ...STARTS].map((name) => `?${name}`).join();

/** Runs `wield ...args` with an injection such as `rename:error=ENOSPC`; the status is null if it was killed. */
export async function underStrace(
  environment: Environment,
  injection: string,
  args: readonly string[],
): Promise<number | null> {
  const calls = injection.split(':')[0];
  const options = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${injection}`];
  return (await run(environment, options, args)).status;
}

/** Runs to completion and returns the steps in order. */
export async function traceSteps(
  environment: Environment,
  args: readonly string[],
): Promise<CliRun & { readonly steps: readonly Step[] }> {
  const { lines, ...done } = await runTraced(environment, ['-e', `trace=${TRACED}`], args);
  return { ...done, steps: toSteps(lines, dirname(environment.dir)) };
}

/** Kills the process at a step, or fails that system call. `hit` is false if the run took another course. */
export async function injectAt(
  environment: Environment,
  { call, when, what, path, ofPath }: Step,
  fault: Fault,
  args: readonly string[],
): Promise<CliRun & { readonly hit: boolean }> {
  const how = fault === 'KILL' ? 'signal=KILL' : `error=${fault}`;
  // The number of other opens differs between runs, as those of /proc do.
  const [only, number] = path === undefined ? [[], when] : [['-P', path], ofPath];
  const options = [...only, '-e', `trace=${call}`, '-e', `inject=${call}:${how}:when=${number}`];
  const { lines, ...done } = await runTraced(environment, options, args);
  const calls = lines.filter((line) => line.startsWith(`${call}(`));
  const found = fault === 'KILL' ? calls[number - 1] : calls.find((line) => line.includes('(INJECTED)'));
  return { ...done, hit: found !== undefined && describe(found, dirname(environment.dir)) === what };
}

/** Kills the process at a call with a number, counting only those with `file` if given; returns what it had come to. */
export async function killAtCall(
  environment: Environment,
  { call, number, file }: { readonly call: string; readonly number: number; readonly file?: string | undefined },
  args: readonly string[],
): Promise<{ readonly steps: readonly Step[]; readonly diedAt?: Step }> {
  const only = file === undefined ? [] : ['-P', file];
  const options = [...only, '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${number}`];
  const { status, lines } = await runTraced(environment, options, args);
  const steps = toSteps(lines, dirname(environment.dir));
  const last = steps.at(-1);
  // It may have ended before, or died at a call that changes nothing.
  const isLast = status === null && last !== undefined && (file === undefined ? last.when : last.ofFile) === number;
  return isLast ? { steps, diedAt: last } : { steps };
}

async function runTraced(environment: Environment, options: readonly string[], args: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'wield-strace-'));
  const file = join(directory, 'trace');
  try {
    // Without `-f`: only the main thread, whose calls are the same in every run.
    const done = await run(environment, ['-y', '-o', file, ...options], args);
    return { ...done, lines: readFileSync(file, 'utf8').split('\n') };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function toSteps(lines: readonly string[], root: string): Step[] {
  const counts = new Map<string, number>();
  const count = (key: string): number => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts.get(key)!;
  };
  return lines.flatMap((line) => {
    const call = /^(\w+)\(/.exec(line)?.[1];
    if (call === undefined) return [];
    const when = count(`all ${call}`);
    const [file] = toPaths(call, line.slice(call.length + 1));
    const ofFile = count(`file ${call} ${file}`);
    const opened = call.startsWith('open') ? file : undefined;
    const ofPath = count(`${call} ${opened}`);
    const what = describe(line, root);
    if (what === undefined) return [];
    const path = opened === undefined || withoutRandom(opened) !== opened ? undefined : opened;
    return [{ call, when, at: count(call), what, path, ofPath, file, ofFile, isStart: STARTS.includes(call) }];
  });
}

// Undefined for a call that changes nothing below the root.
function describe(line: string, root: string): string | undefined {
  const [, call, rest] = /^(\w+)\((.*)/.exec(line)!;
  if (STARTS.includes(call!)) return rest!.includes('CLONE_THREAD') ? undefined : call;
  if (call!.startsWith('open') && !/O_(?:WRONLY|RDWR|CREAT|TRUNC)/.test(rest!)) return undefined;
  const paths = toPaths(call!, rest!).filter((path) => path.startsWith(`${root}/`));
  if (paths.length === 0) return undefined;
  return `${call} ${paths.map((path) => withoutRandom(path.slice(root.length + 1))).join(' ')}`;
}

function toPaths(call: string, rest: string): string[] {
  const all = (pattern: RegExp) => [...rest.matchAll(pattern)];
  if (BY_PATH.includes(call)) return all(/"([^"]*)"/g).map(([, path]) => path!);
  const named = all(/(?:AT_FDCWD|\d+)<([^>]*)>, "([^"]*)"/g);
  if (AT_DIRECTORY.includes(call) || call === 'utimensat') {
    if (named.length > 0) return named.map(([, directory, name]) => resolve(directory!, name!));
  }
  return all(/^\d+<([^>]*)>/g).map(([, path]) => path!);
}

/** Replaces process ids, times and random names in a path or text. */
export function withoutRandom(text: string): string {
  return text
    .replace(/\b(?:\d{15}-)?\d+-\d+-[0-9a-f]{12,18}\b/g, 'PROCESS')
    .replace(/(?<=\.wield-link-)[0-9a-f]{12}\b/g, 'RANDOM')
    .replace(/\b[0-9a-f]{18}\b/g, 'RANDOM')
    .replace(/\bp_[0-9a-f]{16}\b/g, 'PROGRAM')
    .replace(/\br_[\w-]{22}/g, 'RESULT')
    .replace(/(?<=\/)#\d+\b/g, 'NAMELESS')
    .replace(/(?<=before-wield-)\w+/g, 'TIME')
    .replace(/\b\d{13}\b/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
}

function run({ dir, env }: Environment, options: readonly string[], args: readonly string[]): Promise<CliRun> {
  const child = spawn('strace', [...options, process.execPath, binary(), ...args], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  // The numbers of calls differ between runs, and a failed write to the pipe with which Node guards its signals stops it.
  const hung = setTimeout(() => killChildren(child.pid!), HUNG_MS);
  return new Promise((done, reject) => {
    child.once('error', reject);
    const end = (status: number | null) => {
      clearTimeout(hung);
      done({ status, ...texts });
    };
    child.once('close', end);
    // A process that the killed one started may keep the pipes open.
    child.once('exit', (status) => setTimeout(end, 5000, status).unref());
  });
}

function killChildren(pid: number): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  for (const child of children) process.kill(Number(child), 'SIGKILL');
}
