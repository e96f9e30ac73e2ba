// Claude Code: `.mcp.json` of a project, and `.claude.json` of a person with servers for all projects and for each.

import { join } from 'node:path';
import { type Client, STARTS_THERE } from './client.js';
import { jsonForm } from './forms/json.js';
import { namedDirectory } from './places.js';
import { COMMON_FIELDS, readFields, time } from './read-entry.js';
import { dollarName } from './variables.js';

export const claudeCode: Client = {
  id: 'claude-code',
  name: 'Claude Code',
  form: jsonForm,
  projectDirectory: STARTS_THERE,
  references: dollarName,
  files: (surroundings) => {
    const { workdir, home } = surroundings;
    return [
      { scope: 'project', path: join(workdir, '.mcp.json'), tables: () => [['mcpServers']] },
      {
        scope: 'user',
        path: join(namedDirectory(surroundings, 'CLAUDE_CONFIG_DIR', home), '.claude.json'),
        tables: () => [['mcpServers'], ['projects', workdir, 'mcpServers']],
      },
    ];
  },
  toEntry: ({ command, args }) => ({ type: 'stdio', command, args }),
  readEntry: (entry, draft) => readFields(entry, { ...COMMON_FIELDS, timeout: time('timeoutMs') }, draft),
};
