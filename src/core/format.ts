// The seam of formats: an entry of a directory becomes tools, skills and problems, and nothing is executed.

import type { Problem } from './problem.js';
import type { Skill } from './skill.js';
import type { Snapshot } from './snapshot.js';
import type { FileIdentity, Owner, Tool } from './tool.js';

/** What a place is: scripts, one of the search path, which holds skills, or links to installed tools (RES-6, SCR-17, INS-22). */
export type PlaceKind = 'tools' | 'skills' | 'packages';

/** A directory that tools are looked for in. */
export interface Place {
  readonly directory: string;
  readonly owner: Owner;
  readonly kind: PlaceKind;
  /** Globs of entries that are passed over: of their names, or with a `/` of their absolute paths. */
  readonly ignore?: readonly string[];
  /** A library's, which may ship an index of its own (RES-22). */
  readonly external?: boolean;
}

/** The state of a file, or that it could not be looked at. */
export type FileState = FileIdentity | undefined;

/** What one entry gave. */
export interface Reading {
  readonly tools: readonly Tool[];
  readonly problems: readonly Problem[];
  readonly skills?: readonly Skill[];
  /** What the entry's files looked like when they were read, in the order of `filesOf`. */
  readonly states: readonly FileState[];
  /** The files that decided it, below the place, where `filesOf` cannot know them; `states` are then theirs. */
  readonly files?: readonly string[];
  /** More may be known another time, though no file changes: read again at the next look. */
  readonly pending?: boolean;
}

/** The part of a snapshot that a format may depend on. */
export type FormatSnapshot = Pick<Snapshot, 'workdir' | 'settings' | 'trusted'>;

export interface Format {
  readonly name: string;
  /** The kinds of place that it reads. */
  readonly places: readonly PlaceKind[];
  /** What its entries are. */
  readonly entries: 'files' | 'directories';
  /** Whether its tools give way to any other of their name: what they give can be had in another way too. */
  readonly yields?: boolean;
  /** Whether an entry of this name can be this format's; nothing is read. */
  claims(entry: string): boolean;
  /** The entry that a tool of this name would be, where the name alone tells. */
  entryOf?(toolName: string): string;
  /**
   * The files that decide what an entry gives, below the place; the entry itself where there is no such list. The
   * first stands for the entry where a path names it (RES-2).
   */
  filesOf?(entry: string): readonly string[];
  /** Reads one claimed entry. Whatever is wrong is a problem, never an exception; undefined: none of ours. */
  read(entry: string, place: Place, snapshot?: FormatSnapshot): Reading | undefined;
  /**
   * Fetches what readings were pending for, where it can be fetched; undefined where there is nothing to wait for.
   * What needs code to be run is run here, where that is trusted, and never while reading.
   */
  settle?(snapshot: FormatSnapshot): Promise<void> | undefined;
}
