// Loads modules in the tool host: TypeScript without a build step, and only the bytes that were planned.

import { builtinModules, SourceMap } from 'node:module';
import { dirname, extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Module, SourceTextModule, SyntheticModule } from 'node:vm';
import { isToolError, ToolError } from '../../../core/error.js';
import type { InlineModule, ModuleFiles } from '../../../core/tool.js';
import { MAX_MODULE_BYTES, resolveImport } from '../../../files/closure.js';
import { digestBytes } from '../../../files/digest.js';
import { readHead } from '../../../files/read.js';
import { type Compiled, createCompiler, locate } from './compile.js';

export type Exports = Readonly<Record<string, unknown>>;

export interface Loader {
  /** What a module exports, after it has run once. Throws what it throws. */
  load(source: ModuleFiles | InlineModule): Promise<Exports>;
}

// Read as code of ours: everything else that is imported goes to the system's own loader.
const TYPED = new Set(['.ts', '.mts']);
const CODE = new Set([...TYPED, '.js', '.mjs']);
// What a lone file may import though its project has none (MOD-7); the first two lie beside this file when it is built.
const OWN = /^(?:wield|zod)(?:\/|$)/;
const OWN_BUNDLES = new Set(['wield', 'zod']);
const BUILTIN = new Set(builtinModules);

/** Where a piece of compiled code came from, for whoever has to say where it failed. */
const maps = new Map<string, Compiled>();

export function createLoader(cacheDirectory: string): Loader {
  const compile = createCompiler(cacheDirectory);
  const expected = new Map<string, string>();
  const modules = new Map<string, Promise<Module>>();
  // What the system's own loader loaded, wrapped once: a package may have hundreds of exports.
  const natives = new Map<string, Promise<Module>>();
  const roots = new Map<string, Promise<Exports>>();
  // Modules that are linked at the same time and share an import would find it half linked.
  let linking: Promise<unknown> = Promise.resolve();

  const create = async (path: string, bytes: Buffer, typed: boolean): Promise<Module> => {
    const compiled = await compile(path, bytes, typed);
    try {
      return toSourceModule(path, compiled);
    } catch (error) {
      throw await locate(error, path, compiled.source);
    }
  };

  const toSourceModule = (path: string, compiled: Compiled): Module => {
    const url = pathToFileURL(path).href;
    maps.set(url, compiled);
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
      importModuleDynamically: (async (specifier: string) => {
        const module = await importFrom(specifier, path);
        await prepare(module);
        return module;
      }) as never,
    });
  };

  const open = (path: string): Promise<Module> => {
    let known = modules.get(path);
    if (known === undefined) {
      known = openNow(path);
      modules.set(path, known);
      known.catch(() => modules.delete(path));
    }
    return known;
  };

  const openNow = async (path: string): Promise<Module> => {
    const reading = readHead(path, MAX_MODULE_BYTES);
    if ('fault' in reading) throw new Error(`cannot read ${path}: ${reading.message}`);
    const { bytes } = reading;
    const sha256 = expected.get(path);
    // What was planned is what runs (RUN-2).
    if (sha256 !== undefined && sha256 !== digestBytes(bytes)) throw changed(path);
    if (extname(path) === '.json') return toModule({ default: JSON.parse(bytes.toString('utf8')) }, path);
    if (!CODE.has(extname(path))) return toModule(await import(pathToFileURL(path).href), path);
    return create(path, bytes, TYPED.has(extname(path)));
  };

  const importFrom = async (specifier: string, from: string): Promise<Module> => {
    const { url, ours } = resolveUrl(specifier, from);
    if (ours) return open(fileURLToPath(url));
    let known = natives.get(url);
    if (known === undefined) {
      known = import(url).then((exports: object) => toModule(exports, url));
      natives.set(url, known);
      known.catch(() => natives.delete(url));
    }
    return known;
  };

  const prepare = async (module: Module): Promise<void> => {
    const link = linking.then(async () => {
      if (module.status !== 'unlinked') return;
      await module.link((specifier, { identifier }) => importFrom(specifier, fileURLToPath(identifier)));
    });
    linking = link.catch(() => {});
    await link;
    // A circle of dynamic imports comes back to a module that is at it.
    if (module.status !== 'evaluating') await module.evaluate();
  };

  const loadNow = async (source: ModuleFiles | InlineModule): Promise<Exports> => {
    for (const { path, sha256 } of source.files) expected.set(path, sha256);
    const module =
      'inline' in source
        ? await create(source.file, Buffer.from(source.inline), true)
        : await open(source.file);
    try {
      await prepare(module);
    } catch (error) {
      // What did not come to life is read anew the next time, with all that hangs on it.
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
      let known = roots.get(key);
      if (known === undefined) {
        known = loadNow(source);
        roots.set(key, known);
        known.catch(() => roots.delete(key));
      }
      return known;
    },
  };
}

interface Resolved {
  readonly url: string;
  readonly ours: boolean;
}

// Packages by the directory that asks for them: to find that there is none takes a walk up the tree.
const packages = new Map<string, Resolved>();

function resolveUrl(specifier: string, from: string): Resolved {
  if (specifier.startsWith('node:') || BUILTIN.has(specifier))
    return { url: specifier.startsWith('node:') ? specifier : `node:${specifier}`, ours: false };
  const path = pathOf(specifier, from);
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
    const { message } = error as Error;
    throw new Error(message.split('\n')[0], { cause: error });
  }
}

function pathOf(specifier: string, from: string): string | undefined {
  if (!/^(?:\.\.?\/|\/|file:)/.test(specifier)) return undefined;
  const wanted = specifier.startsWith('file:') ? fileURLToPath(specifier) : specifier;
  const found = resolveImport(wanted, from);
  if (found === undefined) throw new Error(`there is no file ${wanted}, which ${from} imports`);
  return found;
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

/** What went wrong while a module was loaded, with the place in its own text where that is known (MOD-9). */
export function describeLoadError(thrown: unknown): { readonly message: string; readonly hint: string } {
  if (isToolError(thrown)) return { message: thrown.message, hint: thrown.hint ?? 'mend the file' };
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const place = placeOf(thrown);
  const missing = /^Error: Cannot find package '([^']+)'/.exec(message)?.[1];
  return {
    message: place === undefined ? message : `${place}: ${message}`,
    hint: missing === undefined ? 'mend the file: it throws when it is loaded' : `npm install ${missing}`,
  };
}

// The first frame in a file of ours, with the line that its author knows.
function placeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if ('place' in thrown) return String(thrown.place);
  for (const [, url, line, column] of (thrown.stack ?? '').matchAll(/(file:\/\/[^\s()]+?):(\d+):(\d+)/g)) {
    const compiled = maps.get(url!);
    if (compiled === undefined) continue;
    return `${fileURLToPath(url!)}:${originalLine(compiled, Number(line), Number(column))}`;
  }
  return undefined;
}

function originalLine({ map }: Compiled, line: number, column: number): number {
  if (map === undefined) return line;
  const entry = new SourceMap(JSON.parse(map)).findEntry(line - 1, column - 1);
  return 'originalLine' in entry && typeof entry.originalLine === 'number' ? entry.originalLine + 1 : line;
}
