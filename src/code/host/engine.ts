// The process of an engine: starts it with nothing but its channel, and kills it when a turn takes too long.

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { createSemaphore, inBackground } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import type { CodeLimits } from '../../core/settings.js';
import type { World } from '../../core/snapshot.js';
import { realPath } from '../../files/within.js';
import { type ChannelCompanion, startCompanion } from '../../process/companion.js';
import { findEntry } from '../../process/entry.js';
import { findLimiter, limitLauncher, searchPath } from '../../process/environment.js';
import { readLines } from '../../process/lines.js';
import { planSandbox } from '../../process/sandbox/index.js';
import { prepareSandbox } from '../../process/sandbox/prepare.js';
import type { EngineReply, EngineRequest, Turn } from '../protocol.js';
import { exceeded } from './errors.js';

export interface EngineOptions {
  readonly world: World;
  readonly limits: CodeLimits;
  /** Called before the process starts. */
  readonly beforeRun?: (() => void) | undefined;
}

export interface Engine {
  /** Identifies the interpreter and the world of programs; a snapshot belongs to one of them. */
  readonly version: string;
  /** Runs the program until it can only wait for calls. Throws if the engine ended or a limit was exceeded. */
  turn(request: Exclude<EngineRequest, { type: 'snapshot' }>): Promise<Turn>;
  /** Returns undefined if the state of the program is too large to be stored. */
  snapshot(): Promise<string | undefined>;
  kill(): void;
}

const ENTRY = 'code/engine.cjs';
const MAX_LINE_BYTES = 256 * 1024 * 1024;
// To start the process and compile the interpreter.
const START_MS = 120_000;
const START_CPU_SECONDS = 2;
const SNAPSHOT_MS = 120_000;
// Further engines wait to be started: all at once would take longer than each may take.
const STARTING = 4;
// The engine measures its own processor time, and inside native code, where it cannot check, the operating system does.
// On a busy machine that takes longer, so this applies only where the operating system has no such limit.
const WALL_PER_CPU = 4;
const WALL_MS = 2000;
const HEAP_MEGABYTES = 512;
// A frame of the interpreter takes more of it than the interpreter counts, up to ten times for nested JSON.
const STACK_KILOBYTES = 3900;

interface Waiting {
  readonly since: number;
  resolve(reply: EngineReply): void;
  reject(error: ToolError): void;
  readonly timer: NodeJS.Timeout;
}

const starting = createSemaphore(STARTING);

export async function startEngine(options: EngineOptions): Promise<Engine> {
  const release = await starting.acquire();
  try {
    return await start(options);
  } finally {
    release();
  }
}

async function start({ world, limits, beforeRun }: EngineOptions): Promise<Engine> {
  beforeRun?.();
  const entry = realPath(findEntry(ENTRY)) ?? findEntry(ENTRY);
  const wasm = createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm');
  const { launcher, filter, isLimited } = await findLauncher([entry, wasm], limits, world);
  const argv = [...launcher, ...nodeArguments(entry, wasm)];
  const companion = await startCompanion({ argv, filter, cwd: '/', environment: {} }, world);
  return connect(companion, limits, world, isLimited);
}

// COD-2: what the operating system and Node can take away from the process.
function nodeArguments(entry: string, wasm: string): string[] {
  const permission = ['--permission', '--experimental-permission'].find((flag) =>
    process.allowedNodeEnvironmentFlags.has(flag),
  );
  return [
    process.execPath,
    ...(permission === undefined ? [] : [permission, ...[entry, wasm].map((file) => `--allow-fs-read=${file}`)]),
    '--disable-warning=ExperimentalWarning',
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    `--stack-size=${STACK_KILOBYTES}`,
    '--disable-proto=delete',
    '--disallow-code-generation-from-strings',
    entry,
    wasm,
  ];
}

async function findLauncher(files: readonly string[], { cpuMs }: CodeLimits, world: World) {
  const cpuSeconds = Math.ceil(cpuMs / 1000) + START_CPU_SECONDS;
  const limiter = (): string | undefined => findLimiter(world.platform, searchPath(world));
  const limited = limitLauncher({ outputBytes: 0, cpuSeconds, openFiles: 64 }, limiter);
  // Without a home there is no state that says which sandboxes work here.
  const isLimited = limited.length > 0;
  if (world.home === undefined) return { launcher: limited, filter: undefined, isLimited };
  const table = { read: files, write: [], network: false, byProject: false };
  const { sandbox } = await planSandbox(
    [{ profile: 'engine', required: false, by: 'user' }],
    { profiles: new Map([['engine', [table]]]), rules: [] },
    { name: 'run_code', workdir: dirname(files[0]!), code: [process.execPath, ...files], environment: {} },
    { world },
  );
  prepareSandbox(sandbox);
  return { launcher: [...limited, ...sandbox.launcher], filter: sandbox.filter, isLimited };
}

// `isLimited`: whether the operating system limits its processor time.
async function connect(
  companion: ChannelCompanion,
  limits: CodeLimits,
  world: World,
  isLimited: boolean,
): Promise<Engine> {
  const { channel, ended, kill } = companion;
  let waiting: Waiting | undefined;
  let failure: ToolError | undefined;
  let cpuMs = 0;
  const settle = (act: (waiter: Waiting) => void): void => {
    const waiter = waiting;
    waiting = undefined;
    clearTimeout(waiter?.timer);
    if (waiter !== undefined) act(waiter);
  };
  const fail = (error: ToolError): void => {
    failure ??= error;
    kill();
    settle(({ reject }) => reject(failure!));
  };
  const ask = (request: EngineRequest | undefined, patienceMs: number, late: () => ToolError): Promise<EngineReply> =>
    new Promise((resolve, reject) => {
      if (failure !== undefined) {
        reject(failure);
        return;
      }
      const timer = setTimeout(() => fail(late()), patienceMs);
      waiting = { since: world.monotonic(), resolve, reject, timer };
      if (request !== undefined) channel.write(`${JSON.stringify(request)}\n`);
    });
  const accept = (line: string): void => {
    const reply = JSON.parse(line) as EngineReply;
    if (reply.type === 'limit') fail(exceeded('cpu', limits));
    else settle(({ resolve }) => resolve(reply));
  };
  readLines(channel, MAX_LINE_BYTES, accept, (reason) => fail(engineEnded(reason)));
  const onEnded = ({ code, signal }: Awaited<typeof ended>): void => {
    // Ended by the limit of the operating system, also behind a launcher, which reports it as a status.
    const isKilled = signal !== null || (code ?? 0) > 128;
    const tookAll = waiting !== undefined && world.monotonic() - waiting.since >= limits.cpuMs - cpuMs;
    fail(isKilled && tookAll ? exceeded('cpu', limits) : engineEnded(signal ?? `status ${code}`));
  };
  inBackground(ended.then(onEnded), world.debug);

  const ready = await ask(undefined, START_MS, () => engineEnded('it did not start'));
  if (ready.type !== 'ready') throw engineEnded('unexpected message');
  return {
    version: ready.engine,
    kill: () => {
      failure ??= engineEnded('it was stopped');
      kill();
    },
    async turn(request) {
      const patienceMs = isLimited ? limits.timeoutMs : (limits.cpuMs - cpuMs) * WALL_PER_CPU + WALL_MS;
      const reply = await ask(request, patienceMs, () => exceeded('cpu', limits));
      if (reply.type !== 'turn') throw engineEnded('unexpected message');
      cpuMs = reply.cpuMs;
      return reply;
    },
    async snapshot() {
      const reply = await ask({ type: 'snapshot' }, SNAPSHOT_MS, () => engineEnded('it made no snapshot'));
      if (reply.type !== 'snapshot') throw engineEnded('unexpected message');
      return reply.snapshot;
    },
  };
}

function engineEnded(how: string): ToolError {
  return new ToolError('exec_failed', `the engine of the program ended: ${how}`, {
    hint: 'see which calls ran before you run the program again',
  });
}
