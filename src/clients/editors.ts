// Editors and their extensions: Cursor, VS Code, Windsurf, Zed, Cline, Roo Code, Kiro.

import { join } from 'node:path';
import { isRecord } from '../core/json.js';
import { type ClientEnvironment, STARTS_IN_PROJECT } from './client.js';
import { applicationData, configHome, defineClient, dollarEnv, dollarName } from './define.js';
import { COMMON_FIELDS, type FieldReader, ignored, instead, map, text, texts, time } from './read-entry.js';

export const cursor = defineClient({
  id: 'cursor',
  name: 'Cursor',
  projectDirectory: '${workspaceFolder}',
  references: dollarEnv,
  project: '.cursor/mcp.json',
  user: '.cursor/mcp.json',
  fields: { envFile: instead('write its variables under env'), auth: instead('write it under oauth') },
});

export const vscode = defineClient({
  id: 'vscode',
  name: 'VS Code',
  projectDirectory: '${workspaceFolder}',
  references: dollarEnv,
  project: '.vscode/mcp.json',
  user: (environment) => join(applicationData(environment), 'Code', 'User', 'mcp.json'),
  tables: () => [['servers']],
  extra: { type: 'stdio' },
  fields: {
    envFile: instead('write its variables under env'),
    gallery: ignored,
    version: ignored,
    dev: ignored,
  },
});

export const windsurf = defineClient({
  id: 'windsurf',
  name: 'Windsurf',
  references: dollarEnv,
  user: '.codeium/windsurf/mcp_config.json',
  fields: { serverUrl: text('url'), disabledTools: texts('deny') },
});

// In older settings of Zed the command is an object with args and env.
const command: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) return text('command')(value, draft, field);
  text('command')(value.path, draft, `${field}.path`);
  if (value.args !== undefined) texts('args')(value.args, draft, `${field}.args`);
  if (isRecord(value.env)) map('env')(value.env, draft, `${field}.env`);
};

export const zed = defineClient({
  id: 'zed',
  name: 'Zed',
  projectDirectory: STARTS_IN_PROJECT,
  project: '.zed/settings.json',
  user: (environment) => join(configHome(environment), 'zed', 'settings.json'),
  tables: () => [['context_servers']],
  toEntry: ({ command: program, args }) => ({ source: 'custom', command: program, args, env: {} }),
  fields: {
    command,
    source: (value, draft) => {
      if (value === 'extension') draft.unusable ??= 'it belongs to an extension of Zed';
    },
    settings: instead('they belong to the extension'),
    remote: ignored,
    timeout: time('timeoutMs', 1000),
  },
});

// Cline and Roo Code are extensions of VS Code.
const extensionSettings = (extension: string, file: string) => (environment: ClientEnvironment) =>
  join(applicationData(environment), 'Code', 'User', 'globalStorage', extension, 'settings', file);

export const cline = defineClient({
  id: 'cline',
  name: 'Cline',
  references: dollarEnv,
  user: extensionSettings('saoudrizwan.claude-dev', 'cline_mcp_settings.json'),
  fields: { timeout: time('timeoutMs', 1000), transportType: COMMON_FIELDS.transport! },
});

export const roo = defineClient({
  id: 'roo',
  name: 'Roo Code',
  projectDirectory: STARTS_IN_PROJECT,
  references: dollarEnv,
  project: '.roo/mcp.json',
  user: extensionSettings('rooveterinaryinc.roo-cline', 'mcp_settings.json'),
  fields: {
    timeout: time('timeoutMs', 1000),
    disabledTools: texts('deny'),
    watchPaths: instead('servers are not restarted when files change'),
  },
});

export const kiro = defineClient({
  id: 'kiro',
  name: 'Kiro',
  references: dollarName,
  project: '.kiro/settings/mcp.json',
  user: '.kiro/settings/mcp.json',
  fields: { timeout: time('timeoutMs'), disabledTools: texts('deny'), oauthScopes: ignored },
});
