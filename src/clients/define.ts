// Defines a client by what differs from the common case: a JSON file with an `mcpServers` table and the common fields.

import { isAbsolute, join } from 'node:path';
import type { JsonObject } from '../core/json.js';
import type { Client, ClientEnvironment, ClientFile, Scope } from './client.js';
import type { KeyPath } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { COMMON_FIELDS, type Fields, readFields } from './read-entry.js';

/** Paths below the project or home directory, or absolute ones. */
type Paths = string | readonly string[] | ((environment: ClientEnvironment) => string | readonly string[]);

interface ClientDefinition extends Pick<Client, 'id' | 'name'>, Partial<Omit<Client, 'id' | 'name' | 'files'>> {
  readonly project?: Paths;
  readonly user: Paths;
  tables?(document: unknown, scope: Scope, environment: ClientEnvironment): readonly KeyPath[];
  /** Fields besides the common ones. */
  readonly fields?: Fields | ((entry: JsonObject) => Fields);
  /** Fields to write in addition to command and args. */
  readonly extra?: Readonly<Record<string, string | readonly string[]>>;
}

export function defineClient(definition: ClientDefinition): Client {
  const { project = [], user, tables = () => [['mcpServers']], fields = {}, extra, ...client } = definition;
  const filesOf = (scope: Scope, paths: Paths, environment: ClientEnvironment): ClientFile[] => {
    const base = scope === 'project' ? environment.workdir : environment.home;
    return [typeof paths === 'function' ? paths(environment) : paths].flat().map((path) => ({
      scope,
      path: isAbsolute(path) ? path : join(base, path),
      tables: (document) => tables(document, scope, environment),
    }));
  };
  return {
    form: jsonForm,
    files: (environment) => [...filesOf('project', project, environment), ...filesOf('user', user, environment)],
    toEntry: ({ command, args }) => ({ ...extra, command, args }),
    readEntry: (entry, draft) => {
      const own = typeof fields === 'function' ? fields(entry) : fields;
      readFields(entry, { ...COMMON_FIELDS, ...own }, draft);
    },
    ...client,
  };
}

/** Returns `$XDG_CONFIG_HOME`, or `~/.config`. */
export function configHome(environment: ClientEnvironment): string {
  return namedDirectory(environment, 'XDG_CONFIG_HOME', '.config');
}

/** Returns the data directory of desktop programs. */
export function applicationData(environment: ClientEnvironment): string {
  return environment.platform === 'darwin'
    ? join(environment.home, 'Library', 'Application Support')
    : configHome(environment);
}

/** Returns the directory in a variable, or one below the home directory. */
export function namedDirectory({ env, home }: ClientEnvironment, variable: string, otherwise: string): string {
  const named = env[variable];
  return named !== undefined && isAbsolute(named) ? named : join(home, otherwise);
}

/** Translates `${env:NAME}` to `${NAME}`. */
export function dollarEnv(value: string): string {
  return value.replace(/\$\{env:([A-Za-z_]\w*)\}/g, '$${$1}');
}

/** `${NAME}` and `${NAME:-…}` need no translation. */
export function dollarName(value: string): string {
  return value;
}

/** Translates `$NAME` to `${NAME}`. */
export function bareDollar(value: string): string {
  return value.replace(/\$([A-Za-z_]\w*)/g, '$${$1}');
}
