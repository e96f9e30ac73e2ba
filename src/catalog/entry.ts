// What is known of a directory and its entries.

import type { FileState, ModuleOffer, Reading } from '../core/format.js';
import type { FileIdentity, Origin } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Tool } from '../core/tool.js';

/** One entry of a directory as a format read it. */
export interface Entry {
  readonly name: string;
  readonly states: readonly FileState[];
  /** The files that the states belong to, if the reading named them. */
  readonly files?: readonly string[];
  /** False if a file was so young when read that a later change could have the same timestamp. */
  readonly settled: boolean;
  /** Undefined: the entry does not belong to the format. */
  readonly reading: Omit<Reading, 'states'> | undefined;
  /** Whether the entry comes from an index on disk: good enough for a listing, not for a call (RES-13). */
  readonly indexed: boolean;
  /** Whether a file is outside the boundary of the place: valid for the current trust only, so it is not stored. */
  readonly leaves?: boolean;
}

/** A directory as one format read it. */
export interface DirectoryState {
  readonly identity: FileIdentity;
  readonly settled: boolean;
  /** By name, sorted. */
  readonly entries: Map<string, Entry>;
  /** Whether part of it comes from a library's own index: good enough for a listing, not for finding (RES-22). */
  readonly shipped: boolean;
}

export interface DirectoryListing {
  /** Sorted by name. */
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
  readonly offers: readonly ModuleOffer[];
  readonly problems: readonly Problem[];
  /** Files without known tools that may offer something: not loaded, not read, or with resources and prompts only. */
  readonly otherFiles: readonly Origin[];
}
