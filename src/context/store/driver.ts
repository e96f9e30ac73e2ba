// The embedded database: Node's own where it has one, else an optional package; loaded when first needed.

import { createRequire } from 'node:module';
import { ToolError } from '../../core/error.js';

export type Value = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, Value>>;

/** What the store needs of a database; both drivers have just this in common. */
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

/** Opens a database file with whichever driver there is. Throws `unavailable` where there is none. */
export function openDatabase(file: string): Database {
  const Driver = loadNodeDriver() ?? loadOptionalDriver();
  if (Driver !== undefined) return keepStatements(new Driver(file));
  throw new ToolError('unavailable', 'there is no SQLite here for the context store', {
    hint: 'npm install libsql@0.5.29, or run on Node 22.13 or newer',
  });
}

// Preparing takes as long as running; the store has few texts and uses each often.
function keepStatements(database: Database): Database {
  const statements = new Map<string, Statement>();
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      let statement = statements.get(sql);
      if (statement === undefined) {
        statement = database.prepare(sql);
        statements.set(sql, statement);
      }
      return statement;
    },
    close: () => database.close(),
  };
}

type Driver = new (file: string) => Database;

function loadNodeDriver(): Driver | undefined {
  // Node says on standard error that this module may change; a person who lists documents need not read that.
  const warn = process.emitWarning;
  process.emitWarning = () => {};
  try {
    // The types are those of the oldest Node we run on, which has none.
    const sqlite = process.getBuiltinModule('node:sqlite' as string) as
      | { readonly DatabaseSync: Driver }
      | undefined;
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
