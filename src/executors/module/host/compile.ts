// Compiles TypeScript once for each content, and keeps the result where it can be proved before it is used (MOD-8).

import { join } from 'node:path';
import { digestBytes, digestParts } from '../../../files/digest.js';
import { readTextFile } from '../../../files/read.js';
import { writeFileAtomic } from '../../../files/write.js';

export interface Compiled {
  /** What its author wrote. */
  readonly source: string;
  readonly code: string;
  /** The source map, where the code is not what its author wrote. */
  readonly map?: string;
}

type Compiler = typeof import('@swc/wasm-typescript');

// Raised with the compiler, or whenever what is kept means something else.
const VERSION = '@swc/wasm-typescript 1.16.2, 1';
const MAX_BYTES = 32 * 1024 * 1024;

// Loading it takes longer than running most modules, and a warm cache needs none of it.
let compiler: Compiler | undefined;
async function loadCompiler(): Promise<Compiler> {
  compiler ??= (await import('@swc/wasm-typescript')) as Compiler;
  return compiler;
}

/** Makes JavaScript of what an author wrote; `typed`: in TypeScript. */
type Compile = (path: string, bytes: Buffer, typed: boolean) => Promise<Compiled>;

export function createCompiler(directory: string): Compile {
  return async (path, bytes, typed) => {
    const source = bytes.toString('utf8');
    if (!typed) return { source, code: source };
    const key = digestBytes(bytes);
    const file = join(directory, `${key}.code`);
    const kept = readKept(file, key);
    if (kept !== undefined) return { source, ...kept };
    const made = await compile(source, path);
    try {
      writeFileAtomic(file, JSON.stringify({ digest: seal(key, made.code, made.map), ...made }), {
        durable: false,
      });
    } catch {
      // A cache that cannot be written costs time and nothing else.
    }
    return { source, ...made };
  };
}

// Altered code is as good as none: its hash, over what it was made from too, is what makes it ours.
function readKept(file: string, key: string): { code: string; map: string } | undefined {
  try {
    const text = readTextFile(file, MAX_BYTES);
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
      // Imports of types alone are left out, as the compiler of the language does.
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
  const place = startLine === undefined ? path : `${path}:${startLine}`;
  return Object.assign(new SyntaxError(message), { place });
}

/** The engine does not say where a source cannot be read; the compiler does. */
export async function locate(error: unknown, path: string, source: string): Promise<unknown> {
  if (!(error instanceof SyntaxError)) return error;
  const { transformSync } = await loadCompiler();
  try {
    transformSync(source, { mode: 'strip-only', module: true });
    return error;
  } catch (found) {
    const { startLine } = found as CompileError;
    return startLine === undefined ? error : Object.assign(error, { place: `${path}:${startLine}` });
  }
}
