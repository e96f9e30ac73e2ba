// Gemini CLI: `mcpServers` in its settings, with `httpUrl` for Streamable HTTP.

import { join } from 'node:path';
import { type Client, STARTS_IN_PROJECT } from './client.js';
import { jsonForm } from './forms/json.js';
import { COMMON_FIELDS, type FieldReader, readFields, text, texts, time } from './read-entry.js';
import { bareDollar } from './variables.js';

const TABLES = [['mcpServers']];

// Without a `type` the client uses the SSE transport, or tries both.
const url: FieldReader = (value, draft, field) => {
  text('url')(value, draft, field);
  draft.notes.push('url: the client may use the SSE transport there; wield uses Streamable HTTP');
};

export const gemini: Client = {
  id: 'gemini-cli',
  name: 'Gemini CLI',
  form: jsonForm,
  projectDirectory: STARTS_IN_PROJECT,
  references: bareDollar,
  files: ({ workdir, home }) => [
    { scope: 'project', path: join(workdir, '.gemini', 'settings.json'), tables: () => TABLES },
    { scope: 'user', path: join(home, '.gemini', 'settings.json'), tables: () => TABLES },
  ],
  toEntry: ({ command, args }) => ({ command, args }),
  readEntry: (entry, draft) =>
    readFields(
      entry,
      {
        ...COMMON_FIELDS,
        ...(entry.type === undefined ? { url } : {}),
        httpUrl: text('url'),
        timeout: time('timeoutMs'),
        includeTools: texts('allow'),
        excludeTools: texts('deny'),
      },
      draft,
    ),
};
