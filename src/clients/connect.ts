// Plans changes to the configuration of a client: connecting `wield serve`, and undoing that.

import { unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { lineDiff } from '../files/diff.js';
import { missingAbove } from '../files/make-directory.js';
import { statOrNothing } from '../files/read.js';
import { removeEmpty } from '../files/remove.js';
import { isOwnServer } from '../upstream/entries/entry.js';
import type { Client, ClientEnvironment, ClientFile, OwnServer, Scope } from './client.js';
import { type ConfigFile, editConfig, parse, readConfig, toComparable, toPlain, writeConfig } from './config-file.js';
import { type KeyPath, valueAt, withValue } from './forms/form.js';
import { createDraft } from './read-entry.js';
import type { ConnectRecord, RecordStore } from './records.js';

/** A planned change; `after` is null if the file is removed. */
export interface ConnectPlan {
  readonly file: ConfigFile;
  readonly scope: Scope;
  readonly path: KeyPath;
  readonly after: string | null;
  readonly changed: boolean;
  /** The entry in the file; null if it has none. */
  readonly current: unknown;
  /** Whether an entry of another server is replaced. */
  readonly replaces: boolean;
  /** Whether the entry was edited since it was written; undoing loses the edits. */
  readonly altered: boolean;
  /** Directories to remove if they are empty, innermost first. */
  readonly directories?: readonly string[];
  /** The records of this entry after the change. */
  readonly records: readonly ConnectRecord[];
}

/** Returns the file to use in a scope: the first that exists, or the first. */
export function findFile(client: Client, scope: Scope, environment: ClientEnvironment): ClientFile | undefined {
  const files = client.files(environment).filter((file) => file.scope === scope);
  return files.find(({ path }) => statOrNothing(path) !== undefined) ?? files[0];
}

/** Whether an entry of a client starts `wield serve`. */
export function isOwnEntry(client: Client, entry: unknown): boolean {
  if (!isRecord(entry)) return false;
  const draft = createDraft('');
  client.readEntry(entry as JsonObject, draft);
  return draft.command !== undefined && isOwnServer(draft.command, draft.args);
}

// Finds an entry of a client, with the records of its changes.
function findEntry(client: Client, { path: named, scope, tables }: ClientFile, name: string, store: RecordStore) {
  const file = readConfig(named, client.form, `fix the file, or edit it by hand: wield connect ${client.id} --print`);
  const path = [...tables(file.document)[0]!, name];
  const current = valueAt(file.document, path);
  const base = { file, scope, path, current: toPlain(current ?? null), replaces: false, altered: false };
  return { base, current, earlier: store.find(file.real, path) };
}

export function planConnect(client: Client, from: ClientFile, server: OwnServer, store: RecordStore): ConnectPlan {
  const { base, current, earlier } = findEntry(client, from, server.name, store);
  const { file, path } = base;
  const entry = client.toEntry(server);
  if (isDeepStrictEqual(base.current, toPlain(entry)))
    return { ...base, after: file.text, changed: false, records: earlier };
  const after = editConfig(file, client.form, path, entry);
  const record: ConnectRecord = {
    client: client.id,
    file: file.real,
    path,
    entry,
    previous: current === undefined ? null : (toPlain(current) as JsonObject),
    ...findSplice(file.text ?? '', after),
    created: file.text === null,
    directories: missingAbove(dirname(file.real)),
  };
  // Records are obsolete if the entry was edited since.
  const isCurrent = isDeepStrictEqual(earlier.at(-1)?.entry, current === undefined ? undefined : toPlain(current));
  return {
    ...base,
    after,
    changed: true,
    replaces: current !== undefined && !isOwnEntry(client, current),
    records: [...(isCurrent ? earlier : []), record],
  };
}

export function planUndo(client: Client, from: ClientFile, name: string, store: RecordStore): ConnectPlan {
  const { base: found, current, earlier } = findEntry(client, from, name, store);
  const { file, path } = found;
  const base = { ...found, records: [] };
  if (current === undefined) return { ...base, after: file.text, changed: false };
  const last = earlier.at(-1);
  if (last === undefined) {
    if (!isOwnEntry(client, current)) throw foreignEntry(file.path, name);
    return { ...base, after: editConfig(file, client.form, path, undefined), changed: true };
  }
  const altered = !isDeepStrictEqual(last.entry, toPlain(current));
  let now = file;
  for (const record of [...earlier].reverse()) {
    const text = revert(client, now, record) ?? editConfig(now, client.form, path, record.previous ?? undefined);
    now = { ...now, text, document: parse(text, client.form, file) };
  }
  const isRemoved = now.text === '' && earlier[0]!.created;
  const { directories } = earlier[0]!;
  return { ...base, after: isRemoved ? null : now.text, changed: true, altered, directories };
}

/** Applies a plan, storing the records for undo first. */
export async function applyPlan(plan: ConnectPlan, store: RecordStore): Promise<void> {
  const { file, scope, path, after, records, directories = [] } = plan;
  const undoing = records.length === 0;
  if (!undoing) await store.put(file.real, path, records);
  if (after === null) {
    unlinkSync(file.real);
    removeEmpty(directories);
  } else writeConfig(file, after, scope === 'user');
  if (undoing) await store.put(file.real, path, []);
}

/** Returns the diff of a plan without context lines. */
export function diffOf({ file, after }: Pick<ConnectPlan, 'file' | 'after'>): string[] {
  const [from, to] = [file.text, after].map((text) => (text ?? '').replaceAll('\r\n', '\n')) as [string, string];
  return lineDiff(from, to).filter((line) => !line.startsWith('  '));
}

function findSplice(before: string, after: string): Pick<ConnectRecord, 'offset' | 'removed' | 'inserted'> {
  const most = Math.min(before.length, after.length);
  let offset = 0;
  while (offset < most && before[offset] === after[offset]) offset++;
  let end = 0;
  while (end < most - offset && before.at(-1 - end) === after.at(-1 - end)) end++;
  return {
    offset,
    removed: before.slice(offset, before.length - end),
    inserted: after.slice(offset, after.length - end),
  };
}

// Restores the exact bytes if the inserted text is still there once and the result is as expected.
function revert(client: Client, file: ConfigFile, record: ConnectRecord): string | undefined {
  const { text, document } = file;
  const { offset, removed, inserted, path, previous } = record;
  const whole = text ?? '';
  const here = whole.startsWith(inserted, offset) ? offset : whole.indexOf(inserted);
  if (here === -1 || (here !== offset && whole.indexOf(inserted, here + 1) !== -1)) return undefined;
  const reverted = whole.slice(0, here) + removed + whole.slice(here + inserted.length);
  const expected = withValue(document, path, previous ?? undefined);
  try {
    const found = parse(reverted, client.form, file);
    return isDeepStrictEqual(toComparable(found, path), toComparable(expected, path)) ? reverted : undefined;
  } catch {
    return undefined;
  }
}

function foreignEntry(path: string, name: string): ToolError {
  return new ToolError('conflict', `"${name}" in ${path} is a different server that wield did not add`, {
    hint: 'remove it by hand, or pass --name for another entry',
  });
}
