// Claude Code: `.mcp.json` of a project, and `.claude.json` of the user with global and per-project servers.

import { join } from 'node:path';
import { type Client, STARTS_IN_PROJECT } from './client.js';
import { jsonForm } from './forms/json.js';
import { namedDirectory } from './places.js';
import { COMMON_FIELDS, readFields, time } from './read-entry.js';
import { dollarName } from './variables.js';

export const claudeCode: Client = {
  id: 'claude-code',
  name: 'Claude Code',
  form: jsonForm,
  projectDirectory: STARTS_IN_PROJECT,
  references: dollarName,
  files: (environment) => {
    const { workdir, home } = environment;
    return [
      { scope: 'project', path: join(workdir, '.mcp.json'), tables: () => [['mcpServers']] },
      {
        scope: 'user',
        path: join(namedDirectory(environment, 'CLAUDE_CONFIG_DIR', home), '.claude.json'),
        tables: () => [['mcpServers'], ['projects', workdir, 'mcpServers']],
      },
    ];
  },
  toEntry: ({ command, args }) => ({ type: 'stdio', command, args }),
  readEntry: (entry, draft) => readFields(entry, { ...COMMON_FIELDS, timeout: time('timeoutMs') }, draft),
};
