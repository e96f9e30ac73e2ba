// The database of documents: its tables, how it is opened, and what its complaints mean to a caller.

import { isToolError, ToolError } from '../../core/error.js';
import { type Database, openDatabase } from './driver.js';

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
const BUSY_MS = 10_000;
// A large document takes another process some seconds.
const TURN_SECONDS = 30;

/** Opens the database, and makes its tables where there are none. */
export function openStore(file: string): Database {
  const db = openDatabase(file);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = NORMAL');
    if (schemaVersion(db) === 0) {
      db.exec('BEGIN IMMEDIATE');
      // Another process may have been first.
      if (schemaVersion(db) === 0) db.exec(`${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}`);
      db.exec('COMMIT');
    }
    const version = schemaVersion(db);
    if (version !== SCHEMA_VERSION) {
      throw new ToolError('unavailable', `the context store ${file} was made by a newer wield`, {
        hint: 'use that version, or move the file away to begin anew',
      });
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function schemaVersion(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}

/** The same for what writes: it waits for its turn without holding this process up, and so must not wait there. */
export function openWriter(file: string): Database {
  const db = openStore(file);
  db.exec('PRAGMA busy_timeout = 0');
  return db;
}

/** Runs `work` in a transaction of a writer that nobody else writes in. */
export async function inTransaction<T>(db: Database, work: (db: Database) => T | Promise<T>): Promise<T> {
  await begin(db);
  try {
    const result = await work(db);
    db.exec('COMMIT');
    return result;
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

async function begin(db: Database): Promise<void> {
  const [began] = process.hrtime();
  for (;;) {
    try {
      db.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (!isBusy(error) || process.hrtime()[0] - began > TURN_SECONDS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 20));
    }
  }
}

/** Runs what only reads. */
export function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toStoreError(error);
  }
}

function isBusy(error: unknown): boolean {
  return /busy|locked/i.test((error as Error).message);
}

/** What the database says is no error of the caller's; two of its complaints have a remedy. */
export function toStoreError(error: unknown): ToolError {
  if (isToolError(error)) return error;
  if (isBusy(error)) {
    return new ToolError('busy', 'the context store is in use by another process', {
      hint: 'try again in a moment',
      cause: error,
    });
  }
  return new ToolError('io', `the context store cannot be used: ${(error as Error).message}`, {
    hint: 'check the disk and the permissions of WIELD_HOME/projects; moving the file away begins anew',
    cause: error,
  });
}
