// The seam of formats: a file in a directory becomes tools and problems, and nothing is executed.

import type { FileIdentity, Owner, Problem, Tool } from './tool.js';

/** A directory that tools are looked for in. */
export interface Place {
  readonly directory: string;
  readonly owner: Owner;
}

/** What one file gave. */
export interface Reading {
  readonly tools: readonly Tool[];
  readonly problems: readonly Problem[];
  /** What the file looked like when it was read; undefined where it could not be looked at. */
  readonly identity: FileIdentity | undefined;
}

export interface Format {
  readonly name: string;
  /** Whether a directory entry of this file name can be this format's; nothing is read. */
  claims(fileName: string): boolean;
  /** The file name that a tool of this name would have, where the name alone tells. */
  fileOf?(toolName: string): string;
  /** Reads one claimed file. Whatever is wrong with it is a problem, never an exception; undefined: no tool file. */
  read(fileName: string, place: Place): Reading | undefined;
}
