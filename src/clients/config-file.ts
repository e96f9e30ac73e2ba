// A client's file as it is: read without losing a byte, edited with a proof, written back through links with its mode.

import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { readHead, statOrNothing } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import { type Form, FormFault, type KeyPath, valueAt, withValue } from './forms/form.js';

const MOST_BYTES = 64 * 1024 * 1024;
const MARK = '\ufeff';

export interface ConfigFile {
  /** As it is named. */
  readonly path: string;
  /** Where it lies, links followed. */
  readonly real: string;
  /** The whole text, a byte order mark included; null where there is no file. */
  readonly text: string | null;
  readonly document: unknown;
}

/** Reads a file and its document; what cannot be read or understood is an error that says where. */
export function readConfig(path: string, form: Form): ConfigFile {
  const real = findReal(path);
  const text = readWhole(real, path);
  return { path, real, text, document: parse(text ?? '', form, path) };
}

/** The whole text with this entry, or without any at this path; proved by reading it again. */
export function editConfig(
  file: ConfigFile,
  form: Form,
  path: KeyPath,
  entry: JsonObject | undefined,
): string {
  const whole = file.text ?? '';
  const mark = whole.startsWith(MARK) ? MARK : '';
  const text = whole.slice(mark.length);
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n';
  const edited = guard(file.path, () =>
    entry === undefined ? form.remove(text, path) : form.set(text, path, entry, eol),
  );
  const expected = withValue(file.document, path, entry);
  const found = parse(edited, form, file.path);
  if (!isDeepStrictEqual(toComparable(found, path), toComparable(expected, path)))
    throw cannotEdit(file.path, `${path.join('.')} is not written in a way that wield can edit`, null);
  return mark + edited;
}

/** Writes a text where the file lies; refused where it is not what was read any more. */
export function writeConfig(file: ConfigFile, text: string, isPrivate: boolean): void {
  if (readWhole(file.real, file.path) !== file.text) {
    throw new ToolError('conflict', `${file.path} changed in the meantime, and was not written`, {
      hint: 'repeat the command to see what it would do now',
    });
  }
  try {
    const stats = statOrNothing(file.real);
    if (stats === undefined) mkdirSync(dirname(file.real), { recursive: true });
    const mode = stats === undefined ? (isPrivate ? 0o600 : 0o644) : stats.mode & 0o777;
    writeFileAtomic(file.real, text, { mode, exactMode: stats !== undefined });
  } catch (error) {
    throw new ToolError('io', `cannot write ${file.path}: ${(error as Error).message}`, {
      hint: 'check who may write there',
      cause: error,
    });
  }
}

/** The document of a text, as the proof of an edit reads it. */
export function parse(text: string, form: Form, path: string): unknown {
  return guard(path, () => form.parse(text.startsWith(MARK) ? text.slice(1) : text));
}

// Parsers make objects of several kinds; only what they hold counts.
export function toPlain(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document)) as unknown;
}

/** A document without tables on the way to an entry that hold nothing: they come and go with it. */
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
      throw new ToolError('io', `${path} is a link that leads nowhere`, {
        hint: 'remove it, or make the file that it leads to',
      });
    }
    return path;
  }
}

function lstatOrNothing(path: string): unknown {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function readWhole(real: string, path: string): string | null {
  const reading = readHead(real, MOST_BYTES);
  if ('fault' in reading) {
    if (reading.fault === 'missing') return null;
    throw new ToolError('io', `cannot read ${path}: ${reading.message}`, { hint: 'check who may read it' });
  }
  try {
    if (!reading.complete) throw new Error('it is too large');
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(reading.bytes);
  } catch {
    throw new ToolError(
      'invalid_definition',
      `${path} is ${reading.complete ? 'no UTF-8 text' : 'too large'}`,
      {
        hint: 'look at the file: wield changes nothing that it cannot write back byte for byte',
      },
    );
  }
}

function guard<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FormFault) throw cannotEdit(path, error.message, error.line);
    throw error;
  }
}

function cannotEdit(path: string, message: string, line: number | null): ToolError {
  return new ToolError('invalid_definition', `${path}${line === null ? '' : `:${line}`}: ${message}`, {
    hint: 'mend the file, or edit it by hand: wield connect CLIENT --print shows the entry',
    data: { path, line },
  });
}
