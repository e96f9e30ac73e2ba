// Edits `mcp.json`, the server file that wield writes itself, and finds the secrets that it no longer refers to.

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../core/json.js';
import { namesIn } from '../files/list.js';
import { TABLES } from '../upstream/entries/file.js';
import type { ClientEnvironment, Scope } from './client.js';
import { type ConfigFile, editConfig, readConfig, toPlain } from './config-file.js';
import { type KeyPath, valueAt } from './forms/form.js';
import { jsonForm } from './forms/json.js';

/** A planned change of one server. */
export interface ServerEdit {
  readonly file: ConfigFile;
  readonly scope: Scope;
  readonly after: string;
  /** The entry in the file; undefined if it has no server with that name. */
  readonly current: unknown;
  readonly changed: boolean;
}

/** Returns `~/.agents/mcp.json`, or `.agents/mcp.json` of the project. */
export function wieldFile(scope: Scope, { home, workdir }: Pick<ClientEnvironment, 'home' | 'workdir'>): string {
  return join(scope === 'user' ? home : workdir, '.agents', 'mcp.json');
}

/** Returns the path of a server in a document: where it is, or where a new one belongs. */
export function entryPath(document: unknown, name: string): KeyPath {
  const tables = TABLES.filter((table) => valueAt(document, [table]) !== undefined);
  const table = tables.find((one) => valueAt(document, [one, name]) !== undefined) ?? tables[0] ?? TABLES[0]!;
  return [table, name];
}

/** Plans to set an entry, or to remove it if `entry` is undefined. */
export function editServer(
  scope: Scope,
  environment: ClientEnvironment,
  name: string,
  entry: JsonObject | undefined,
): ServerEdit {
  const file = readConfig(wieldFile(scope, environment), jsonForm);
  const path = entryPath(file.document, name);
  const found = valueAt(file.document, path);
  const current = found === undefined ? undefined : toPlain(found);
  const isSame = isDeepStrictEqual(current, entry);
  const after = isSame ? (file.text ?? '') : editConfig(file, jsonForm, path, entry);
  return { file, scope, after, current, changed: !isSame };
}

/** Returns the files of imported secrets that only the removed server used (UPS-14). */
export function findUnusedSecrets(
  { file, scope, after }: ServerEdit,
  environment: ClientEnvironment,
  wieldHome: string,
): string[] {
  const directory = join(wieldHome, 'secrets');
  const other = readConfig(wieldFile(scope === 'user' ? 'project' : 'user', environment), jsonForm).text ?? '';
  return namesIn(directory)
    .map((name) => join(directory, name))
    .filter((path) => mentions(file.text ?? '', path) && !mentions(after, path) && !mentions(other, path));
}

// The character after the path ends it: a quote, or the brace of a reference.
function mentions(text: string, path: string): boolean {
  const written = JSON.stringify(`file:${path}`).slice(1, -1);
  return [`${written}"`, `${written}}`].some((reference) => text.includes(reference));
}
