// An MCP client: its configuration files and their format, and conversion of entries in both directions.

import type { JsonObject } from '../core/json.js';
import type { Form, KeyPath } from './forms/form.js';
import type { Draft } from './read-entry.js';

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
  /** Translates references in a value to `${NAME}`; undefined if the client has no references. */
  readonly references?: (value: string) => string;
}

/** The client starts servers in the project directory. */
export const STARTS_IN_PROJECT = 'cwd';
