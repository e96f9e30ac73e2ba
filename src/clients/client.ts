// A client of the protocol: where its configuration lies, how that is written, and what its entries mean, both ways.

import type { JsonObject } from '../core/json.js';
import type { Form, KeyPath } from './forms/form.js';
import type { Draft } from './read-entry.js';

export type Scope = 'project' | 'user';

/** What decides where configuration lies. */
export interface Surroundings {
  readonly workdir: string;
  /** The home directory; a machine without one has no user scope. */
  readonly home: string;
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** One file that a client reads servers from. */
export interface ClientFile {
  readonly scope: Scope;
  readonly path: string;
  /** Where servers stand in such a document; the first is where one is added. */
  tables(document: unknown): readonly KeyPath[];
}

/** This server, as a client is to start it. */
export interface OwnServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly form: Form;
  /** Its files, those of a project first; of several in one scope the first that exists counts, else the first. */
  files(surroundings: Surroundings): readonly ClientFile[];
  /**
   * How the directory of a project is written in a project's file: a placeholder that the client fills in, or `cwd`
   * where it starts servers there. Without it the path stands there as it is.
   */
  readonly projectDirectory?: string;
  /** Its entry for this server. */
  toEntry(server: OwnServer): JsonObject;
  /** What an entry of its means here; said in the draft: what is not carried over, and why. */
  readEntry(entry: JsonObject, draft: Draft): void;
  /** How a value of its refers to a variable, as `${NAME}` does here; undefined where it has no references. */
  readonly references?: (value: string) => string;
}

/** Starts servers in the directory of the project by itself. */
export const STARTS_THERE = 'cwd';
