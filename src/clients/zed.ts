// Zed: `context_servers` in its settings, which are JSON with comments.

import { join } from 'node:path';
import { isRecord } from '../core/json.js';
import type { Client } from './client.js';
import { jsonForm } from './forms/json.js';
import { configHome } from './places.js';
import {
  COMMON_FIELDS,
  type FieldReader,
  ignored,
  instead,
  map,
  readFields,
  text,
  texts,
  time,
} from './read-entry.js';

const TABLES = [['context_servers']];

// In older settings the command is an object with args and env.
const command: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) return text('command')(value, draft, field);
  text('command')(value.path, draft, `${field}.path`);
  if (value.args !== undefined) texts('args')(value.args, draft, `${field}.args`);
  if (isRecord(value.env)) map('env')(value.env, draft, `${field}.env`);
};

const source: FieldReader = (value, draft) => {
  if (value === 'extension') draft.unusable ??= 'it belongs to an extension of Zed';
};

export const zed: Client = {
  id: 'zed',
  name: 'Zed',
  form: jsonForm,
  files: (environment) => [
    { scope: 'project', path: join(environment.workdir, '.zed', 'settings.json'), tables: () => TABLES },
    { scope: 'user', path: join(configHome(environment), 'zed', 'settings.json'), tables: () => TABLES },
  ],
  toEntry: ({ command: program, args }) => ({ source: 'custom', command: program, args, env: {} }),
  readEntry: (entry, draft) =>
    readFields(
      entry,
      {
        ...COMMON_FIELDS,
        command,
        source,
        settings: instead('they belong to the extension'),
        remote: ignored,
        timeout: time('timeoutMs', 1000),
      },
      draft,
    ),
};
