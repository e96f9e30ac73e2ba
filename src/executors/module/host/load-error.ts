// Describes why a module failed to load, with the place in its source (MOD-9).

import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isToolError } from '../../../core/error.js';
import type { Finding } from '../../../core/problem.js';
import type { Compiled } from './compile.js';

/** The compiled modules of this process by URL, for their source maps. */
const compiledModules = new Map<string, Compiled>();

export function rememberCompiled(url: string, compiled: Compiled): void {
  compiledModules.set(url, compiled);
}

export function describeLoadError(thrown: unknown): Finding {
  if (isToolError(thrown)) return { message: thrown.message, hint: thrown.hint ?? 'fix the file' };
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const place = placeOf(thrown);
  return { message: place === undefined ? message : `${place}: ${message}`, hint: hintFor(thrown) };
}

function hintFor(thrown: unknown): string {
  const { missingPackage, code } = Object(thrown) as { missingPackage?: string; code?: string };
  if (missingPackage !== undefined) return `npm install ${missingPackage}`;
  return code === 'ERR_MODULE_NOT_FOUND' ? 'install the missing package' : 'fix the file: it throws when it is loaded';
}

// Returns the first stack frame in a compiled module, as a place in its source.
function placeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if ('place' in thrown) return String(thrown.place);
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
