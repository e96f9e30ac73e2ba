// Goose: `extensions` in `config.yaml`, some of which are servers.

import { join } from 'node:path';
import { configHome, defineClient } from './define.js';
import { yamlForm } from './forms/yaml.js';
import { type FieldReader, ignored, map, ownRules, text, texts, time, transport } from './read-entry.js';

const type: FieldReader = (value, draft, field) => {
  if (['builtin', 'platform', 'frontend', 'inline_python'].includes(String(value)))
    draft.unusable ??= 'it is built into Goose, not a server';
  else transport(value, draft, field);
};

// The values are in the keyring of the client, which wield cannot read.
const keys: FieldReader = (value, draft, field) => {
  for (const name of Array.isArray(value) ? value : []) {
    draft.ownEnv[String(name)] = `\${${String(name)}}`;
    draft.notes.push(`${field}: the value is in the client's keyring; set the variable ${String(name)}`);
  }
};

export const goose = defineClient({
  id: 'goose',
  name: 'Goose',
  form: yamlForm,
  user: (environment) => join(configHome(environment), 'goose', 'config.yaml'),
  tables: () => [['extensions']],
  toEntry: ({ name, command, args }) => ({
    name,
    type: 'stdio',
    enabled: true,
    cmd: command,
    args,
    envs: {},
    timeout: 300,
  }),
  fields: {
    type,
    cmd: text('command'),
    args: texts('args'),
    envs: map('env'),
    env_keys: keys,
    uri: text('url'),
    timeout: time('timeoutMs', 1000),
    available_tools: (value, draft, field) => {
      if (Array.isArray(value) && value.length > 0) texts('allow')(value, draft, field);
    },
    bundled: ignored,
    display_name: ignored,
    allow: ownRules,
  },
});
