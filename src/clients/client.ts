// An MCP client: its configuration files and their format, and conversion of entries in both directions.

import { isAbsolute, join } from 'node:path';
import type { JsonObject } from '../core/json.js';
import type { Form, KeyPath } from './forms/form.js';
import { jsonForm } from './forms/json.js';
import { COMMON_FIELDS, type Draft, type Fields, readFields } from './read-entry.js';

export type Scope = 'project' | 'user';

/** Determines the paths of configuration files. */
export interface ClientEnvironment {
  readonly workdir: string;
  readonly home: string;
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A file that a client reads servers from. */
export interface ClientFile {
  readonly scope: Scope;
  readonly path: string;
  /** Returns the tables of servers in a document; new servers are added to the first. */
  tables(document: unknown): readonly KeyPath[];
}

/** The command that starts `wield serve`. */
export interface OwnServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly form: Form;
  /** What a person does in the client before it uses a new server (SRV-92). */
  readonly next: Readonly<Record<Scope, string>>;
  /** Its files, project first; in each scope the first that exists is used, or the first of all. */
  files(environment: ClientEnvironment): readonly ClientFile[];
  /**
   * How a project file refers to the project directory: a placeholder of the client, or `cwd` if servers are started
   * there. Without it, project files are only read: an entry with a path could not be shared (SRV-24).
   */
  readonly projectDirectory?: string;
  /** Returns the entry of the client for `wield serve`. */
  toEntry(server: OwnServer): JsonObject;
  /** Reads an entry of the client into the draft, with notes about what is not imported. */
  readEntry(entry: JsonObject, draft: Draft): void;
  /** Returns why the client does not start a server although it is configured, and what enables it. */
  findBlock?(name: string, environment: ClientEnvironment, document: unknown): string | undefined;
  /** Translates references in a value to `${NAME}`; undefined if the client has no references. */
  readonly references?: (value: string) => string;
}

/** The client starts servers in the project directory. */
export const STARTS_IN_PROJECT = 'cwd';

/** Paths below the project or home directory, or absolute ones. */
type Paths = string | readonly string[] | ((environment: ClientEnvironment) => string | readonly string[]);

/** What differs from the common case: a JSON file with an `mcpServers` table and the common fields. */
export interface ClientRow
  extends Pick<Client, 'id' | 'name'>,
    Partial<Pick<Client, 'form' | 'projectDirectory' | 'references' | 'toEntry' | 'findBlock'>> {
  /** The same in both scopes, or one for each. */
  readonly next: string | Client['next'];
  readonly project?: Paths;
  readonly user: Paths;
  readonly table?: KeyPath | ((document: unknown, scope: Scope, environment: ClientEnvironment) => readonly KeyPath[]);
  /** Fields besides the common ones. */
  readonly fields?: Fields | ((entry: JsonObject) => Fields);
  /** Fields to write in addition to command and args. */
  readonly extra?: Readonly<Record<string, string | readonly string[]>>;
}

export function toClient(row: ClientRow): Client {
  const { id, name, form = jsonForm, projectDirectory, references, extra, fields = {} } = row;
  const { project = [], user, table = ['mcpServers'] } = row;
  const filesOf = (scope: Scope, paths: Paths, environment: ClientEnvironment): ClientFile[] =>
    [typeof paths === 'function' ? paths(environment) : paths].flat().map((path) => ({
      scope,
      path: isAbsolute(path) ? path : join(scope === 'project' ? environment.workdir : environment.home, path),
      tables: (document) => (typeof table === 'function' ? table(document, scope, environment) : [table]),
    }));
  return {
    id,
    name,
    form,
    next: typeof row.next === 'string' ? { project: row.next, user: row.next } : row.next,
    projectDirectory,
    references,
    findBlock: row.findBlock,
    files: (environment) => [...filesOf('project', project, environment), ...filesOf('user', user, environment)],
    toEntry: row.toEntry ?? (({ command, args }) => ({ ...extra, command, args })),
    readEntry(entry, draft) {
      const own = typeof fields === 'function' ? fields(entry) : fields;
      readFields(entry, { ...COMMON_FIELDS, ...own }, draft);
    },
  };
}
