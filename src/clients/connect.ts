// Plans how a client is connected to this server, and how that is undone; nothing is written before a person saw it.

import { unlinkSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { lineDiff } from '../core/diff.js';
import { ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { statOrNothing } from '../files/read.js';
import { isOwnServer } from '../upstream/entries/own-server.js';
import type { Client, ClientFile, OwnServer, Scope, Surroundings } from './client.js';
import {
  type ConfigFile,
  editConfig,
  parse,
  readConfig,
  toComparable,
  toPlain,
  writeConfig,
} from './config-file.js';
import { type KeyPath, valueAt, withValue } from './forms/form.js';
import { createDraft } from './read-entry.js';
import type { ConnectRecord, RecordStore } from './records.js';

/** A change that is proposed; `after` is null where the file goes. */
export interface ConnectPlan {
  readonly file: ConfigFile;
  readonly scope: Scope;
  readonly path: KeyPath;
  readonly after: string | null;
  readonly changed: boolean;
  /** Whether an entry of that name, and of another server, is replaced. */
  readonly replaces: boolean;
  /** Whether the entry was changed since it was written, so that undoing loses something. */
  readonly altered: boolean;
  /** What the records of this entry are once it is done. */
  readonly records: readonly ConnectRecord[];
}

/** The file that counts in a scope: the first that is there, else the first. */
export function findFile(client: Client, scope: Scope, surroundings: Surroundings): ClientFile | undefined {
  const files = client.files(surroundings).filter((file) => file.scope === scope);
  return files.find(({ path }) => statOrNothing(path) !== undefined) ?? files[0];
}

/** Whether an entry of a client starts this server. */
export function isOwnEntry(client: Client, entry: unknown): boolean {
  if (!isRecord(entry)) return false;
  const draft = createDraft('');
  client.readEntry(entry as JsonObject, draft);
  return draft.command !== undefined && isOwnServer(draft.command, draft.args);
}

export function planConnect(
  client: Client,
  { path: named, scope, tables }: ClientFile,
  server: OwnServer,
  store: RecordStore,
): ConnectPlan {
  const file = readConfig(named, client.form);
  const path = [...tables(file.document)[0]!, server.name];
  const current = valueAt(file.document, path);
  const entry = client.toEntry(server);
  const base = { file, scope, path, replaces: false, altered: false };
  if (isDeepStrictEqual(toPlain(current ?? null), toPlain(entry)))
    return { ...base, after: file.text, changed: false, records: store.find(file.real, path) };
  const after = editConfig(file, client.form, path, entry);
  const earlier = store.find(file.real, path);
  const record: ConnectRecord = {
    client: client.id,
    file: file.real,
    path,
    entry,
    previous: current === undefined ? null : (toPlain(current) as JsonObject),
    ...findSplice(file.text ?? '', after),
    created: file.text === null,
  };
  // Records of an entry that someone exchanged since say nothing about what stands there now.
  const holds = isDeepStrictEqual(
    earlier.at(-1)?.entry,
    current === undefined ? undefined : toPlain(current),
  );
  return {
    ...base,
    after,
    changed: true,
    replaces: current !== undefined && !isOwnEntry(client, current),
    records: [...(holds ? earlier : []), record],
  };
}

export function planUndo(
  client: Client,
  { path: named, scope, tables }: ClientFile,
  name: string,
  store: RecordStore,
): ConnectPlan {
  const file = readConfig(named, client.form);
  const path = [...tables(file.document)[0]!, name];
  const current = valueAt(file.document, path);
  const earlier = store.find(file.real, path);
  const base = { file, scope, path, replaces: false, altered: false, records: [] };
  if (current === undefined) return { ...base, after: file.text, changed: false };
  const last = earlier.at(-1);
  if (last === undefined) {
    if (!isOwnEntry(client, current)) throw notOurs(file.path, name);
    return { ...base, after: editConfig(file, client.form, path, undefined), changed: true };
  }
  const altered = !isDeepStrictEqual(last.entry, toPlain(current));
  let now = file;
  for (const record of [...earlier].reverse()) {
    const text =
      revert(client, now, record) ?? editConfig(now, client.form, path, record.previous ?? undefined);
    now = { ...now, text, document: parse(text, client.form, file.path) };
  }
  const gone = now.text === '' && earlier[0]!.created;
  return { ...base, after: gone ? null : now.text, changed: true, altered };
}

/** Carries a plan out: what is needed to undo it is kept first. */
export function applyPlan({ file, scope, path, after, records }: ConnectPlan, store: RecordStore): void {
  const undoing = records.length === 0;
  if (!undoing) store.put(file.real, path, records);
  if (after === null) unlinkSync(file.real);
  else writeConfig(file, after, scope === 'user');
  if (undoing) store.put(file.real, path, []);
}

/** The lines that a plan changes, and no others: what stands around them is not about it. */
export function diffOf({ file, after }: Pick<ConnectPlan, 'file' | 'after'>): string[] {
  const lines = (text: string): string[] => (text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/));
  const from = lines(file.text ?? '');
  const to = lines(after ?? '');
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start++;
  let end = 0;
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end)) end++;
  const part = (all: string[]): string =>
    all
      .slice(start, all.length - end)
      .map((line) => `${line}\n`)
      .join('');
  return lineDiff(part(from), part(to));
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

// The very bytes come back where the text that was put in is still there, once, and nothing else depends on it.
function revert(
  client: Client,
  { text, document, path: name }: ConfigFile,
  record: ConnectRecord,
): string | undefined {
  const { offset, removed, inserted, path, previous } = record;
  const whole = text ?? '';
  const here = whole.startsWith(inserted, offset) ? offset : whole.indexOf(inserted);
  if (here === -1 || (here !== offset && whole.indexOf(inserted, here + 1) !== -1)) return undefined;
  const reverted = whole.slice(0, here) + removed + whole.slice(here + inserted.length);
  const expected = withValue(document, path, previous ?? undefined);
  try {
    const found = parse(reverted, client.form, name);
    return isDeepStrictEqual(toComparable(found, path), toComparable(expected, path)) ? reverted : undefined;
  } catch {
    return undefined;
  }
}

function notOurs(path: string, name: string): ToolError {
  return new ToolError('conflict', `"${name}" in ${path} is another server, and wield did not write it`, {
    hint: 'look at it, and take it out by hand; --name names another entry',
  });
}
