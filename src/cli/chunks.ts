// Loads the chunks of the binary, with compiled code from a cache.

import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** The compiled code of earlier runs. */
export interface CompileCache {
  /** How many runs added to it. */
  readonly runs: number;
  readonly chunks: ReadonlyMap<string, Uint8Array>;
}

export interface Chunks {
  /** Returns the exports of a chunk. */
  load(name: string): unknown;
  readonly cached: CompileCache;
  /** The loaded chunks. */
  readonly scripts: ReadonlyMap<string, Script>;
  /** Whether this run compiled code that is not in the cache. */
  isCacheStale(): boolean;
}

// The first two runs execute different code: the first one builds the index that the second one reads.
const WARMUP_RUNS = 2;
const NOTHING: CompileCache = { runs: 0, chunks: new Map() };

/** Creates a loader; without a cache file everything is compiled. */
export function createChunks(directory: string, cacheFile: string | undefined): Chunks {
  const cached = cacheFile === undefined ? NOTHING : readCache(cacheFile);
  const scripts = new Map<string, Script>();
  const modules = new Map<string, { exports: unknown }>();
  const requireBeside = (id: string): unknown =>
    id.startsWith('./')
      ? load(id.slice(2))
      : (process.getBuiltinModule(id) ?? createRequire(join(directory, 'wield.cjs'))(id));
  const load = (name: string): unknown => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} as unknown };
    modules.set(name, module);
    const filename = join(directory, name);
    const cachedData = cached.chunks.get(name);
    // The build emits ASCII only.
    const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'latin1')}\n})`;
    const script = new Script(source, cachedData === undefined ? { filename } : { filename, cachedData });
    scripts.set(name, script);
    script.runInThisContext()(module.exports, requireBeside, module, filename, directory);
    return module.exports;
  };
  return {
    load,
    cached,
    scripts,
    isCacheStale: () =>
      cached.runs < WARMUP_RUNS || [...scripts.values()].some((script) => script.cachedDataRejected !== false),
  };
}

/** Whether only the user can change a file or directory. */
export function isOwn({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

// Cached code that another user could have written is ignored: it would run as this user.
function readCache(file: string): CompileCache {
  let descriptor: number | undefined;
  try {
    if (!isOwn(statSync(dirname(file)))) return NOTHING;
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || !isOwn(stats)) return NOTHING;
    const bytes = Buffer.allocUnsafe(stats.size);
    if (readSync(descriptor, bytes) !== stats.size) return NOTHING;
    return parseCache(bytes);
  } catch {
    return NOTHING;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

// The format is a JSON line with names and lengths, then the code of each chunk.
function parseCache(bytes: Buffer): CompileCache {
  const end = bytes.indexOf('\n');
  const { runs, chunks } = JSON.parse(bytes.toString('latin1', 0, end)) as {
    runs: number;
    chunks: [name: string, length: number][];
  };
  const codes = new Map<string, Uint8Array>();
  let at = end + 1;
  for (const [name, length] of chunks) {
    codes.set(name, bytes.subarray(at, at + length));
    at += length;
  }
  return at === bytes.length ? { runs, chunks: codes } : NOTHING;
}
