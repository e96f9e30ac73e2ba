// opencode: `mcp` in its configuration, or `mcp.servers` in newer versions; the command line is an array.

import { join } from 'node:path';
import { isRecord } from '../core/json.js';
import type { Client, ClientFile } from './client.js';
import { type KeyPath, valueAt } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { configHome } from './places.js';
import { COMMON_FIELDS, type FieldReader, map, readFields, time } from './read-entry.js';
import { braced } from './variables.js';

// Uses the newer table if it exists and is not a server named "servers".
function findTables(document: unknown): KeyPath[] {
  const newer = valueAt(document, ['mcp', 'servers']);
  return isRecord(newer) && newer.type === undefined ? [['mcp', 'servers']] : [['mcp']];
}

const command: FieldReader = (value, draft, field) => {
  const [program, ...args] = Array.isArray(value) ? value : [];
  if (typeof program !== 'string' || !args.every((one) => typeof one === 'string')) {
    draft.unusable ??= `${field} must be an array of strings`;
    return;
  }
  draft.command = program;
  draft.args = args;
};

export const opencode: Client = {
  id: 'opencode',
  name: 'opencode',
  form: jsonForm,
  references: braced,
  files: (environment) => {
    const own = join(configHome(environment), 'opencode');
    const places: [ClientFile['scope'], string][] = [
      ['project', join(environment.workdir, 'opencode.json')],
      ['project', join(environment.workdir, 'opencode.jsonc')],
      ['user', join(own, 'opencode.json')],
      ['user', join(own, 'opencode.jsonc')],
    ];
    return places.map(([scope, path]) => ({ scope, path, tables: findTables }));
  },
  toEntry: ({ command: program, args }) => ({ type: 'local', command: [program, ...args], enabled: true }),
  readEntry: (entry, draft) =>
    readFields(
      entry,
      { ...COMMON_FIELDS, command, environment: map('env'), timeout: time('timeoutMs') },
      draft,
    ),
};
