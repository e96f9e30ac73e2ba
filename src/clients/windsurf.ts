// Windsurf: a user file in which the URL is a `serverUrl`.

import { join } from 'node:path';
import type { Client } from './client.js';
import { jsonForm } from './forms/json.js';
import { COMMON_FIELDS, readFields, text, texts } from './read-entry.js';
import { dollarEnv } from './variables.js';

export const windsurf: Client = {
  id: 'windsurf',
  name: 'Windsurf',
  form: jsonForm,
  references: dollarEnv,
  files: ({ home }) => [
    {
      scope: 'user',
      path: join(home, '.codeium', 'windsurf', 'mcp_config.json'),
      tables: () => [['mcpServers']],
    },
  ],
  toEntry: ({ command, args }) => ({ command, args }),
  readEntry: (entry, draft) =>
    readFields(entry, { ...COMMON_FIELDS, serverUrl: text('url'), disabledTools: texts('deny') }, draft),
};
