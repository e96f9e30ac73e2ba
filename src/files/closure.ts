// Reads a module file and all that it imports by a relative path, with their hashes. Runs nothing.

import { dirname, extname, relative, resolve } from 'node:path';
import { formatBytes } from '../core/text.js';
import type { FileIdentity, ModuleFile } from '../core/tool.js';
import { digestBytes, digestParts } from './digest.js';
import { type ReadFault, readHead, statOrNothing } from './read.js';

/** A file of a module as it was read. */
export interface ReadModuleFile extends ModuleFile {
  readonly identity: FileIdentity;
}

export const MAX_MODULE_BYTES = 4 * 1024 * 1024;
const MAX_FILES = 1000;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
// `import './x'`, `from './x'`, `import('./x')`, comments between. One too many, from a comment or a string, only
// adds a file to the hash. Every repetition is bounded: a hostile checkout is read by this too.
const BLANK = String.raw`(?:\s|/\*(?:[^*]|\*(?!/)){0,200}\*/){0,32}`;
const SPECIFIER = new RegExp(
  String.raw`\b(?:from|import)${BLANK}\(?${BLANK}(["'\`])(\.\.?/[^"'\`\n\\]{0,1000})\1`,
  'g',
);
// As TypeScript has it, `./x.js` may mean `./x.ts`; and many leave the ending out.
const TYPED = new Map([
  ['.js', '.ts'],
  ['.mjs', '.mts'],
]);
const ENDINGS = ['.ts', '.mts', '.js', '.mjs', '/index.ts', '/index.js'];

/** The file that a relative import means; undefined where there is none. */
export function resolveImport(specifier: string, from: string): string | undefined {
  const path = resolve(dirname(from), specifier);
  const ending = extname(path);
  const typed = TYPED.get(ending);
  const candidates = [
    path,
    ...(typed === undefined ? [] : [path.slice(0, -ending.length) + typed]),
    ...ENDINGS.map((end) => path + end),
  ];
  return candidates.find((candidate) => statOrNothing(candidate)?.isFile() === true);
}

/** A file and what it imports, itself first. What cannot be found is left out: whoever loads it will say so. */
export function readClosure(file: string): readonly ReadModuleFile[] | ReadFault {
  const files = new Map<string, ReadModuleFile>();
  const waiting = [file];
  let bytes = 0;
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (files.has(path)) continue;
    const reading = readModuleFile(path);
    if ('fault' in reading) {
      if (path === file) return reading;
      continue;
    }
    files.set(path, reading.file);
    bytes += reading.file.identity.size;
    if (files.size > MAX_FILES || bytes > MAX_TOTAL_BYTES)
      return tooLarge(`imports more than ${MAX_FILES} files, or ${formatBytes(MAX_TOTAL_BYTES)} of them`);
    waiting.push(...importsOf(reading.text, path));
  }
  return [...files.values()];
}

/** The files that a piece of code imports by a relative path, as if it stood in `file`. */
export function readImports(code: string, file: string): readonly ReadModuleFile[] {
  const found = new Map<string, ReadModuleFile>();
  for (const path of importsOf(code, file)) {
    const closure = readClosure(path);
    if (!('fault' in closure)) for (const entry of closure) found.set(entry.path, entry);
  }
  return [...found.values()];
}

/** What a plan keeps of a file that was read. */
export function toModuleFile({ path, sha256 }: ReadModuleFile): ModuleFile {
  return { path, sha256 };
}

/** One hash over a module's files, wherever the checkout lies. */
export function closureKey(files: readonly ModuleFile[], file: string): string {
  const parts = files.map(({ path, sha256 }) => `${relative(dirname(file), path)}\n${sha256}`);
  return digestParts(['module', ...parts.sort()]);
}

function readModuleFile(path: string): { readonly file: ReadModuleFile; readonly text: string } | ReadFault {
  const reading = readHead(path, MAX_MODULE_BYTES);
  if ('fault' in reading) return reading;
  if (!reading.complete) return tooLarge('larger than 4 MiB');
  const { bytes, identity } = reading;
  const text = /\.(?:[cm]?[jt]s)$/.test(path) ? bytes.toString('utf8') : '';
  return { file: { path, sha256: digestBytes(bytes), identity }, text };
}

function importsOf(text: string, from: string): string[] {
  return [...text.matchAll(SPECIFIER)].flatMap(([, , specifier]) => resolveImport(specifier!, from) ?? []);
}

function tooLarge(message: string): ReadFault {
  return { fault: 'unreadable', message };
}
