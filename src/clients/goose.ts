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
    draft.unusable ??= 'it is a part of Goose, and no server';
  else transport(value, draft, field);
};

// Their values lie in the keyring of the client, where nothing else reads them.
const keys: FieldReader = (value, draft, field) => {
  for (const name of Array.isArray(value) ? value : []) {
    draft.ownEnv[String(name)] = `\${${String(name)}}`;
    draft.notes.push(`${field}: the value of ${String(name)} lies in the client's keyring; set the variable`);
  }
};

export const goose: Client = {
  id: 'goose',
  name: 'Goose',
  form: yamlForm,
  files: (surroundings) => [
    {
      scope: 'user',
      path: join(configHome(surroundings), 'goose', 'config.yaml'),
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
