// Records of changes by `wield connect`, for undo. Stored privately, because a replaced entry may contain a secret.

import { join } from 'node:path';
import { isToolError, ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { changeFile } from '../files/change.js';
import { readStateFile } from '../files/read.js';
import { parseStateJson } from '../files/state.js';
import type { KeyPath } from './forms/form.js';

/** A change of one file: the replaced text, and the entry before and after. */
export interface ConnectRecord {
  readonly client: string;
  /** With links resolved. */
  readonly file: string;
  readonly path: KeyPath;
  readonly entry: JsonObject;
  readonly previous: JsonObject | null;
  readonly offset: number;
  readonly removed: string;
  readonly inserted: string;
  /** Whether this change created the file. */
  readonly created: boolean;
  /** The directories it created, innermost first. */
  readonly directories?: readonly string[];
}

export interface RecordStore {
  /** Returns the changes of one entry, oldest first. */
  find(file: string, path: KeyPath): readonly ConnectRecord[];
  /** Replaces the changes of one entry. */
  put(file: string, path: KeyPath, records: readonly ConnectRecord[]): Promise<void>;
}

const MAX_BYTES = 64 * 1024 * 1024;

export function createRecordStore(wieldHome: string): RecordStore {
  const store = join(wieldHome, 'connect.json');
  const isOf = (record: ConnectRecord, file: string, path: KeyPath): boolean =>
    record.file === file && JSON.stringify(record.path) === JSON.stringify(path);
  return {
    find: (file, path) => parse(readStateFile(store, MAX_BYTES), store).filter((record) => isOf(record, file, path)),
    put: (file, path, records) =>
      changeFile(store, { doing: 'recording a connection' }, (text) => {
        const all = parse(text, store);
        const others = all.filter((record) => !isOf(record, file, path));
        if (records.length === 0 && others.length === all.length) return undefined;
        const document = { version: 1, records: [...others, ...records] };
        return `${JSON.stringify(document, null, 2)}\n`;
      }),
  };
}

function parse(text: string | undefined, store: string): ConnectRecord[] {
  try {
    if (text === undefined) return [];
    const document = parseStateJson(text, store);
    if (isRecord(document) && document.version === 1 && Array.isArray(document.records)) {
      if (document.records.every(isConnectRecord)) return document.records;
    }
    throw new Error('invalid format');
  } catch (error) {
    if (isToolError(error)) throw error;
    throw new ToolError('io', `cannot read ${store}: ${(error as Error).message}`, {
      hint: 'move it away; it is only needed to undo earlier connections',
    });
  }
}

function isConnectRecord(value: unknown): value is ConnectRecord {
  return (
    isRecord(value) &&
    ['client', 'file', 'removed', 'inserted'].every((key) => typeof value[key] === 'string') &&
    Array.isArray(value.path) &&
    typeof value.offset === 'number' &&
    isRecord(value.entry)
  );
}
