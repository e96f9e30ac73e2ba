// The entry point of the binary. Prints version and help without loading the runtime.

import { writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findHome, findWieldHome } from '../files/home.js';
import { createChunks } from './chunks.js';
import { createProcessIo } from './process-io.js';

declare const WIELD_VERSION: string;
declare const WIELD_BUILD: string;
/** The texts of `help.ts`, inlined by the build. */
declare const WIELD_SHORT_HELP: string;
declare const WIELD_HELP: string;

// Commands with their own compile cache. All others use that of `call`.
const CACHED = new Set(['__complete', 'list', 'serve', 'call']);

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
  const cacheFile = findCompileCache(kind);
  const chunks = createChunks(import.meta.dirname, cacheFile);
  const io = createProcessIo();
  let status: number;
  if (first === '__complete') {
    const { answer } = chunks.load('complete.cjs') as typeof import('./complete.js');
    status = await answer(argv.slice(1), io);
  } else {
    const { run } = chunks.load('run.cjs') as typeof import('./run.js');
    status = await run(argv, io);
  }
  if (cacheFile !== undefined && chunks.isCacheStale()) {
    const { saveCompileCache } = chunks.load('save-compile-cache.cjs') as typeof import('./save-compile-cache.js');
    saveCompileCache(cacheFile, chunks, first!);
  }
  process.exit(status);
}

// Compiled code depends on the version of Node and on the build.
function findCompileCache(kind: string): string | undefined {
  const { env, version, arch } = process;
  try {
    const home = findWieldHome(env, findHome(env, homedir));
    return join(home, 'cache', 'code', `${version}-${arch}`, `${kind}-${WIELD_BUILD}`);
  } catch {
    // The command reports it.
    return undefined;
  }
}
