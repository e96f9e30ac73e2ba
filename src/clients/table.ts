// The known clients: where each keeps its servers, and how their entries differ from the common ones.

import { isAbsolute, join } from 'node:path';
import { orNothing, ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { nearest, quoteOutside } from '../core/text.js';
import { type Client, type ClientEnvironment, type ClientRow, STARTS_IN_PROJECT, toClient } from './client.js';
import { readConfig, toPlain } from './config-file.js';
import { valueAt } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { tomlForm } from './forms/toml.js';
import { yamlForm } from './forms/yaml.js';
import {
  type Draft,
  type FieldReader,
  type Fields,
  ignored,
  instead,
  oauth,
  ownRules,
  text,
  texts,
  time,
  transport,
} from './read-entry.js';

// The directory in a variable, or one below the home directory.
const directoryOf = ({ env, home }: ClientEnvironment, variable: string, otherwise: string): string => {
  const named = env[variable];
  return named !== undefined && isAbsolute(named) ? named : join(home, otherwise);
};
export const below =
  (variable: string, otherwise: string, ...path: string[]) =>
  (environment: ClientEnvironment): string =>
    join(directoryOf(environment, variable, otherwise), ...path);
const inConfig = (...path: string[]) => below('XDG_CONFIG_HOME', '.config', ...path);
// The data directory of desktop programs.
export const inApplicationData =
  (...path: string[]) =>
  (environment: ClientEnvironment): string =>
    environment.platform === 'darwin'
      ? join(environment.home, 'Library', 'Application Support', ...path)
      : inConfig(...path)(environment);

// References to variables, translated to `${NAME}`.
const dollarEnv = (value: string): string => value.replace(/\$\{env:([A-Za-z_]\w*)\}/g, '$${$1}');
// Of mcporter.
const dollarPrefix = (value: string): string => value.replace(/\$env:([A-Za-z_]\w*)/g, '$${$1}');
const dollarName = (value: string): string => value;
const bareDollar = (value: string): string => value.replace(/\$([A-Za-z_]\w*)/g, '$${$1}');
const braces = (value: string): string =>
  value.replace(/\{env:([A-Za-z_]\w*)\}/g, '$${$1}').replace(/\{file:([^}]+)\}/g, '$${file:$1}');

const timeout = time('timeout');
const timeoutSeconds = time('timeout', 1000);
const envFile = instead('write its variables under env');

// Gemini CLI starts no server that was disabled by its command, or that its lists do not allow.
function findGeminiBlock(name: string, { home }: ClientEnvironment, document: unknown): string | undefined {
  const stateOf = (value: unknown): unknown => (isRecord(value) ? value[name.toLowerCase()] : undefined);
  const state = stateOf(readJson(join(home, '.gemini', 'mcp-server-enablement.json')));
  if (isRecord(state) && state.enabled === false) return `it is disabled there; run: gemini mcp enable ${name}`;
  const { allowed, excluded } = isRecord(document) && isRecord(document.mcp) ? document.mcp : {};
  if (Array.isArray(excluded) && excluded.includes(name)) return `remove "${name}" from mcp.excluded in its settings`;
  if (Array.isArray(allowed) && !allowed.includes(name)) return `add "${name}" to mcp.allowed in its settings`;
  return undefined;
}

function readJson(path: string): unknown {
  return orNothing(() => toPlain(readConfig(path, jsonForm).document));
}

// Without a `type` Gemini CLI uses the SSE transport, or tries both.
const urlOfGemini: FieldReader = (value, draft, field) => {
  text('url')(value, draft, field);
  draft.notes.push(
    'url: the client may use the SSE transport there; if wield cannot connect, set "type": "sse" in its entry',
  );
};

// Returns a reference to a variable; anything else, such as the path of a file, would be another reference.
function referTo(name: unknown, draft: Draft, field: string): string | undefined {
  if (typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)) return `\${${name}}`;
  draft.unusable ??= `${field}: ${quoteOutside(JSON.stringify(name), 40)} is not the name of a variable`;
  return undefined;
}

// Names of variables that a server of Codex inherits.
const variablesOfCodex: FieldReader = (value, draft, field) => {
  for (const one of Array.isArray(value) ? value : []) {
    const name: unknown = isRecord(one) ? one.name : one;
    if (typeof name !== 'string' || (isRecord(one) && one.source === 'remote'))
      draft.notes.push(`${field}: ${quoteOutside(JSON.stringify(one), 40)} is not imported`);
    else draft.ownEnv[name] = referTo(name, draft, field) ?? '';
  }
};

const headersOfCodex: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) draft.notes.push(`${field}: not imported, not a table`);
  else for (const [header, name] of Object.entries(value)) draft.ownHeaders[header] = referTo(name, draft, field) ?? '';
};

const typeOfGoose: FieldReader = (value, draft, field) => {
  if (['builtin', 'platform', 'frontend', 'inline_python'].includes(String(value)))
    draft.unusable ??= 'it is built into Goose, not a server';
  else transport(value, draft, field);
};

// The values are in the keyring of Goose, which wield cannot read.
const keysOfGoose: FieldReader = (value, draft, field) => {
  for (const name of Array.isArray(value) ? value : []) {
    draft.ownEnv[String(name)] = referTo(name, draft, field) ?? '';
    draft.notes.push(`${field}: the value is in the client's keyring; set the variable ${String(name)}`);
  }
};

// The tokens of another program are for its registration at the login server.
const login: FieldReader = (value, draft, field) => {
  if (value !== false) draft.notes.push(`${field}: logins are not imported; run wield mcp login ${draft.name}`);
};
const bearer: FieldReader = (value, draft) => {
  draft.headers.Authorization = `Bearer ${String(value)}`;
};
const bearerVariable: FieldReader = (value, draft, field) => {
  draft.ownHeaders.Authorization = `Bearer ${referTo(value, draft, field)}`;
};
// Says why an entry that was read from another form cannot be imported.
const unusable: FieldReader = (value, draft) => {
  draft.unusable ??= String(value);
};

// mcporter has two spellings of every field.
const MCPORTER: Fields = Object.fromEntries(
  Object.entries({
    serverUrl: text('url'),
    tokenCacheDir: login,
    auth: login,
    clientName: ignored,
    oauthRedirectUrl: instead('a login uses a free port of this machine'),
    bearerToken: bearer,
    bearerTokenEnv: bearerVariable,
    lifecycle: ignored,
    logging: ignored,
    resultMapping: instead('results are returned whole'),
    executable: text('command'),
  }).flatMap(([name, reader]) => [
    [name, reader],
    [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), reader],
  ]),
);

const CODEX: Fields = {
  env_vars: variablesOfCodex,
  env_http_headers: headersOfCodex,
  bearer_token_env_var: bearerVariable,
  startup_timeout_sec: time('startTimeout', 1000),
  startup_timeout_ms: time('startTimeout'),
  tool_timeout_sec: timeoutSeconds,
  default_tools_approval_mode: ownRules,
  scopes: (value, draft, field) => oauth({ scopes: value }, draft, field),
  required: ignored,
};

const ZED: Fields = {
  source: (value, draft) => {
    if (value === 'extension') draft.unusable ??= 'it belongs to an extension of Zed';
  },
  settings: instead('they belong to the extension'),
  remote: ignored,
};

const GOOSE: Fields = { type: typeOfGoose, env_keys: keysOfGoose, bundled: ignored, display_name: ignored };

const ROWS: readonly ClientRow[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    next: {
      project: 'run claude in this directory and approve the server; claude mcp list shows it',
      user: 'start claude again; claude mcp list shows it',
    },
    projectDirectory: STARTS_IN_PROJECT,
    references: dollarName,
    project: '.mcp.json',
    user: below('CLAUDE_CONFIG_DIR', '', '.claude.json'),
    table: (_document, scope, { workdir }) =>
      scope === 'project' ? [['mcpServers']] : [['mcpServers'], ['projects', workdir, 'mcpServers']],
    extra: { type: 'stdio' },
    fields: { timeout },
  },
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    next: 'quit Claude Desktop and open it again; Settings > Developer shows its state',
    user: inApplicationData('Claude', 'claude_desktop_config.json'),
  },
  {
    id: 'cursor',
    name: 'Cursor',
    next: 'switch it on in Cursor Settings > MCP',
    projectDirectory: '${workspaceFolder}',
    references: dollarEnv,
    project: '.cursor/mcp.json',
    user: '.cursor/mcp.json',
    fields: { envFile, auth: instead('write it under oauth') },
  },
  {
    id: 'vscode',
    name: 'VS Code',
    next: 'run MCP: List Servers in VS Code, start it, and confirm that you trust it',
    projectDirectory: '${workspaceFolder}',
    references: dollarEnv,
    project: '.vscode/mcp.json',
    user: inApplicationData('Code', 'User', 'mcp.json'),
    table: ['servers'],
    extra: { type: 'stdio' },
    fields: { envFile, gallery: ignored, version: ignored, dev: ignored },
  },
  {
    id: 'codex',
    name: 'Codex',
    next: {
      project: 'run codex in this directory and trust it: Codex reads no project file before; codex mcp list shows it',
      user: 'start codex again; codex mcp list shows it',
    },
    form: tomlForm,
    projectDirectory: STARTS_IN_PROJECT,
    project: '.codex/config.toml',
    user: below('CODEX_HOME', '.codex', 'config.toml'),
    table: ['mcp_servers'],
    fields: { ...CODEX, tools: ownRules },
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    next: 'refresh the MCP servers in the settings of Cascade',
    references: dollarEnv,
    user: '.codeium/windsurf/mcp_config.json',
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    next: 'run gemini in this directory and trust the folder: it starts no server before; gemini mcp list shows it',
    projectDirectory: STARTS_IN_PROJECT,
    references: bareDollar,
    project: '.gemini/settings.json',
    user: '.gemini/settings.json',
    findBlock: findGeminiBlock,
    fields: ({ type }) => ({
      ...(type === undefined ? { url: urlOfGemini } : {}),
      timeout,
    }),
  },
  {
    id: 'zed',
    name: 'Zed',
    next: 'trust the project if Zed asks; the settings of the Agent Panel show its state',
    projectDirectory: STARTS_IN_PROJECT,
    project: '.zed/settings.json',
    user: inConfig('zed', 'settings.json'),
    table: ['context_servers'],
    toEntry: ({ command, args }) => ({ source: 'custom', command, args, env: {} }),
    fields: { ...ZED, timeout: timeoutSeconds },
  },
  {
    id: 'opencode',
    name: 'opencode',
    next: 'start opencode again; opencode mcp list shows it',
    projectDirectory: STARTS_IN_PROJECT,
    references: braces,
    project: ['opencode.json', 'opencode.jsonc'],
    user: (environment) => ['opencode.json', 'opencode.jsonc'].map((file) => inConfig('opencode', file)(environment)),
    // Newer versions use `mcp.servers`, if it is not a server named "servers".
    table: (document) => {
      const newer = valueAt(document, ['mcp', 'servers']);
      return isRecord(newer) && newer.type === undefined ? [['mcp', 'servers']] : [['mcp']];
    },
    toEntry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    fields: { timeout },
  },
  {
    // An extension of VS Code, like the next.
    id: 'cline',
    name: 'Cline',
    next: 'open MCP Servers in Cline, which shows its state',
    references: dollarEnv,
    user: inExtension('saoudrizwan.claude-dev', 'cline_mcp_settings.json'),
    fields: { timeout: timeoutSeconds },
  },
  {
    id: 'roo',
    name: 'Roo Code',
    next: 'open MCP Servers in Roo Code, and refresh them',
    projectDirectory: STARTS_IN_PROJECT,
    references: dollarEnv,
    project: '.roo/mcp.json',
    user: inExtension('rooveterinaryinc.roo-cline', 'mcp_settings.json'),
    fields: {
      timeout: timeoutSeconds,
      watchPaths: instead('servers are not restarted when files change'),
    },
  },
  {
    id: 'copilot-cli',
    name: 'GitHub Copilot CLI',
    next: 'start copilot again; copilot mcp list shows it',
    references: bareDollar,
    user: below('COPILOT_HOME', '.copilot', 'mcp-config.json'),
    extra: { type: 'local', tools: ['*'] },
    fields: { timeout },
  },
  {
    id: 'kiro',
    name: 'Kiro',
    next: 'open MCP Servers in Kiro, which shows its state',
    references: dollarName,
    project: '.kiro/settings/mcp.json',
    user: '.kiro/settings/mcp.json',
    fields: { timeout, oauthScopes: ignored },
  },
  {
    id: 'amazon-q',
    name: 'Amazon Q Developer',
    next: 'start q chat again; /mcp shows its state',
    projectDirectory: STARTS_IN_PROJECT,
    references: dollarEnv,
    project: '.amazonq/mcp.json',
    user: '.aws/amazonq/mcp.json',
    fields: { timeout },
  },
  {
    id: 'lm-studio',
    name: 'LM Studio',
    next: 'switch it on in the Program tab of LM Studio',
    user: '.lmstudio/mcp.json',
    fields: { timeout },
  },
  {
    id: 'warp',
    name: 'Warp',
    next: 'start it in Settings > AI > Manage MCP servers of Warp',
    references: dollarName,
    project: '.warp/.mcp.json',
    user: '.warp/.mcp.json',
    fields: { start_on_launch: ignored },
  },
  {
    // Some of its extensions are servers.
    id: 'goose',
    name: 'Goose',
    next: 'start a new session of Goose',
    form: yamlForm,
    user: inConfig('goose', 'config.yaml'),
    table: ['extensions'],
    toEntry: ({ name, command: cmd, args }) => ({
      name,
      type: 'stdio',
      enabled: true,
      cmd,
      args,
      envs: {},
      timeout: 300,
    }),
    fields: {
      ...GOOSE,
      timeout: timeoutSeconds,
      available_tools: (value, draft, field) => {
        if (!Array.isArray(value) || value.length > 0) texts('allow')(value, draft, field);
      },
      allow: ownRules,
    },
  },
];

// The settings of an extension of VS Code.
function inExtension(extension: string, file: string) {
  return inApplicationData('Code', 'User', 'globalStorage', extension, 'settings', file);
}

export const CLIENTS: readonly Client[] = ROWS.map(toClient);

export const ANY_CLIENT = 'file';

/** Reads files of unknown clients: any table of servers, references in every form that is not also plain text. */
export const ANY_CLIENTS: readonly Client[] = [undefined, tomlForm, yamlForm].map((form) =>
  toClient({
    id: ANY_CLIENT,
    name: 'a file',
    next: '',
    ...(form !== undefined && { form }),
    references: (value) => braces(dollarEnv(dollarPrefix(value))),
    user: [],
    table: () => [],
    fields: {
      ...{ envFile, gallery: ignored, version: ignored, dev: ignored, start_on_launch: ignored, unusable },
      ...{ ...CODEX, ...ZED, ...GOOSE, ...MCPORTER },
    },
  }),
);

/** Finds a client by id. Throws `usage` with a suggestion. */
export function findClient(id: string, hint: string): Client {
  const found = CLIENTS.find((client) => client.id === id);
  if (found !== undefined) return found;
  const ids = CLIENTS.map((client) => client.id);
  const [close] = nearest(id, ids);
  throw new ToolError('usage', `unknown client "${quoteOutside(id, 40)}"`, {
    hint: close === undefined ? `for a list of clients: ${hint}` : `did you mean ${close}? for a list: ${hint}`,
    data: { clients: ids },
  });
}
