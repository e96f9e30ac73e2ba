// Changes the agent homes in the user's configuration.

import { join } from 'node:path';
import { editConfig, readConfig, writeConfig } from '../clients/config-file.js';
import { valueAt } from '../clients/forms/form.js';
import { tomlForm } from '../clients/forms/toml.js';
import { assertPerson } from '../core/caller.js';
import { isRecord, type JsonObject } from '../core/json.js';
import type { NodeToolbox } from '../node.js';

/** Sets `install.homes`; everything else in the file stays. Returns the path of the file. Only a person may (A44). */
export function writeHomes({ machine: { wieldHome, insideCall } }: NodeToolbox, homes: readonly string[]): string {
  assertPerson(insideCall, 'changing agent homes');
  const path = join(wieldHome, 'config.toml');
  const file = readConfig(path, tomlForm);
  const table = valueAt(file.document, ['install']);
  const entry = { ...(isRecord(table) ? (table as JsonObject) : {}), homes: [...homes] };
  writeConfig(file, editConfig(file, tomlForm, ['install'], entry), true);
  return path;
}
