// Format interface: turns an entry of a directory into tools, skills and problems, without executing anything.

import type { ModuleOffer } from './offers.js';
import type { Problem } from './problem.js';
import type { Skill } from './skill.js';
import type { Snapshot } from './snapshot.js';
import type { FileIdentity, Owner, Tool } from './tool.js';

/** The formats of tools in the toolbox of a workdir, with those that come from no file. */
export const FORMATS = [
  'script',
  'tools-json',
  'skill',
  'skill-file',
  'module',
  'openapi',
  'package',
  'upstream',
  'builtin',
] as const;

/**
 * Kind of a place: scripts, modules in a directory below them, skills of the search path, links to installed tools, or a
 * document that the configuration names.
 */
export type PlaceKind = 'tools' | 'groups' | 'skills' | 'packages' | 'documents';

/** A directory that is searched for tools. */
export interface Place {
  readonly directory: string;
  readonly owner: Owner;
  readonly kind: PlaceKind;
  /** Globs of ignored entries: matched against names, or against absolute paths if they contain `/`. */
  readonly ignore?: readonly string[];
  /** Belongs to a library, which may ship its own index (RES-22). */
  readonly external?: boolean;
  /** Its entries are read because a path names them, so a file need not look like a tool. */
  readonly named?: boolean;
  /** The only entry that is read. */
  readonly only?: string;
  /** The name that the configuration gives to it. */
  readonly label?: string;
  /** The workspace that its files must be in; places of the user and of packages have none. */
  readonly boundary?: Boundary;
}

/** A directory that links must not lead out of (RES-46). */
export interface Boundary {
  readonly directory: string;
  /** Whether a file outside may be read all the same, because the workspace is trusted. Called for such files only. */
  readonly admits: (path: string) => boolean;
}

/** The state of a file; undefined if it is missing or unreachable. */
export type FileState = FileIdentity | undefined;

/** The result of reading one entry. */
export interface Reading {
  readonly tools: readonly Tool[];
  readonly problems: readonly Problem[];
  readonly skills?: readonly Skill[];
  readonly offers?: readonly ModuleOffer[];
  /** States of the files when they were read, in the order of `filesOf`. */
  readonly states: readonly FileState[];
  /** The files that were read, relative to the place, if `filesOf` cannot know them; `states` belong to them. */
  readonly files?: readonly string[];
  /** More may be known later although no file changed: read again next time. */
  readonly pending?: boolean;
}

/** The part of a snapshot that a format may depend on. */
export type FormatSnapshot = Pick<Snapshot, 'workdir' | 'settings' | 'trusted'>;

export interface Format {
  readonly name: string;
  /** The kinds of place that it reads. */
  readonly places: readonly PlaceKind[];
  /** Kind of its entries. */
  readonly entries: 'files' | 'directories';
  /** Whether its tools give way to other tools of the same name. */
  readonly yields?: boolean;
  /** Whether an entry of this name can belong to the format; reads nothing. */
  claims(entry: string): boolean;
  /** Returns the entry of a tool name, if the name determines it. */
  entryOf?(toolName: string): string;
  /**
   * Returns the files of an entry, relative to the place; default: the entry itself. A path to the first one refers to
   * the entry (RES-2).
   */
  filesOf?(entry: string): readonly string[];
  /** Reads a claimed entry; undefined if it does not belong to the format. Reports problems, never throws. */
  read(entry: string, place: Place, snapshot?: FormatSnapshot): Reading | undefined;
  /** Readings that can be completed; `settle` is called only if there are any. */
  readonly pending?: { readonly size: number };
  /** Completes pending readings. Trusted code may run here, but never in `read`. */
  settle?(snapshot: FormatSnapshot): Promise<void>;
}
