// VS Code: `servers` in `.vscode/mcp.json` or in the `mcp.json` of the user profile, with inputs.

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
  files: (environment) => [
    { scope: 'project', path: join(environment.workdir, '.vscode', 'mcp.json'), tables: () => TABLES },
    {
      scope: 'user',
      path: join(applicationData(environment), 'Code', 'User', 'mcp.json'),
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
        sandboxEnabled: noSandbox(),
        sandbox: noSandbox(),
        gallery: ignored,
        version: ignored,
        dev: ignored,
      },
      draft,
    ),
};

function noSandbox() {
  return instead('servers run without a sandbox');
}
