// The entry point of the binary. Prints version and help without loading the runtime.

import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { findHome, findWieldHome } from '../files/home.js';
import { type Chunks, createChunks } from './chunks.js';

declare const WIELD_VERSION: string;
declare const WIELD_BUILD: string;
/** The texts of `help.ts`, inlined by the build. */
declare const WIELD_SHORT_HELP: string;
declare const WIELD_HELP: string;

// Commands with their own compile cache. All others use that of `call`.
const CACHED = new Set(['__complete', 'list', 'serve', 'call']);

// The compile cache of kept listings.
const KEPT = 'kept';

const argv = process.argv.slice(2);
const [first] = argv;

if (argv.length === 1 && (first === 'version' || first === '--version' || first === '-v')) {
  writeSync(1, `${WIELD_VERSION}\n`);
} else if (argv.length === 0) {
  writeSync(1, WIELD_SHORT_HELP);
} else if (argv.length === 1 && (first === 'help' || first === '--help' || first === '-h')) {
  writeSync(1, WIELD_HELP);
} else {
  void start(argv.find((word) => CACHED.has(word)) ?? 'call');
}

async function start(kind: string): Promise<void> {
  const wieldHome = findState();
  const observation = first === 'list' && wieldHome !== undefined ? showOrObserve(wieldHome) : undefined;
  if (typeof observation === 'number') process.exit(observation);
  const cacheFile = wieldHome && findCompileCache(wieldHome, kind);
  const chunks = createChunks(import.meta.dirname, cacheFile, observation?.builtin);
  let status: number;
  if (first === '__complete') {
    const { answer, createProcessIo } = chunks.load('complete.cjs') as typeof import('./complete.js');
    status = await answer(argv.slice(1), createProcessIo());
  } else {
    const { run, createProcessIo } = chunks.load('run.cjs') as typeof import('./run.js');
    status = await run(argv, observation?.io ?? createProcessIo());
  }
  if (status === 0) observation?.save();
  if (cacheFile !== undefined) saveCompiled(cacheFile, chunks, first!);
  process.exit(status);
}

// Shows a kept listing and returns the exit status. Otherwise, observes the run that makes a new one.
function showOrObserve(wieldHome: string) {
  const cacheFile = findCompileCache(wieldHome, KEPT);
  const chunks = createChunks(import.meta.dirname, cacheFile);
  const { findKept, showKept, observe, createProcessIo } = chunks.load('kept.cjs') as typeof import('./kept.js');
  const io = createProcessIo();
  const file = findKept(argv, wieldHome, io);
  if (file === undefined) return undefined;
  const status = showKept(file, WIELD_BUILD, argv, io);
  if (status !== undefined) {
    saveCompiled(cacheFile, chunks, KEPT);
    return status;
  }
  const { save, ...observation } = observe(io);
  return { ...observation, save: () => save(file, WIELD_BUILD) };
}

// Loaded separately, so that it is not saved itself.
function saveCompiled(cacheFile: string, chunks: Chunks, word: string): void {
  if (!chunks.isCacheStale()) return;
  const own = createChunks(import.meta.dirname, undefined);
  const { saveCompileCache } = own.load('save-compile-cache.cjs') as typeof import('./save-compile-cache.js');
  saveCompileCache(cacheFile, chunks, word);
}

function findState(): string | undefined {
  const { env } = process;
  try {
    return findWieldHome(
      env,
      findHome(env, () => process.getBuiltinModule('node:os').homedir()),
    );
  } catch {
    // The command reports it.
    return undefined;
  }
}

// Compiled code depends on the version of Node and on the build.
function findCompileCache(wieldHome: string, kind: string): string {
  const { version, arch } = process;
  return join(wieldHome, 'cache', 'code', `${version}-${arch}`, `${kind}-${WIELD_BUILD}`);
}
