// The entry point of the binary. Prints version and help without loading the runtime.

import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { findHome, findWieldHome } from '../files/home.js';
import type { Begin, Beginning } from './beginning.js';
import { type Chunks, createChunks } from './chunks.js';

declare const WIELD_VERSION: string;
declare const WIELD_BUILD: string;
/** The texts of `help.ts`, inlined by the build. */
declare const WIELD_SHORT_HELP: string;
declare const WIELD_HELP: string;

// Commands with their own compile cache. All others use that of `call`.
const CACHED = new Set(['__complete', 'list', 'serve', 'call']);

// A client may kill its server, so code is saved while it runs too.
const SAVE_AFTER_MS = 1000;

// Files of the binary that can do a command, or begin it, without the runtime. They have a compile cache each.
const BEGINNINGS = new Map([
  ['list', 'kept'],
  ['__complete', 'kept-completion'],
  ['serve', 'first'],
]);
const saves: (() => void)[] = [];

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
  const early = wieldHome === undefined ? undefined : await begin(wieldHome);
  if (typeof early === 'number') process.exit(early);
  const cacheFile = wieldHome && findCompileCache(wieldHome, kind);
  const chunks = createChunks(import.meta.dirname, cacheFile, early?.builtin);
  if (cacheFile !== undefined) saves.push(() => saveCompiled(cacheFile, chunks, first!));
  const { run, createProcessIo } = chunks.load(first === '__complete' ? 'complete.cjs' : 'run.cjs') as
    | typeof import('./run.js')
    | typeof import('./complete.js');
  if (kind === 'serve') setTimeout(saveAll, SAVE_AFTER_MS).unref();
  const status = await run(argv, early?.io ?? createProcessIo());
  if (status === 0) early?.save?.();
  saveAll();
  process.exit(status);
}

// Does what can be done before the code of the command is loaded.
async function begin(wieldHome: string): Promise<Beginning | number | undefined> {
  const name = BEGINNINGS.get(first!);
  if (name === undefined) return undefined;
  const cacheFile = findCompileCache(wieldHome, name);
  const chunks = createChunks(import.meta.dirname, cacheFile);
  const early = await (chunks.load(`${name}.cjs`) as { begin: Begin }).begin(argv, wieldHome, WIELD_BUILD);
  if (typeof early === 'number' || first === 'serve') saves.push(() => saveCompiled(cacheFile, chunks, name));
  if (typeof early === 'number') saveAll();
  return early;
}

function saveAll(): void {
  for (const save of saves) save();
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
