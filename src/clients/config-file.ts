// Reads, edits and writes a configuration file of a client, preserving everything else.

import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { systemReason, ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { changedMeanwhile, withFileLock } from '../files/change.js';
import type { LockContext } from '../files/lock.js';
import { makeDirectory } from '../files/make-directory.js';
import { lstatOrNothing, readHead, statOrNothing } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import { type Form, FormFault, type KeyPath, valueAt, withValue } from './forms/form.js';

const MAX_BYTES = 64 * 1024 * 1024;
const BOM = '\ufeff';

export interface ConfigFile {
  readonly path: string;
  /** The path with links resolved. */
  readonly real: string;
  /** The text including a byte order mark; null if the file does not exist. */
  readonly text: string | null;
  readonly document: unknown;
  /** What to do if it cannot be edited. */
  readonly hint: string;
}

const HINT = 'fix the file, or edit it by hand';

/** Reads and parses a file. Throws a ToolError with the line and the hint. */
export function readConfig(path: string, form: Form, hint = HINT): ConfigFile {
  const real = findReal(path);
  const text = readWhole(real, path);
  return { path, real, text, document: parse(text ?? '', form, { path, hint }), hint };
}

/** Runs work while no other wield changes a file. */
export function withConfigLock<T>(
  path: string,
  context: Omit<LockContext, 'doing'> & { readonly wieldHome: string },
  work: () => Promise<T>,
): Promise<T> {
  return withFileLock(findReal(path), { ...context, doing: `changing ${path}` }, work);
}

/** Sets or removes an entry and verifies the result by parsing it. */
export function editConfig(file: ConfigFile, form: Form, path: KeyPath, entry: JsonObject | undefined): string {
  const whole = file.text ?? '';
  const mark = whole.startsWith(BOM) ? BOM : '';
  const text = whole.slice(mark.length);
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n';
  const edited = guard(file, () => (entry === undefined ? form.remove(text, path) : form.set(text, path, entry, eol)));
  const expected = withValue(file.document, path, entry);
  const found = parse(edited, form, file);
  if (!isDeepStrictEqual(toComparable(found, path), toComparable(expected, path)))
    throw cannotEdit(file, `${path.join('.')} cannot be edited in place`, null);
  return mark + edited;
}

/** Writes a file. Throws `conflict` if it changed since it was read. */
export function writeConfig(file: ConfigFile, text: string, isPrivate: boolean): void {
  if (readWhole(file.real, file.path) !== file.text) throw changedMeanwhile(file.path);
  try {
    const stats = statOrNothing(file.real);
    if (stats === undefined) makeDirectory(dirname(file.real), 0o777);
    const mode = stats === undefined ? (isPrivate ? 0o600 : 0o644) : stats.mode & 0o777;
    writeFileAtomic(file.real, text, { mode, exactMode: stats !== undefined });
  } catch (error) {
    throw new ToolError('io', `cannot write ${file.path}: ${systemReason(error)}`, {
      hint: 'check the permissions of the file',
      cause: error,
    });
  }
}

type Named = Pick<ConfigFile, 'path' | 'hint'>;

export function parse(text: string, form: Form, file: Named): unknown {
  return guard(file, () => form.parse(text.startsWith(BOM) ? text.slice(1) : text));
}

/** Converts the objects of a parser to plain objects, and large integers to strings. */
export function toPlain(document: unknown): unknown {
  return JSON.parse(
    JSON.stringify(document, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  ) as unknown;
}

/** Removes empty parent tables of an entry, which are created and removed with it. */
export function toComparable(document: unknown, path: KeyPath): unknown {
  let pruned = toPlain(document);
  for (let length = path.length - 1; length > 0; length--) {
    const table = valueAt(pruned, path.slice(0, length));
    if (table === null || (isRecord(table) && Object.keys(table).length === 0))
      pruned = withValue(pruned, path.slice(0, length), undefined);
  }
  return pruned;
}

function findReal(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    if (lstatOrNothing(path) !== undefined) {
      throw new ToolError('io', `${path} is a link to a missing file`, { hint: 'remove the link or create the file' });
    }
    return path;
  }
}

function readWhole(real: string, path: string): string | null {
  const reading = readHead(real, MAX_BYTES);
  if ('fault' in reading) {
    if (reading.fault === 'missing') return null;
    throw new ToolError('io', `cannot read ${path}: ${reading.message}`, { hint: 'check the permissions of the file' });
  }
  try {
    if (!reading.complete) throw new Error('too large');
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(reading.bytes);
  } catch {
    throw new ToolError('invalid_definition', `${path} is ${reading.complete ? 'not UTF-8 text' : 'too large'}`, {
      hint: 'check the file; wield edits text files only',
    });
  }
}

function guard<T>(file: Named, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FormFault) throw cannotEdit(file, error.message, error.line);
    throw error;
  }
}

function cannotEdit({ path, hint }: Named, message: string, line: number | null): ToolError {
  return new ToolError('invalid_definition', `${path}${line === null ? '' : `:${line}`}: ${message}`, {
    hint,
    data: { path, line },
  });
}
