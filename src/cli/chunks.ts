// Loads the chunks of the binary, from code that earlier runs compiled and kept, where it is the user's own.

import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** What runs compiled of each chunk. */
export interface KeptCode {
  /** How many runs added to it. */
  readonly runs: number;
  readonly chunks: ReadonlyMap<string, Uint8Array>;
}

export interface Chunks {
  /** The exports of a chunk. */
  load(name: string): unknown;
  readonly kept: KeptCode;
  /** The chunks that were loaded. */
  readonly scripts: ReadonlyMap<string, Script>;
  /** Whether this run compiled what later ones need. */
  hasNews(): boolean;
}

// A first run reads what a later one finds in an index: each compiles something of its own.
const ADDING_RUNS = 2;
const NOTHING: KeptCode = { runs: 0, chunks: new Map() };

/** `keptIn` is the file that code is kept in; where there is none, everything is compiled. */
export function createChunks(directory: string, keptIn: string | undefined): Chunks {
  const kept = keptIn === undefined ? NOTHING : readKept(keptIn);
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
    const cachedData = kept.chunks.get(name);
    // The build leaves nothing but ASCII in a chunk.
    const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'latin1')}\n})`;
    const script = new Script(source, cachedData === undefined ? { filename } : { filename, cachedData });
    scripts.set(name, script);
    script.runInThisContext()(module.exports, requireBeside, module, filename, directory);
    return module.exports;
  };
  return {
    load,
    kept,
    scripts,
    hasNews: () =>
      kept.runs < ADDING_RUNS || [...scripts.values()].some((script) => script.cachedDataRejected !== false),
  };
}

/** Whether a file or directory is the user's, and can be changed by nobody else. */
export function isOwn({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

// What another user could have written would run as this one, so it is compiled anew.
function readKept(file: string): KeptCode {
  let descriptor: number | undefined;
  try {
    if (!isOwn(statSync(dirname(file)))) return NOTHING;
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || !isOwn(stats)) return NOTHING;
    const bytes = Buffer.allocUnsafe(stats.size);
    if (readSync(descriptor, bytes) !== stats.size) return NOTHING;
    return parseKept(bytes);
  } catch {
    return NOTHING;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

// A line that says what follows, then the code of one chunk after another.
function parseKept(bytes: Buffer): KeptCode {
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
