// The files of servers that are wield's own to write: one for every directory, one of a project.

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../core/json.js';
import type { Scope, Surroundings } from './client.js';
import { type ConfigFile, editConfig, readConfig, toPlain } from './config-file.js';
import { valueAt } from './forms/form.js';
import { jsonForm } from './forms/json.js';

/** A change of one server of such a file, not written yet. */
export interface ServerEdit {
  readonly file: ConfigFile;
  readonly scope: Scope;
  readonly after: string;
  /** Whether the file has a server of that name. */
  readonly exists: boolean;
  readonly changed: boolean;
}

/** `~/.agents/mcp.json`, or `.agents/mcp.json` of the project. */
export function ownFile(scope: Scope, { home, workdir }: Pick<Surroundings, 'home' | 'workdir'>): string {
  return join(scope === 'user' ? home : workdir, '.agents', 'mcp.json');
}

/** The file with this entry under this name, or with none where it is undefined. */
export function editServer(
  scope: Scope,
  surroundings: Surroundings,
  name: string,
  entry: JsonObject | undefined,
): ServerEdit {
  const file = readConfig(ownFile(scope, surroundings), jsonForm);
  const path = ['mcpServers', name];
  const current = valueAt(file.document, path);
  const exists = current !== undefined;
  const isSame = isDeepStrictEqual(exists ? toPlain(current) : undefined, entry);
  const after = isSame ? (file.text ?? '') : editConfig(file, jsonForm, path, entry);
  return { file, scope, after, exists, changed: !isSame };
}
