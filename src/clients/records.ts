// Records of changes by `wield connect`, for undo. Stored privately, because a replaced entry may contain a secret.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { JsonObject } from '../core/json.js';
import { boolean, integer, list, nullable, object, oneOf, string, strings, table } from '../core/shape.js';
import { changeFile } from '../files/change.js';
import { readStateFile } from '../files/read.js';
import { readState } from '../files/state.js';
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

const OPEN = { unknown: 'keep' } as const;
const RECORD = object(
  {
    client: string,
    file: string,
    path: strings,
    entry: table,
    previous: nullable(table),
    offset: integer(),
    removed: string,
    inserted: string,
    created: boolean,
  },
  OPEN,
);
const RECORDS = object({ version: oneOf(1), records: list(RECORD) }, OPEN);

function parse(text: string | undefined, store: string): readonly ConnectRecord[] {
  if (text === undefined) return [];
  const hint = 'move it away; it is only needed to undo earlier connections';
  const refuse = (): ToolError => new ToolError('io', `cannot read ${store}: invalid format`, { hint });
  return readState(RECORDS, text, store, refuse).records as unknown as readonly ConnectRecord[];
}
