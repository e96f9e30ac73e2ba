// Loads the chunks of the binary, with compiled code from a cache.

import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
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

/**
 * Creates a loader; without a cache file everything is compiled. `builtin` may return another object than Node for a
 * built-in module.
 */
export function createChunks(
  directory: string,
  cacheFile: string | undefined,
  builtin?: (id: string) => unknown,
): Chunks {
  const cached = cacheFile === undefined ? NOTHING : readCache(cacheFile);
  const scripts = new Map<string, Script>();
  const modules = new Map<string, { exports: unknown }>();
  const requireOther = (id: string): unknown => {
    // Loaded on demand: it takes 0.3 ms.
    const { createRequire } = process.getBuiltinModule('node:module');
    return createRequire(join(directory, 'wield.cjs'))(id);
  };
  const requireBeside = (id: string): unknown =>
    id.startsWith('./') ? load(id.slice(2)) : (builtin?.(id) ?? process.getBuiltinModule(id) ?? requireOther(id));
  const load = (name: string): unknown => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} as unknown };
    modules.set(name, module);
    const filename = join(directory, name);
    const cachedData = cached.chunks.get(name);
    const script = new Script(readSource(filename), cachedData === undefined ? { filename } : { filename, cachedData });
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

const HEAD = '(function (exports, require, module, __filename, __dirname) {';
const TAIL = '\n})';

// Joined in a buffer: strings of this size would be copied, and fill the memory for new objects. The build emits ASCII only.
function readSource(filename: string): string {
  const descriptor = openSync(filename, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.allocUnsafe(HEAD.length + size + TAIL.length);
    bytes.write(HEAD, 'latin1');
    let at = HEAD.length;
    for (let length = -1; length !== 0; at += length)
      length = readSync(descriptor, bytes, at, size + HEAD.length - at, null);
    bytes.write(TAIL, at, 'latin1');
    return bytes.toString('latin1', 0, at + TAIL.length);
  } finally {
    closeSync(descriptor);
  }
}

/** Whether only the user can change a file or directory. */
export function isOwn({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

/** Reads a file of a cache; undefined if it is missing, or another user could have written it. */
export function readOwnFile(file: string): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    if (!isOwn(statSync(dirname(file)))) return undefined;
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || !isOwn(stats)) return undefined;
    const bytes = Buffer.allocUnsafe(stats.size);
    return readSync(descriptor, bytes) === stats.size ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function readCache(file: string): CompileCache {
  // Code of another user would run as this one.
  const bytes = readOwnFile(file);
  try {
    return bytes === undefined ? NOTHING : parseCache(bytes);
  } catch {
    return NOTHING;
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
