// The agent homes in the user's configuration.

import { join } from 'node:path';
import { editConfig, readConfig } from '../clients/config-file.js';
import { valueAt } from '../clients/forms/form.js';
import { tomlForm } from '../clients/forms/toml.js';
import { isRecord, type JsonObject } from '../core/json.js';
import type { NodeToolbox } from '../node.js';

/** Returns the user's configuration file, and its text with these agent homes; everything else in it stays. */
export function editHomes({ machine: { wieldHome } }: NodeToolbox, homes: readonly string[]) {
  const file = readConfig(join(wieldHome, 'config.toml'), tomlForm);
  const table = valueAt(file.document, ['install']);
  const entry = { ...(isRecord(table) ? (table as JsonObject) : {}), homes: [...homes] };
  return { file, after: editConfig(file, tomlForm, ['install'], entry) };
}
