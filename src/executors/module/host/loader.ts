// Loads modules in the tool host: TypeScript without a build step, and only the bytes that were planned.

import { builtinModules } from 'node:module';
import { dirname, extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Module, SourceTextModule, SyntheticModule } from 'node:vm';
import { ToolError } from '../../../core/error.js';
import { parseWithPosition } from '../../../core/json.js';
import type { InlineModule, ModuleFiles } from '../../../core/tool.js';
import { MAX_MODULE_BYTES, resolveImport } from '../../../files/closure.js';
import { digestBytes } from '../../../files/digest.js';
import { readHead } from '../../../files/read.js';
import { type Compiled, createCompiler, locateSyntaxError, rememberCompiled } from './compile.js';

export type Exports = Readonly<Record<string, unknown>>;

export interface Loader {
  /** Returns the exports of a module, which is evaluated once. Throws what it throws. */
  load(source: ModuleFiles | InlineModule): Promise<Exports>;
}

const TYPED = new Set(['.ts', '.mts']);
const CODE = new Set([...TYPED, '.js', '.mjs']);

export function createLoader(cacheDirectory: string): Loader {
  const compile = createCompiler(cacheDirectory);
  const expected = new Map<string, string>();
  const modules = new Map<string, Promise<Module>>();
  // Modules loaded by Node, wrapped once: a package may have hundreds of exports.
  const natives = new Map<string, Promise<Module>>();
  const roots = new Map<string, Promise<Exports>>();

  const create = async (path: string, bytes: Buffer, typed: boolean): Promise<Module> => {
    const compiled = await compile(path, bytes, typed);
    try {
      return toSourceModule(path, compiled, async (specifier) => {
        const module = await importFrom(specifier, path);
        await linkAndEvaluate(module);
        return module;
      });
    } catch (error) {
      throw await locateSyntaxError(error, path, compiled.source);
    }
  };

  const open = async (path: string): Promise<Module> => {
    const reading = readHead(path, MAX_MODULE_BYTES);
    if ('fault' in reading) throw new Error(`cannot read ${path}: ${reading.message}`);
    const { bytes } = reading;
    const sha256 = expected.get(path);
    // What was planned is what runs (RUN-2).
    if (sha256 !== undefined && sha256 !== digestBytes(bytes)) throw changed(path);
    if (extname(path) === '.json') return toModule({ default: parseFile(path, bytes) }, path);
    if (!CODE.has(extname(path))) return toModule(await import(pathToFileURL(path).href), path);
    return create(path, bytes, TYPED.has(extname(path)));
  };

  const importFrom = async (specifier: string, from: string): Promise<Module> => {
    const { url, ours } = resolveUrl(specifier, from);
    if (ours) return once(modules, fileURLToPath(url), open);
    return once(natives, url, async () => toModule((await import(url)) as object, url));
  };
  const linkAndEvaluate = createLinker(importFrom);

  const loadRoot = async (source: ModuleFiles | InlineModule): Promise<Exports> => {
    for (const { path, sha256 } of source.files) expected.set(path, sha256);
    const module =
      'inline' in source
        ? await create(source.file, Buffer.from(source.inline), true)
        : await once(modules, source.file, open);
    try {
      await linkAndEvaluate(module);
    } catch (error) {
      // Modules that were not evaluated are loaded again the next time.
      for (const [path, opened] of modules) {
        const { status } = await opened.catch(() => ({ status: 'errored' }));
        if (status !== 'evaluated' && status !== 'evaluating') modules.delete(path);
      }
      throw error;
    }
    return module.namespace as Exports;
  };

  return {
    load(source) {
      const key = 'inline' in source ? `${source.file}\n${source.inline}` : source.file;
      return once(roots, key, () => loadRoot(source));
    },
  };
}

// Returns the cached promise of a key, or creates it. Rejected promises are not cached.
function once<T>(cache: Map<string, Promise<T>>, key: string, create: (key: string) => Promise<T>): Promise<T> {
  let known = cache.get(key);
  if (known === undefined) {
    known = create(key);
    cache.set(key, known);
    known.catch(() => cache.delete(key));
  }
  return known;
}

// Links one module at a time: modules that are linked concurrently would find a shared import half linked.
function createLinker(
  importFrom: (specifier: string, from: string) => Promise<Module>,
): (module: Module) => Promise<void> {
  let linking: Promise<unknown> = Promise.resolve();
  return async (module) => {
    const link = linking.then(async () => {
      if (module.status !== 'unlinked') return;
      await module.link((specifier, { identifier }) => importFrom(specifier, fileURLToPath(identifier)));
    });
    linking = link.catch(() => {});
    await link;
    // A cycle of dynamic imports can reach a module that is being evaluated.
    if (module.status !== 'evaluating') await module.evaluate();
  };
}

function toSourceModule(
  path: string,
  compiled: Compiled,
  importModule: (specifier: string) => Promise<Module>,
): Module {
  const url = pathToFileURL(path).href;
  rememberCompiled(url, compiled);
  return new SourceTextModule(compiled.code, {
    identifier: url,
    initializeImportMeta(meta) {
      Object.assign(meta, {
        url,
        filename: path,
        dirname: fileURLToPath(new URL('.', url)),
        resolve: (specifier: string) => resolveUrl(specifier, path).url,
      });
    },
    importModuleDynamically: importModule as never,
  });
}

function toModule(exports: object, identifier: string): Module {
  const names = Object.keys(exports);
  return new SyntheticModule(
    names,
    function (this: SyntheticModule) {
      for (const name of names) this.setExport(name, (exports as Record<string, unknown>)[name]);
    },
    { identifier },
  );
}

function changed(path: string): ToolError {
  return new ToolError('integrity', `${path} changed after it was planned, so it was not run`, {
    hint: 'call it again',
  });
}

function parseFile(path: string, bytes: Buffer): unknown {
  try {
    return parseWithPosition(bytes.toString('utf8'));
  } catch (error) {
    throw new SyntaxError(`${path} is not valid JSON: ${(error as Error).message}`);
  }
}

interface Resolved {
  readonly url: string;
  /** Whether our loader compiles it; everything else is loaded by Node. */
  readonly ours: boolean;
}

// Packages that a standalone file may import without installing them (MOD-7); bundles of the first two are beside
// this file in the build.
const OWN = /^(?:wield|zod)(?:\/|$)/;
const OWN_BUNDLES = new Set(['wield', 'zod']);
const BUILTIN = new Set(builtinModules);

// Resolved packages by importing directory: a failed lookup walks up the whole tree.
const packages = new Map<string, Resolved>();

// Resolves an import: a built-in module, a file, or a package.
function resolveUrl(specifier: string, from: string): Resolved {
  if (specifier.startsWith('node:') || BUILTIN.has(specifier))
    return { url: specifier.startsWith('node:') ? specifier : `node:${specifier}`, ours: false };
  if (specifier === 'bun' || specifier.startsWith('bun:'))
    throw new Error(`${specifier} is a module of Bun, and tools run in Node; use a module of Node or a package`);
  const path = resolveFile(specifier, from);
  if (path !== undefined) return { url: pathToFileURL(path).href, ours: !path.includes('/node_modules/') };
  const key = `${dirname(from)}\n${specifier}`;
  const known = packages.get(key) ?? { url: resolvePackage(specifier, from), ours: false };
  packages.set(key, known);
  return known;
}

function resolvePackage(specifier: string, from: string): string {
  try {
    return import.meta.resolve(specifier, pathToFileURL(from).href);
  } catch (error) {
    if (OWN_BUNDLES.has(specifier)) return new URL(`./${specifier}.js`, import.meta.url).href;
    if (OWN.test(specifier)) return import.meta.resolve(specifier);
    const { message, code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(message.split('\n')[0], { cause: error }), {
      missingPackage: code === 'ERR_MODULE_NOT_FOUND' ? packageName(specifier) : undefined,
    });
  }
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function resolveFile(specifier: string, from: string): string | undefined {
  if (!/^(?:\.\.?\/|\/|file:)/.test(specifier)) return undefined;
  const wanted = specifier.startsWith('file:') ? fileURLToPath(specifier) : specifier;
  const found = resolveImport(wanted, from);
  if (found === undefined) throw new Error(`file not found: ${wanted}, imported by ${from}`);
  return found;
}
