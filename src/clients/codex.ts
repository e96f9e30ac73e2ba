// Codex: tables `[mcp_servers.NAME]` in `config.toml`.

import { join } from 'node:path';
import { isRecord } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import { STARTS_IN_PROJECT } from './client.js';
import { defineClient, namedDirectory } from './define.js';
import { tomlForm } from './forms/toml.js';
import {
  COMMON_FIELDS,
  disabledWhen,
  type FieldReader,
  type Fields,
  ignored,
  map,
  oauth,
  ownRules,
  readFields,
  text,
  texts,
  time,
} from './read-entry.js';

// Names of variables that the server inherits.
const variables: FieldReader = (value, draft, field) => {
  for (const one of Array.isArray(value) ? value : []) {
    const name: unknown = isRecord(one) ? one.name : one;
    if (typeof name !== 'string' || (isRecord(one) && one.source === 'remote'))
      draft.notes.push(`${field}: ${quoteOutside(JSON.stringify(one), 40)} is not imported`);
    else draft.ownEnv[name] = `\${${name}}`;
  }
};

const headersFromVariables: FieldReader = (value, draft, field) => {
  if (!isRecord(value)) draft.notes.push(`${field}: not imported, not a table`);
  else for (const [header, name] of Object.entries(value)) draft.ownHeaders[header] = `\${${String(name)}}`;
};

const bearer: FieldReader = (value, draft) => {
  draft.ownHeaders.Authorization = `Bearer \${${String(value)}}`;
};

const FIELDS: Fields = {
  command: text('command'),
  args: texts('args'),
  env: map('env'),
  env_vars: variables,
  cwd: text('cwd'),
  url: text('url'),
  http_headers: map('headers'),
  env_http_headers: headersFromVariables,
  bearer_token_env_var: bearer,
  startup_timeout_sec: time('startTimeoutMs', 1000),
  startup_timeout_ms: time('startTimeoutMs'),
  tool_timeout_sec: time('timeoutMs', 1000),
  enabled: disabledWhen(false),
  enabled_tools: texts('allow'),
  disabled_tools: texts('deny'),
  default_tools_approval_mode: ownRules,
  tools: ownRules,
  oauth,
  scopes: (value, draft, field) => oauth({ scopes: value }, draft, field),
  name: COMMON_FIELDS.name!,
  required: ignored,
};

export const codex = defineClient({
  id: 'codex',
  name: 'Codex',
  form: tomlForm,
  projectDirectory: STARTS_IN_PROJECT,
  project: '.codex/config.toml',
  user: (environment) => join(namedDirectory(environment, 'CODEX_HOME', '.codex'), 'config.toml'),
  tables: () => [['mcp_servers']],
  readEntry: (entry, draft) => readFields(entry, FIELDS, draft),
});
