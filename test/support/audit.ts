// Reads the audit log of a workspace from disk, without code of src/.

import assert from 'node:assert';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import schema from '../../schemas/audit-line.json' with { type: 'json' };
import type { Workspace } from './workspace.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into records whose shape they are there to prove
export type LogRecord = any;

export function logDirectory(workspace: Workspace): string {
  return join(workspace.env.WIELD_HOME!, 'audit');
}

/** The files of the log, oldest first. */
export function logFiles(workspace: Workspace): string[] {
  const directory = logDirectory(workspace);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(directory, name));
}

/** Returns the text of all log files. */
export function logText(workspace: Workspace): string {
  return logFiles(workspace)
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
}

const ajv = new Ajv2020({ strict: false });
// A field that the schema does not have is not documented.
const anyOf = schema.anyOf.map((one) => ({ ...one, additionalProperties: false }));
const isLine = ajv.compile({ ...schema, anyOf });

/** Parses a line of the log; throws if it is not as its schema says. Lines of older versions have none. */
export function parseLine(line: string): LogRecord {
  const parsed = JSON.parse(line);
  if (parsed.schema !== undefined) assert(isLine(parsed), `${line}: ${ajv.errorsText(isLine.errors)}`);
  return parsed;
}

/** Parses every record of an ended call; throws if a line is invalid or the last one is incomplete. */
export function logRecords(workspace: Workspace): LogRecord[] {
  const lines = logText(workspace).split('\n');
  if (lines.pop() !== '') throw new Error('the last line has no end');
  const parsed: LogRecord[] = lines.filter((line) => line !== '').map(parseLine);
  return parsed.filter(({ started }) => started === undefined);
}
