// The Snapshot: settings, rules, places, trust and secrets as they were when a call started; and the World that it is read from.

import type { Block } from './allowance.js';
import type { Boundary, Owner, Place } from './origin.js';
import type { Problem } from './problem.js';
import type { Policy } from './rule.js';
import type { UserOf } from './selector-terms.js';
import type { Settings } from './settings.js';
import type { ServerEntry } from './upstream.js';

/** Read once per call (or listing, search, plan) and passed to every step. Frozen; members are read on first use. */
export interface Snapshot {
  /** Absolute path of the directory that tools run in. */
  readonly workdir: string;
  readonly settings: Settings;
  readonly policy: Policy;
  /** Wall clock in milliseconds. */
  readonly now: number;
  /** Whom rules with `$user=` and `$group=` are about. */
  readonly user: UserOf;
  /** Whether code of the workspace may run for a model (POL-20). */
  readonly trusted: boolean;
  /** Directories searched for tools and skills, in order of precedence. */
  readonly places: readonly Place[];
  /** The places of libraries: cheaper than `places`, because the others are not looked at. */
  readonly libraries: readonly Place[];
  /** Directories that the workdir may be moved within. */
  readonly roots: readonly string[];
  readonly servers: ConfiguredServers;
  /** Values that must not appear in messages or records, including those of servers started since. */
  readonly secrets: readonly string[];
  /** Values of variables that tools get and models must not see, without those that are clearly not secret. */
  readonly hidden: readonly string[];
  /** Problems of the configuration and the search path. */
  readonly problems: readonly Problem[];
  /** Returns the directory that reads must stay inside; undefined if the files do not belong to a workspace (RES-46). */
  boundaryOf(files: FilesOf): Boundary | undefined;
}

/** The files of a directory, and whose they are. */
export interface FilesOf {
  readonly directory: string;
  readonly owner: Owner;
}

/** A server that is not used, and why. */
export interface BlockedServer {
  readonly server: ServerEntry;
  readonly block: Block;
}

/** The upstream servers of all configuration files. */
export interface ConfiguredServers {
  /** Enabled servers, highest precedence first. */
  readonly servers: readonly ServerEntry[];
  readonly disabled: readonly ServerEntry[];
  /** Those that no list of the configuration allows (POL-41). */
  readonly blocked: readonly BlockedServer[];
  /** Those that are not used, because others of their name take precedence. */
  readonly shadowed: readonly ServerEntry[];
  readonly problems: readonly Problem[];
}

/** Where a toolbox works: reads snapshots of it. */
export interface Workspace {
  readonly world: World;
  /** `caller`: for whom it is taken. */
  snapshot(caller?: UserOf): Snapshot;
  /** Changes the workdir of later snapshots. */
  setWorkdir(directory: string): void;
}

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home directory, if there is one. */
  readonly home: string | undefined;
  readonly platform: string;
  /** Wall clock in milliseconds, the same as the file system's. */
  now(): number;
  /** Monotonic clock in milliseconds. */
  monotonic(): number;
  /** Writes a debug message (CLI-12), without secrets. */
  debug(message: string): void;
  /** Whether debug messages are shown, for messages that are expensive to create. */
  readonly debugging: boolean;
}
