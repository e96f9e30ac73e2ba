// Sandboxes: what a tool asks for, what the configuration sets, and what a plan enforces.

import type { SandboxNetwork } from './hosts.js';
import type { Selector } from './selector.js';

/** The profiles that need no configuration. */
export const BUILTIN_PROFILES = ['none', 'read-only', 'workdir', 'no-network'] as const;

/** Of these, what can be meant by a misspelled name. */
export const CLOSED_PROFILES: readonly string[] = BUILTIN_PROFILES.filter((name) => name !== 'none');

/** What the author of a tool or the entry of a server asks for. */
export interface SandboxRequest {
  readonly profile: string;
  /** Whether the process must not run without it. */
  readonly required: boolean;
}

/** A `[sandbox.NAME]` table, with paths as written. */
export interface SandboxTable {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly deny?: readonly string[];
  readonly network?: SandboxNetwork;
  readonly env?: readonly string[];
  /** Whether a project's file contains it: then it only narrows. */
  readonly byProject: boolean;
}

/** A `[[sandbox]]` table: the profile of the tools that it matches. */
export interface SandboxRule extends SandboxRequest {
  readonly selectors: readonly Selector[];
  readonly byProject: boolean;
}

export interface SandboxSettings {
  /** By name. All tables of a name apply together. */
  readonly profiles: ReadonlyMap<string, readonly SandboxTable[]>;
  readonly rules: readonly SandboxRule[];
  /** Directories of the search path, as written: what is put there is called later. */
  readonly places?: readonly string[];
}

export const NO_SANDBOXES: SandboxSettings = Object.freeze({ profiles: new Map(), rules: Object.freeze([]) });

export type SandboxBackend = 'bubblewrap' | 'landlock' | 'seatbelt' | 'none';

/** `private`: an empty directory of its own that can be written. */
export type SandboxAccess = 'hidden' | 'read' | 'write' | 'private';

/** By canonical path. Of all rules for the directories around a path, the closest one applies. */
export type SandboxRules = ReadonlyMap<string, SandboxAccess>;

export interface SandboxSearch {
  readonly root: string;
  /** Not walked, since nothing of it is visible. */
  readonly skipped: readonly string[];
  /** Directories of the search path, as written. */
  readonly places: readonly string[];
  /** What was found before the call, by path, and what each leads to; undefined for a link that leads nowhere. */
  readonly found: ReadonlyMap<string, string | undefined>;
}

/** The sandbox of a planned process. */
export interface SandboxPlan {
  /** The profile, or several that apply together: `workdir + tests`. */
  readonly profile: string;
  /** `none`: nothing enforces it, and it is not required. */
  readonly backend: SandboxBackend;
  readonly version: string | null;
  /** Why nothing enforces it. */
  readonly reason?: string;
  /** Canonical paths; `all` is everything but what is hidden. */
  readonly read: 'all' | readonly string[];
  readonly write: 'all' | readonly string[];
  readonly hidden: readonly string[];
  readonly rules: SandboxRules;
  /** Those of them that a table denies. */
  readonly denied: readonly string[];
  /** Read-only, although in a directory that can be written. */
  readonly guarded: readonly string[];
  readonly network: SandboxNetwork;
  /** Names of variables that are passed on, if tables list them, and of those that are not. */
  readonly env?: readonly string[];
  readonly dropped: readonly string[];
  /** The directory that paths of tables start at. */
  readonly workdir: string;
  /** Where a person can allow more: names of tables; empty if a rule has a built-in profile. */
  readonly tables: readonly string[];
  /** Whether a project narrows it too. */
  readonly byProject: boolean;
  /** Arguments before the command line. */
  readonly launcher: readonly string[];
  /** The program inside that makes its network, with a list of hosts; it starts the command line. */
  readonly starter?: readonly string[];
  /** The seccomp filter that the launcher installs. */
  readonly filter?: string | undefined;
  /** Files that the launcher needs, and paths that can only be written if they exist. */
  readonly prepare: readonly string[];
  /** Where files that make other programs run code are looked for again after the call. */
  readonly searched: SandboxSearch;
  /** Files of the state that are written before the process starts: what links to secrets lead to. */
  readonly remember?: readonly (readonly [file: string, text: string])[];
  /** A private directory for temporary files, if the backend cannot hide that of the system. */
  readonly temporary?: string;
}
