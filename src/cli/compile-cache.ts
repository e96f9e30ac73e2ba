// The compile cache of the binary: compiling takes half of a short run, so later runs use the code of the first one.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { findHome, findWieldHome } from '../files/home.js';
import { makeDirectory } from '../files/make-directory.js';
import { removeTree } from '../files/remove.js';

// Frequent commands use different functions of the same files.
const OWN_CACHE = new Set(['__complete', 'list', 'serve', 'call']);

declare const require: { readonly extensions: Record<string, (module: NodeJS.Module, filename: string) => void> };

type Environment = Readonly<Record<string, string | undefined>>;

/** Lets the files of the binary use the cache, and returns a function that saves what this run compiled. */
export function useCompileCache(argv: readonly string[], env: Environment): () => Promise<void> {
  try {
    const directory = findCache(argv, env);
    if (directory === undefined) return async () => {};
    if (!existsSync(directory)) createCache(directory);
    // Code of another user would run as this one.
    if (!isOwn(statSync(directory))) return async () => {};
    if (Number.parseInt(process.versions.node, 10) < 22) return cacheScripts(directory);
    // The types are those of Node 20.
    const { enableCompileCache, flushCompileCache } = process.getBuiltinModule('node:module') as {
      enableCompileCache?(directory: string): unknown;
      flushCompileCache?(): void;
    };
    enableCompileCache?.(directory);
    return async () => flushCompileCache?.();
  } catch {
    // Not an error: this run compiles its code.
    return async () => {};
  }
}

// Compiled code depends on the version of Node, and on the build.
function findCache(argv: readonly string[], env: Environment): string | undefined {
  // `doctor --clean` must not write what it just removed.
  if (argv.some((word) => word === 'clean' || word === '--clean')) return undefined;
  const kind = argv.find((word) => OWN_CACHE.has(word)) ?? 'others';
  const home = findWieldHome(env, findHome(env, homedir));
  const build = Math.floor(statSync(import.meta.filename).mtimeMs).toString(36);
  return join(home, `cache/code/${process.version}-${process.arch}/${kind}-${build}`);
}

// Replaces those of other builds.
function createCache(directory: string): void {
  const parent = dirname(directory);
  makeDirectory(parent);
  const kind = basename(directory).replace(/[^-]*$/, '');
  for (const name of readdirSync(parent)) if (name.startsWith(kind)) removeTree(join(parent, name));
  makeDirectory(directory);
}

// Node 20 has no such cache.
function cacheScripts(directory: string): () => Promise<void> {
  const own = import.meta.dirname;
  const compiled = new Map<string, Script>();
  // Not from node:module, which takes a millisecond to load. Deprecated, because loaders belong into other tools.
  const { extensions } = require;
  extensions['.cjs'] = (module, filename) => {
    if (dirname(filename) !== own) return extensions['.js']!(module, filename);
    const file = directory + filename.slice(own.length);
    const cachedData = readOwnFile(file);
    const script = new Script(readWrapped(filename), { filename, ...(cachedData && { cachedData }) });
    if (script.cachedDataRejected !== false) compiled.set(file, script);
    script.runInThisContext()(module.exports, (id: string) => module.require(id), module, filename, own);
  };
  return async () => {
    if (compiled.size === 0) return;
    try {
      const { writeFileAtomic } = await import('../files/write.js');
      for (const [file, script] of compiled) writeFileAtomic(file, script.createCachedData(), { durable: false });
      compiled.clear();
    } catch {
      // The next run compiles again.
    }
  };
}

const HEAD = '(function (exports, require, module, __filename, __dirname) {';
const TAIL = '\n})';

// In one buffer: joined texts are copied, which takes 2 to 7 MB in a server. The build emits ASCII only.
function readWrapped(filename: string): string {
  const descriptor = openSync(filename, constants.O_RDONLY);
  const { size } = fstatSync(descriptor);
  const bytes = Buffer.allocUnsafeSlow(HEAD.length + size + TAIL.length);
  bytes.write(HEAD, 'latin1');
  readSync(descriptor, bytes, HEAD.length, size, 0);
  bytes.write(TAIL, HEAD.length + size, 'latin1');
  closeSync(descriptor);
  return bytes.toString('latin1');
}

/** Whether only the user can change a file or directory. */
function isOwn({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

/** Reads a file; undefined if it is missing, or another user could have written it. */
function readOwnFile(file: string): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    return stats.isFile() && isOwn(stats) ? readFileSync(descriptor) : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
