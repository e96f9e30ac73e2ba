// Agents and chat programs: Claude Code, Claude Desktop, Gemini CLI, opencode, Copilot CLI, Amazon Q, LM Studio, Warp.

import { join } from 'node:path';
import { isRecord } from '../core/json.js';
import { STARTS_IN_PROJECT } from './client.js';
import {
  applicationData,
  bareDollar,
  configHome,
  defineClient,
  dollarEnv,
  dollarName,
  namedDirectory,
} from './define.js';
import { valueAt } from './forms/form.js';
import { type FieldReader, ignored, map, text, texts, time } from './read-entry.js';

export const claudeCode = defineClient({
  id: 'claude-code',
  name: 'Claude Code',
  projectDirectory: STARTS_IN_PROJECT,
  references: dollarName,
  project: '.mcp.json',
  user: (environment) => join(namedDirectory(environment, 'CLAUDE_CONFIG_DIR', ''), '.claude.json'),
  tables: (_document, scope, { workdir }) =>
    scope === 'project' ? [['mcpServers']] : [['mcpServers'], ['projects', workdir, 'mcpServers']],
  extra: { type: 'stdio' },
  fields: { timeout: time('timeoutMs') },
});

export const claudeDesktop = defineClient({
  id: 'claude-desktop',
  name: 'Claude Desktop',
  user: (environment) => join(applicationData(environment), 'Claude', 'claude_desktop_config.json'),
});

// Without a `type` Gemini CLI uses the SSE transport, or tries both.
const url: FieldReader = (value, draft, field) => {
  text('url')(value, draft, field);
  draft.notes.push('url: the client may use the SSE transport there; wield uses Streamable HTTP');
};

export const gemini = defineClient({
  id: 'gemini-cli',
  name: 'Gemini CLI',
  projectDirectory: STARTS_IN_PROJECT,
  references: bareDollar,
  project: '.gemini/settings.json',
  user: '.gemini/settings.json',
  fields: ({ type }) => ({
    ...(type === undefined ? { url } : {}),
    httpUrl: text('url'),
    timeout: time('timeoutMs'),
    includeTools: texts('allow'),
    excludeTools: texts('deny'),
  }),
});

// The command line of opencode is an array.
const command: FieldReader = (value, draft, field) => {
  const [program, ...args] = Array.isArray(value) ? value : [];
  if (typeof program !== 'string' || !args.every((one) => typeof one === 'string')) {
    draft.unusable ??= `${field} must be an array of strings`;
    return;
  }
  draft.command = program;
  draft.args = args;
};

export const opencode = defineClient({
  id: 'opencode',
  name: 'opencode',
  projectDirectory: STARTS_IN_PROJECT,
  references: (value) => value.replace(/\{env:([A-Za-z_]\w*)\}/g, '$${$1}').replace(/\{file:([^}]+)\}/g, '$${file:$1}'),
  project: ['opencode.json', 'opencode.jsonc'],
  user: (environment) =>
    ['opencode.json', 'opencode.jsonc'].map((file) => join(configHome(environment), 'opencode', file)),
  // Newer versions use `mcp.servers`, if it is not a server named "servers".
  tables: (document) => {
    const newer = valueAt(document, ['mcp', 'servers']);
    return isRecord(newer) && newer.type === undefined ? [['mcp', 'servers']] : [['mcp']];
  },
  toEntry: ({ command: program, args }) => ({ type: 'local', command: [program, ...args], enabled: true }),
  fields: { command, environment: map('env'), timeout: time('timeoutMs') },
});

export const copilot = defineClient({
  id: 'copilot-cli',
  name: 'GitHub Copilot CLI',
  references: bareDollar,
  user: (environment) => join(namedDirectory(environment, 'COPILOT_HOME', '.copilot'), 'mcp-config.json'),
  extra: { type: 'local', tools: ['*'] },
  fields: {
    tools: (value, draft, field) => {
      if (!Array.isArray(value) || !value.includes('*')) texts('allow')(value, draft, field);
    },
    timeout: time('timeoutMs'),
  },
});

export const amazonQ = defineClient({
  id: 'amazon-q',
  name: 'Amazon Q Developer',
  projectDirectory: STARTS_IN_PROJECT,
  references: dollarEnv,
  project: '.amazonq/mcp.json',
  user: '.aws/amazonq/mcp.json',
  fields: { timeout: time('timeoutMs'), disabledTools: texts('deny') },
});

export const lmStudio = defineClient({
  id: 'lm-studio',
  name: 'LM Studio',
  user: '.lmstudio/mcp.json',
  fields: { timeout: time('timeoutMs') },
});

export const warp = defineClient({
  id: 'warp',
  name: 'Warp',
  references: dollarName,
  project: '.warp/.mcp.json',
  user: '.warp/.mcp.json',
  fields: { working_directory: text('cwd'), start_on_launch: ignored },
});
