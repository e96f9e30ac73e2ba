// Goose: `extensions` in `config.yaml`, some of which are servers.

import { join } from 'node:path';
import type { Client } from './client.js';
import { yamlForm } from './forms/yaml.js';
import { configHome } from './places.js';
import {
  COMMON_FIELDS,
  type FieldReader,
  ignored,
  map,
  ownRules,
  readFields,
  text,
  texts,
  time,
  transport,
} from './read-entry.js';

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

export const goose: Client = {
  id: 'goose',
  name: 'Goose',
  form: yamlForm,
  files: (environment) => [
    {
      scope: 'user',
      path: join(configHome(environment), 'goose', 'config.yaml'),
      tables: () => [['extensions']],
    },
  ],
  toEntry: ({ name, command, args }) => ({
    name,
    type: 'stdio',
    enabled: true,
    cmd: command,
    args,
    envs: {},
    timeout: 300,
  }),
  readEntry: (entry, draft) =>
    readFields(
      entry,
      {
        ...COMMON_FIELDS,
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
      draft,
    ),
};
