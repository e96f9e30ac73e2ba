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

// Older settings have the command, its arguments and its variables in one object.
const command: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) return text('command')(value, draft, field);
  text('command')(value.path, draft, `${field}.path`);
  if (value.args !== undefined) texts('args')(value.args, draft, `${field}.args`);
  if (isRecord(value.env)) map('env')(value.env, draft, `${field}.env`);
};

const source: FieldReader = (value, draft) => {
  if (value === 'extension') draft.unusable ??= 'an extension of Zed brings it, and Zed alone can start it';
};

export const zed: Client = {
  id: 'zed',
  name: 'Zed',
  form: jsonForm,
  files: (surroundings) => [
    { scope: 'project', path: join(surroundings.workdir, '.zed', 'settings.json'), tables: () => TABLES },
    { scope: 'user', path: join(configHome(surroundings), 'zed', 'settings.json'), tables: () => TABLES },
  ],
  toEntry: ({ command: program, args }) => ({ source: 'custom', command: program, args, env: {} }),
  readEntry: (entry, draft) =>
    readFields(
      entry,
      {
        ...COMMON_FIELDS,
        command,
        source,
        settings: instead('they are for the extension that brings it'),
        remote: ignored,
        timeout: time('timeoutMs', 1000),
      },
      draft,
    ),
};
