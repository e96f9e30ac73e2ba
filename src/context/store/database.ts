// The database of documents: its driver and schema, its connections and transactions, and its errors.

import { closeSync, existsSync, openSync } from 'node:fs';
import { pause } from '../../core/async.js';
import { isToolError, orNothing, ToolError } from '../../core/error.js';
import { loadSqlite } from '../../files/libraries.js';
import { openState } from '../../files/read.js';

export type Value = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, Value>>;

/** The part of both drivers that the store uses. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export interface Statement {
  run(...values: Value[]): unknown;
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
}

const SCHEMA_VERSION = 1;
const SCHEMA = `
  CREATE TABLE versions (
    path TEXT NOT NULL, version INTEGER NOT NULL, payload TEXT, size INTEGER, kind TEXT NOT NULL,
    created INTEGER NOT NULL, PRIMARY KEY (path, version)
  ) WITHOUT ROWID;
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, live INTEGER NOT NULL
  );
  CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    start INTEGER NOT NULL, length INTEGER NOT NULL
  );
  CREATE INDEX chunks_of ON chunks (document);
  CREATE VIRTUAL TABLE words USING fts5 (
    text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
  );
`;
const BUSY_TIMEOUT_MS = 10_000;
// Another process may take several seconds to write a large document.
const WRITE_LOCK_SECONDS = 30;
// SQLite's result codes.
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const RETRY_MS = 20;

/** Creates connections that open the database on first use. */
export function createConnections(prepareFile: () => string) {
  let reader: Database | undefined;
  let writer: Database | undefined;
  let lastChange: Promise<unknown> = Promise.resolve();
  return {
    /** Reads the last committed state, also while a change is running. */
    read<T>(work: (db: Database) => T): T {
      try {
        reader ??= openStore(prepareFile());
        return work(reader);
      } catch (error) {
        throw toStoreError(error);
      }
    },
    /** Runs `work` in an exclusive transaction, after earlier changes. It may take several ticks. */
    change<T>(work: (db: Database) => T | Promise<T>): Promise<T> {
      const result = lastChange.then(async () => {
        try {
          writer ??= openWriter(prepareFile());
          return await inTransaction(writer, work);
        } catch (error) {
          throw toStoreError(error);
        }
      });
      lastChange = result.catch(() => {});
      return result;
    },
    close(): void {
      reader?.close();
      reader = undefined;
      const closing = writer;
      writer = undefined;
      // Everything that was changed is committed.
      lastChange.then(() => closing?.close()).catch(() => {});
    },
  };
}

// Creates the tables if there are none.
function openStore(file: string): Database {
  // Created by the database itself, others could read it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  for (const part of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(part)) closeSync(openState(part));
  const db = openDatabase(file);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    enableWal(db);
    db.exec('PRAGMA synchronous = NORMAL');
    if (schemaVersion(db) === 0) {
      db.exec('BEGIN IMMEDIATE');
      // Another process may have created them in between.
      if (schemaVersion(db) === 0) db.exec(`${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}`);
      db.exec('COMMIT');
    }
    const version = schemaVersion(db);
    if (version !== SCHEMA_VERSION) {
      const message = `the context store ${file} was created by a newer version of wield`;
      const hint = 'use that version, or move the file away to start with an empty store';
      throw new ToolError('unavailable', message, { hint });
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

// SQLite ignores the busy timeout here while another process creates the database.
function enableWal(db: Database): void {
  const isFree = createAttempts(db, 'PRAGMA journal_mode = WAL');
  while (!isFree()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
}

// Returns a function that runs a statement; it returns false if the database is busy, and throws if it is for too long.
function createAttempts(db: Database, sql: string): () => boolean {
  const [started] = process.hrtime();
  return () => {
    try {
      db.exec(sql);
      return true;
    } catch (error) {
      if (!isBusy(error) || process.hrtime()[0] - started > WRITE_LOCK_SECONDS) throw error;
      return false;
    }
  };
}

function schemaVersion(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}

// Without a busy timeout, which would block the event loop.
function openWriter(file: string): Database {
  const db = openStore(file);
  db.exec('PRAGMA busy_timeout = 0');
  return db;
}

async function inTransaction<T>(db: Database, work: (db: Database) => T | Promise<T>): Promise<T> {
  const isBegun = createAttempts(db, 'BEGIN IMMEDIATE');
  while (!isBegun()) await pause(1 + Math.random() * RETRY_MS);
  try {
    const result = await work(db);
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // On a full disk SQLite has rolled back by itself; the first error is the reason.
    orNothing(() => db.exec('ROLLBACK'));
    throw error;
  }
}

// The two drivers name SQLite's result code differently.
function isBusy(error: unknown): boolean {
  const { rawCode, errcode } = error as { readonly rawCode?: number; readonly errcode?: number };
  const code = (rawCode ?? errcode ?? 0) & 0xff;
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

function toStoreError(error: unknown): ToolError {
  if (isToolError(error)) return error;
  if (isBusy(error)) {
    return new ToolError('busy', 'the context store is in use by another process', {
      hint: 'try again in a moment',
      cause: error,
    });
  }
  const { message } = error as Error;
  // libsql reports the failed open as `ConnectionFailed("…")`.
  const reason = message.startsWith('ConnectionFailed') ? 'unable to open database file' : message;
  return new ToolError('io', `the context store failed: ${reason}`, {
    hint: 'check the disk and the permissions of WIELD_HOME/projects, or move the file away to start with an empty store',
    cause: error,
  });
}

/** Opens a database file with Node's own driver, else an optional package. Throws `unavailable` if there is none. */
export function openDatabase(file: string): Database {
  const Driver = loadNodeDriver() ?? orNothing(() => loadSqlite() as Driver);
  if (Driver !== undefined) return new Driver(file);
  throw new ToolError('unavailable', 'no SQLite driver for the context store', {
    hint: 'npm install libsql@0.5.29, or use Node 22.13 or newer',
  });
}

type Driver = new (file: string) => Database;

function loadNodeDriver(): Driver | undefined {
  // Suppresses Node's warning that the module is experimental.
  const warn = process.emitWarning;
  process.emitWarning = () => {};
  try {
    // The types of Node 20 do not include the module.
    const sqlite = process.getBuiltinModule('node:sqlite' as string) as { readonly DatabaseSync: Driver } | undefined;
    return sqlite?.DatabaseSync;
  } finally {
    process.emitWarning = warn;
  }
}
