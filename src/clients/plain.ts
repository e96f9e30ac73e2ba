// Clients with a JSON file, an `mcpServers` table and the common fields.

import { join } from 'node:path';
import type { Client, ClientEnvironment, ClientFile } from './client.js';
import type { KeyPath } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { applicationData, namedDirectory } from './places.js';
import { COMMON_FIELDS, type Fields, ignored, instead, readFields, text, texts, time } from './read-entry.js';
import { bareDollar, dollarEnv, dollarName } from './variables.js';

interface PlainClient
  extends Pick<Client, 'id' | 'name'>,
    Partial<Pick<Client, 'references' | 'projectDirectory'>> {
  project?(workdir: string): string;
  user(environment: ClientEnvironment): string;
  readonly fields?: Fields;
  /** Fields to write in addition to command and args. */
  readonly extra?: Readonly<Record<string, string | readonly string[]>>;
}

function definePlain({ project, user, fields = {}, extra = {}, ...client }: PlainClient): Client {
  const tables = (): readonly KeyPath[] => [['mcpServers']];
  return {
    ...client,
    form: jsonForm,
    files: (environment): ClientFile[] => [
      ...(project === undefined
        ? []
        : [{ scope: 'project', path: project(environment.workdir), tables } as const]),
      { scope: 'user', path: user(environment), tables },
    ],
    toEntry: ({ command, args }) => ({ ...extra, command, args }),
    readEntry: (entry, draft) => readFields(entry, { ...COMMON_FIELDS, ...fields }, draft),
  };
}

export const claudeDesktop = definePlain({
  id: 'claude-desktop',
  name: 'Claude Desktop',
  user: (environment) => join(applicationData(environment), 'Claude', 'claude_desktop_config.json'),
});

export const cursor = definePlain({
  id: 'cursor',
  name: 'Cursor',
  projectDirectory: '${workspaceFolder}',
  references: dollarEnv,
  project: (workdir) => join(workdir, '.cursor', 'mcp.json'),
  user: ({ home }) => join(home, '.cursor', 'mcp.json'),
  fields: { envFile: instead('write its variables under env'), auth: instead('write it under oauth') },
});

// Both are VS Code extensions.
const extensionSettings = (environment: ClientEnvironment, extension: string, file: string): string =>
  join(applicationData(environment), 'Code', 'User', 'globalStorage', extension, 'settings', file);

export const cline = definePlain({
  id: 'cline',
  name: 'Cline',
  user: (environment) => extensionSettings(environment, 'saoudrizwan.claude-dev', 'cline_mcp_settings.json'),
  references: dollarEnv,
  fields: { timeout: time('timeoutMs', 1000), transportType: COMMON_FIELDS.transport! },
});

export const roo = definePlain({
  id: 'roo',
  name: 'Roo Code',
  references: dollarEnv,
  project: (workdir) => join(workdir, '.roo', 'mcp.json'),
  user: (environment) => extensionSettings(environment, 'rooveterinaryinc.roo-cline', 'mcp_settings.json'),
  fields: {
    timeout: time('timeoutMs', 1000),
    disabledTools: texts('deny'),
    watchPaths: instead('servers are not restarted when files change'),
  },
});

export const copilot = definePlain({
  id: 'copilot-cli',
  name: 'GitHub Copilot CLI',
  references: bareDollar,
  user: (environment) =>
    join(namedDirectory(environment, 'COPILOT_HOME', join(environment.home, '.copilot')), 'mcp-config.json'),
  extra: { type: 'local', tools: ['*'] },
  fields: {
    tools: (value, draft, field) => {
      if (!Array.isArray(value) || !value.includes('*')) texts('allow')(value, draft, field);
    },
    timeout: time('timeoutMs'),
  },
});

export const kiro = definePlain({
  id: 'kiro',
  name: 'Kiro',
  references: dollarName,
  project: (workdir) => join(workdir, '.kiro', 'settings', 'mcp.json'),
  user: ({ home }) => join(home, '.kiro', 'settings', 'mcp.json'),
  fields: { timeout: time('timeoutMs'), disabledTools: texts('deny'), oauthScopes: ignored },
});

export const amazonQ = definePlain({
  id: 'amazon-q',
  name: 'Amazon Q Developer',
  references: dollarEnv,
  project: (workdir) => join(workdir, '.amazonq', 'mcp.json'),
  user: ({ home }) => join(home, '.aws', 'amazonq', 'mcp.json'),
  fields: { timeout: time('timeoutMs'), disabledTools: texts('deny') },
});

export const lmStudio = definePlain({
  id: 'lm-studio',
  name: 'LM Studio',
  user: ({ home }) => join(home, '.lmstudio', 'mcp.json'),
  fields: { timeout: time('timeoutMs') },
});

export const warp = definePlain({
  id: 'warp',
  name: 'Warp',
  references: dollarName,
  project: (workdir) => join(workdir, '.warp', '.mcp.json'),
  user: ({ home }) => join(home, '.warp', '.mcp.json'),
  fields: { working_directory: text('cwd'), start_on_launch: ignored },
});
