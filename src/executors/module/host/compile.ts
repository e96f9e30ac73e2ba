// Compiles TypeScript once per content, with a cache on disk whose entries are verified before use (MOD-8).

import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isToolError } from '../../../core/error.js';
import type { Finding } from '../../../core/problem.js';
import { digestBytes, digestParts } from '../../../files/digest.js';
import { readStateFile } from '../../../files/read.js';
import { writeFileAtomic } from '../../../files/write.js';

export interface Compiled {
  /** The original source. */
  readonly source: string;
  readonly code: string;
  /** The source map; absent if the code is the source. */
  readonly map?: string;
}

type Compiler = typeof import('@swc/wasm-typescript');

// Increased with the compiler, or when the cache format changes.
const VERSION = '@swc/wasm-typescript 1.16.2, 1';
const MAX_BYTES = 32 * 1024 * 1024;

// Imported lazily: loading it takes longer than most modules run, and a warm cache does not need it.
let compiler: Compiler | undefined;
async function loadCompiler(): Promise<Compiler> {
  compiler ??= (await import('@swc/wasm-typescript')) as Compiler;
  return compiler;
}

/** Compiles a source to JavaScript; `typed` means it is TypeScript. */
type Compile = (path: string, bytes: Buffer, typed: boolean) => Promise<Compiled>;

export function createCompiler(directory: string): Compile {
  return async (path, bytes, typed) => {
    const source = bytes.toString('utf8');
    if (!typed) return { source, code: source };
    const key = digestBytes(bytes);
    const file = join(directory, `${key}.code`);
    const cached = readCached(file, key);
    if (cached !== undefined) return { source, ...cached };
    const made = await compile(source, path);
    try {
      writeFileAtomic(file, JSON.stringify({ digest: seal(key, made.code, made.map), ...made }), {
        durable: false,
      });
    } catch {
      // The cache is optional.
    }
    return { source, ...made };
  };
}

// Ignores entries whose digest, over source and code, does not match.
function readCached(file: string, key: string): { code: string; map: string } | undefined {
  try {
    const text = readStateFile(file, MAX_BYTES);
    if (text === undefined) return undefined;
    const { digest, code, map } = JSON.parse(text) as { digest: string; code: string; map: string };
    return digest === seal(key, code, map) ? { code, map } : undefined;
  } catch {
    return undefined;
  }
}

function seal(key: string, code: string, map: string): string {
  return digestParts([VERSION, key, code, map]);
}

async function compile(source: string, path: string): Promise<{ code: string; map: string }> {
  const { transformSync } = await loadCompiler();
  try {
    const { code, map = '{}' } = transformSync(source, {
      mode: 'transform',
      filename: path,
      module: true,
      sourceMap: true,
      // Removes imports that are only used as types, as tsc does.
      transform: { verbatimModuleSyntax: false, nativeClassProperties: true },
    });
    return { code, map };
  } catch (error) {
    throw toSyntaxError(error, path);
  }
}

interface CompileError {
  readonly message?: string;
  readonly startLine?: number;
}

function toSyntaxError(error: unknown, path: string): SyntaxError {
  const { message = String(error), startLine } = error as CompileError;
  const position = startLine === undefined ? path : `${path}:${startLine}`;
  return Object.assign(new SyntaxError(message), { position });
}

/** Adds the place of a syntax error, which the engine does not report but the compiler does. */
export async function locateSyntaxError(error: unknown, path: string, source: string): Promise<unknown> {
  if (!(error instanceof SyntaxError)) return error;
  const { transformSync } = await loadCompiler();
  try {
    transformSync(source, { mode: 'strip-only', module: true });
    return error;
  } catch (found) {
    const { startLine } = found as CompileError;
    return startLine === undefined ? error : Object.assign(error, { position: `${path}:${startLine}` });
  }
}

/** The compiled modules of this process by URL, for their source maps. */
const compiledModules = new Map<string, Compiled>();

export function rememberCompiled(url: string, compiled: Compiled): void {
  compiledModules.set(url, compiled);
}

export function describeLoadError(thrown: unknown): Finding {
  if (isToolError(thrown)) return { message: thrown.message, hint: thrown.hint ?? 'fix the file' };
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const position = positionOf(thrown);
  return { message: position === undefined ? message : `${position}: ${message}`, hint: hintFor(thrown) };
}

function hintFor(thrown: unknown): string {
  const { missingPackage, code } = Object(thrown) as { missingPackage?: string; code?: string };
  if (missingPackage !== undefined) return `npm install ${missingPackage}`;
  return code === 'ERR_MODULE_NOT_FOUND' ? 'install the missing package' : 'fix the file: it throws when it is loaded';
}

// Returns the first stack frame in a compiled module, as a place in its source.
function positionOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if ('position' in thrown) return String(thrown.position);
  for (const [, url, line, column] of (thrown.stack ?? '').matchAll(/(file:\/\/[^\s()]+?):(\d+):(\d+)/g)) {
    const compiled = compiledModules.get(url!);
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
