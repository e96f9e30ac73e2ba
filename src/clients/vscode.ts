// VS Code: `servers` in `.vscode/mcp.json` or in the `mcp.json` of the person's profile, with inputs that it asks for.

import { join } from 'node:path';
import type { Client } from './client.js';
import { jsonForm } from './forms/json.js';
import { applicationData } from './places.js';
import { COMMON_FIELDS, ignored, instead, readFields } from './read-entry.js';
import { dollarEnv } from './variables.js';

const TABLES = [['servers']];

export const vscode: Client = {
  id: 'vscode',
  name: 'VS Code',
  form: jsonForm,
  projectDirectory: '${workspaceFolder}',
  references: dollarEnv,
  files: (surroundings) => [
    { scope: 'project', path: join(surroundings.workdir, '.vscode', 'mcp.json'), tables: () => TABLES },
    {
      scope: 'user',
      path: join(applicationData(surroundings), 'Code', 'User', 'mcp.json'),
      tables: () => TABLES,
    },
  ],
  toEntry: ({ command, args }) => ({ type: 'stdio', command, args }),
  readEntry: (entry, draft) =>
    readFields(
      entry,
      {
        ...COMMON_FIELDS,
        envFile: instead('write its variables under env'),
        sandboxEnabled: ownRules(),
        sandbox: ownRules(),
        gallery: ignored,
        version: ignored,
        dev: ignored,
      },
      draft,
    ),
};

function ownRules() {
  return instead('a server is started as any other program of yours');
}
