// The SQLite driver: Node's own if it has one, else an optional package; loaded on first use.

import { createRequire } from 'node:module';
import { ToolError } from '../../core/error.js';

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

/** Opens a database file. Throws `unavailable` if there is no driver. */
export function openDatabase(file: string): Database {
  const Driver = loadNodeDriver() ?? loadOptionalDriver();
  if (Driver !== undefined) return cacheStatements(new Driver(file));
  throw new ToolError('unavailable', 'no SQLite driver for the context store', {
    hint: 'npm install libsql@0.5.29, or use Node 22.13 or newer',
  });
}

// Preparing a statement takes as long as running it, and the store uses few of them often.
function cacheStatements(database: Database): Database {
  const statements = new Map<string, Statement>();
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = statements.get(sql) ?? database.prepare(sql);
      statements.set(sql, statement);
      return statement;
    },
    close: () => database.close(),
  };
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

function loadOptionalDriver(): Driver | undefined {
  try {
    return createRequire(import.meta.url)('libsql') as Driver;
  } catch {
    return undefined;
  }
}
