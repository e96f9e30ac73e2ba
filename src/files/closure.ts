// Reads a module and its relative imports, with hashes. Runs nothing.

import { dirname, extname, join, relative, resolve } from 'node:path';
import { orNothing } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { Boundary, FileIdentity } from '../core/origin.js';
import { formatBytes } from '../core/text.js';
import type { ModuleFile } from '../core/tool.js';
import { digestBytes, digestParts } from './digest.js';
import { type ReadFault, readHead, statOrNothing } from './read.js';

/** A file of a module with its identity when it was read. */
export interface ReadModuleFile extends ModuleFile {
  readonly identity: FileIdentity;
}

/** Of a module with its imports, so also of each file. */
export const MAX_MODULE_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 1000;
// Matches `import './x'`, `from './x'`, `import('./x')`, `require('./x')` and `resolve('./x')`, with comments between, and
// every other text that may be the path of code, as of `createRequire(…)('./x.cjs')`. A false match only adds a file to the
// hash. Repetitions are bounded, because the text is untrusted.
const BLANK = String.raw`(?:\s|/\*(?:[^*]|\*(?!/)){0,200}\*/){0,32}`;
const SPECIFIER = new RegExp(
  String.raw`(\b(?:from|import|require|resolve)${BLANK}\(?${BLANK})?(["'\`])(\.\.?(?:/[^"'\`\n\\]{0,1000})?)\2`,
  'g',
);
const CODE = /\.(?:[cm]?[jt]s|node|wasm)$/;
// As in TypeScript, `./x.js` may refer to `./x.ts`, and the extension may be omitted.
const TYPED = new Map([
  ['.js', '.ts'],
  ['.mjs', '.mts'],
]);
const ENDINGS = ['.ts', '.mts', '.js', '.mjs', '/index.ts', '/index.js'];
// What `require` tries too; it prefers others of these than `import`.
const REQUIRED = ['.json', '.node', '/index.json', '/index.node'];

/** Resolves a relative import; undefined if no file matches. */
export function resolveImport(specifier: string, from: string): string | undefined {
  return candidatesOf(resolve(dirname(from), specifier)).find(isFile);
}

function candidatesOf(path: string): string[] {
  const ending = extname(path);
  const typed = TYPED.get(ending);
  return [
    path,
    ...(typed === undefined ? [] : [path.slice(0, -ending.length) + typed]),
    ...ENDINGS.map((end) => path + end),
  ];
}

function isFile(path: string): boolean {
  return statOrNothing(path)?.isFile() === true;
}

/** Returns a file and its imports, starting with itself. */
export function readClosure(file: string, within?: Boundary): readonly ReadModuleFile[] | ReadFault {
  return readAll([file], within, file);
}

/** Returns the relative imports of code that is part of `file`. */
export function readImports(code: string, file: string, within?: Boundary): readonly ReadModuleFile[] | ReadFault {
  return readAll(importsOf(code, file), within);
}

// Missing files are left out, except for the root; loading reports them.
function readAll(
  paths: readonly string[],
  within: Boundary | undefined,
  root?: string,
): readonly ReadModuleFile[] | ReadFault {
  const files = new Map<string, ReadModuleFile>();
  const waiting = [...paths];
  let bytes = 0;
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (files.has(path)) continue;
    const reading = readModuleFile(path, within);
    if ('fault' in reading) {
      if (path === root) return reading;
      continue;
    }
    files.set(path, reading.file);
    bytes += reading.file.identity.size;
    if (files.size > MAX_FILES || bytes > MAX_MODULE_BYTES) {
      const most = `${MAX_FILES} files or ${formatBytes(MAX_MODULE_BYTES)}`;
      return { fault: 'unreadable', message: `it and its imports are more than ${most}` };
    }
    waiting.push(...importsOf(reading.text, path));
  }
  return [...files.values()];
}

/** Drops the identity of a file. */
export function toModuleFile({ path, sha256 }: ReadModuleFile): ModuleFile {
  return { path, sha256 };
}

/** Returns one hash over the files of a module, independent of its directory. */
export function closureKey(files: readonly ModuleFile[], file: string): string {
  const parts = files.map(({ path, sha256 }) => `${relative(dirname(file), path)}\n${sha256}`);
  return digestParts(['module', ...parts.sort()]);
}

function readModuleFile(
  path: string,
  within: Boundary | undefined,
): { readonly file: ReadModuleFile; readonly text: string } | ReadFault {
  const reading = readHead(path, MAX_MODULE_BYTES, { within });
  if ('fault' in reading) return reading;
  const { bytes, identity } = reading;
  const text = /\.(?:[cm]?[jt]s)$/.test(path) ? bytes.toString('utf8') : '';
  return { file: { path, sha256: digestBytes(bytes), identity }, text };
}

function importsOf(text: string, from: string): string[] {
  return [...text.matchAll(SPECIFIER)].flatMap(([, keyword, , specifier]) => {
    const path = resolve(dirname(from), specifier!);
    if (keyword === undefined) return candidatesOf(path).filter((one) => CODE.test(one) && isFile(one));
    return [...candidatesOf(path), ...REQUIRED.map((end) => path + end), ...mainOf(path)].filter(isFile);
  });
}

// What `require` loads of a directory with a package.json.
function mainOf(directory: string): string[] {
  const manifest = join(directory, 'package.json');
  const reading = readHead(manifest, MAX_MODULE_BYTES);
  const read = orNothing(() => ('fault' in reading ? {} : (JSON.parse(reading.bytes.toString('utf8')) as unknown)));
  if (!isRecord(read) || typeof read.main !== 'string') return [];
  const main = resolve(directory, read.main);
  return [manifest, ...candidatesOf(main), ...REQUIRED.map((end) => main + end)];
}
