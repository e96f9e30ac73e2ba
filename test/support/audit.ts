// Reads the audit log of a workspace from disk, without code of src/.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Parses every record of an ended call; throws if a line is invalid or the last one is incomplete. */
export function logRecords(workspace: Workspace): LogRecord[] {
  const lines = logText(workspace).split('\n');
  if (lines.pop() !== '') throw new Error('the last line has no end');
  const parsed: LogRecord[] = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  return parsed.filter(({ started }) => started === undefined);
}
