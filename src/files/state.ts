// State files: only their owner can write them, and a system error becomes a ToolError that names the file.

import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isToolError, MACHINE_HINTS, systemReason, ToolError } from '../core/error.js';
import { findDuplicateKey, isRecord } from '../core/json.js';
import { positionOf } from '../core/json-syntax.js';
import { readShape, type Shape } from '../core/shape.js';
import { quoteOutside } from '../core/text.js';
import { directoriesInHome } from './home.js';
import { makeDirectory } from './make-directory.js';

/** Returns why a file or directory of the state is not used, if another user could have written it (STA-2). */
export function findUnsafe({ uid, mode }: Stats): 'foreign' | 'writable' | undefined {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  if (uid !== own && uid !== 0) return 'foreign';
  // The mode of a link means nothing.
  return (mode & 0o022) !== 0 && (mode & 0o170000) !== 0o120000 ? 'writable' : undefined;
}

/** Says in a few words why a state file is not used, and what to run. */
export function explainUnsafe(path: string, stats: Stats): string {
  return findUnsafe(stats) === 'foreign'
    ? `belongs to another user; run: sudo chown ${process.getuid?.()} ${path}`
    : `others can write to it; run: chmod 600 ${path}`;
}

/** The error for a file or directory that another user could have written. */
export function unsafeState(path: string, stats: Stats): ToolError {
  if (findUnsafe(stats) === 'foreign') {
    return new ToolError('unavailable', `${path} belongs to another user (uid ${stats.uid}), so it is not used`, {
      hint: `if you know its contents, run: sudo chown -R ${process.getuid?.()} ${path}; else move it away`,
      data: { path },
    });
  }
  return new ToolError('unavailable', `others can write to ${path}, so it is not used`, {
    hint: `check its contents, then run: chmod ${stats.isDirectory() ? 700 : 600} ${path}`,
    data: { path },
  });
}

/** Throws if another user could have written to one of the directories between a file and its wield home (STA-2). */
export function checkParents(file: string): void {
  for (const directory of directoriesInHome(file) ?? []) checkOne(directory);
}

/** Throws if another user could have written the files of a directory; returns whether it exists. */
export function checkStateDirectory(directory: string): boolean {
  checkParents(directory);
  return checkOne(directory);
}

function checkOne(directory: string): boolean {
  let stats: Stats | undefined;
  try {
    stats = lstatSync(directory, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) {
      if (findUnsafe(stats) !== undefined) throw unsafeState(directory, stats);
      stats = statSync(directory, { throwIfNoEntry: false });
    }
  } catch (error) {
    throw toFileError(error, 'read', directory);
  }
  if (stats === undefined) return false;
  if (findUnsafe(stats) !== undefined) throw unsafeState(directory, stats);
  if (!stats.isDirectory()) {
    throw new ToolError('unavailable', `${directory} could not be used: it is not a directory`, {
      hint: 'move it away, or set WIELD_HOME to another directory',
      data: { path: directory },
    });
  }
  return true;
}

/** Creates a private directory, or checks the existing one. */
export function createStateDirectory(directory: string): void {
  try {
    makeDirectory(directory);
  } catch (error) {
    throw toFileError(error, 'write', directory);
  }
  checkStateDirectory(directory);
}

/** Returns an error for each file and directory of the wield home that another user could have written. */
export function listUnsafeState(wieldHome: string): ToolError[] {
  const visit = (path: string, depth: number): ToolError[] => {
    try {
      const stats = lstatSync(path);
      if (findUnsafe(stats) !== undefined) return [unsafeState(path, stats)];
      if (!stats.isDirectory() || depth === 0) return [];
      return readdirSync(path).flatMap((name) => visit(join(path, name), COPIES.has(name) ? 1 : depth - 1));
    } catch {
      return [];
    }
  };
  return visit(wieldHome, LISTED_DEPTH);
}

// The deepest files are contents of documents.
const LISTED_DEPTH = 6;
// Directories of files from elsewhere, which may have any mode.
const COPIES = new Set(['objects', 'sources', 'servers', 'plugin-data']);

/** Converts a system error of reading or writing a file to a ToolError; a ToolError is returned unchanged. */
export function toFileError(error: unknown, verb: 'read' | 'write', path: string): ToolError {
  if (error instanceof ToolError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  const subject = verb === 'read' ? path : dirname(path);
  return new ToolError('io', `cannot ${verb} ${path}: ${systemReason(error)}`, {
    hint:
      MACHINE_HINTS[code] ??
      `check that ${subject} is yours and ${verb === 'read' ? 'readable' : 'a writable directory'}`,
    data: { path, ...(code === '' ? {} : { errno: code }) },
    cause: error,
  });
}

/**
 * Parses a JSON file that decides something. Throws `io` with the line if a key is there twice in one object: which one
 * counts would depend on the reader (STA-7). Throws another error if it is not JSON.
 */
export function parseStateJson(text: string, file: string): unknown {
  // Not by parseJson(), which refuses names such as `__proto__`: a server may have one.
  const value: unknown = JSON.parse(text);
  const duplicate = findDuplicateKey(text);
  if (duplicate === undefined) return value;
  const { line } = positionOf(text, duplicate.offset);
  throw new ToolError('io', `${file}:${line}: has the key "${quoteOutside(duplicate.key)}" twice in one object`, {
    hint: 'keep the right one, or restore the file',
    data: { path: file, line },
  });
}

/** Throws `unavailable` if a newer version of wield wrote a document: this one would lose what it does not know (STA-8). */
export function refuseNewer(document: unknown, file: string, known = 1): void {
  if (!isRecord(document) || typeof document.version !== 'number' || document.version <= known) return;
  throw new ToolError('unavailable', `${file} was written by a newer version of wield`, {
    hint: 'update wield the way you installed it, such as: npm install --global wield@latest',
    data: { path: file },
  });
}

/**
 * Reads the text of a state file with a shape. Throws `io` for a key that is there twice, `unavailable` for a file of a newer
 * version, and what `refuse` returns for other faults.
 */
export function readState<T>(shape: Shape<T>, text: string, file: string, refuse: () => ToolError): T {
  try {
    const document = parseStateJson(text, file);
    refuseNewer(document, file);
    const { value, faults } = readShape(shape, document);
    if (value !== undefined && faults.length === 0) return value;
  } catch (error) {
    if (isToolError(error)) throw error;
  }
  throw refuse();
}
