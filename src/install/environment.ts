// InstallEnvironment: what installing receives from its caller, and the paths of its state in WIELD_HOME.

import { join } from 'node:path';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { canonicalPath } from '../files/contained-path.js';
import { toAbsolute } from '../files/home.js';
import type { Network } from '../net/network.js';
import type { ProcessHelper } from '../process/helper.js';
import type { ItemKind } from './manifest/item-name.js';

export interface InstallEnvironment {
  readonly world: World;
  readonly network: Network;
  /** Kills hooks if this process is killed. */
  readonly helper: Pick<ProcessHelper, 'start'>;
  readonly paths: InstallPaths;
  /** Where `wield.lock` is written (INS-30). */
  readonly lockFile: string;
  /** Agent homes that items are linked into, absolute. */
  readonly homes: readonly string[];
  readonly limits: Settings['limits'];
  /** The lists of sources that may be installed from (POL-42). */
  readonly allowedSources: Settings['allowedSources'];
  /** The lists of signers of all sources (INS-93). */
  readonly sourceSigners: Settings['sourceSigners'];
  /** Profiles for hooks. */
  readonly sandbox: Settings['sandbox'];
  /** The version of wield, compared with the minimum version of a source. */
  readonly version: string;
  readonly signal: AbortSignal;
  report(progress: InstallProgress): void;
  /** Called once with all hooks that are not approved yet. False skips them (HOOK-2). */
  approveHooks(hooks: readonly Hook[]): Promise<boolean>;
  /** Called if a source has another signer than before, or none. False refuses it (INS-94). */
  acceptSigner(change: {
    readonly source: string;
    readonly before: Signer;
    readonly now: Signer | null;
  }): Promise<boolean>;
  /** Throws if the pins of tools from one of these sources cannot be read. */
  checkPins(sources: readonly string[]): void;
  /** Pins installed tools: installing one is a person's approval of its definition (POL-21). */
  pinTools(items: readonly PinnedItem[]): Promise<void>;
}

/** For runs in which nobody is asked. */
export const REFUSE_ALL = {
  approveHooks: async () => false,
  acceptSigner: async () => false,
} satisfies Partial<InstallEnvironment>;

/** Who signed a commit, or the tag that led to it. */
export interface Signer {
  /** `SHA256:…` of an SSH key, or the fingerprint of an OpenPGP key. */
  readonly key: string;
  /** As the list of signers or the key has it. */
  readonly name: string | null;
  readonly of: 'commit' | 'tag';
}

/** What pinning reads of an item. */
export interface PinnedItem {
  readonly kind: ItemKind;
  readonly effective: string;
  readonly bin: string | null;
}

/** A shell command of a source or an item. */
export interface Hook {
  /** SHA-256 over the source location, the item, the command and the bytes it runs on. */
  readonly digest: string;
  /** The location of its source. */
  readonly source: string;
  /** The commit of the source; null without one. */
  readonly commit: string | null;
  /** The item it belongs to; null for a hook of the source itself. */
  readonly item: string | null;
  /** The kind of the item. */
  readonly kind: ItemKind | null;
  /** When it runs. */
  readonly event: 'install' | 'uninstall' | 'build';
  /** The command, passed to `/bin/sh -c`. */
  readonly run: string;
  /** The working directory, as shown in the approval prompt. */
  readonly where: string;
}

/** A report while something is installed. */
export interface InstallProgress {
  /** `output`: a line that a hook printed. */
  readonly kind: 'progress' | 'note' | 'warning' | 'output';
  /** The report, as a line for people. */
  readonly text: string;
  /** Of progress: what is done, from 0 to 1, and how much that is. */
  readonly share?: number;
  /** Of progress: how much is done, such as `3 MB`. */
  readonly size?: string;
}

export type InstallPaths = Readonly<ReturnType<typeof pathsOf>>;

export function pathsOf(wieldHome: string) {
  const at = (name: string): string => join(wieldHome, name);
  return {
    sourcesFile: at('sources.json'),
    installedFile: at('installed.json'),
    hooksFile: at('hooks.json'),
    /** The servers of installed plugins. */
    serversFile: at('servers.json'),
    journal: at('install.journal'),
    lock: at('install.lock'),
    /** Clones of git sources. */
    sources: at('sources'),
    /** Installed trees, one directory per item and content. */
    objects: at('objects'),
    /** Stable paths of installed items: links to objects. */
    store: at('store'),
  };
}

/**
 * Resolves the agent homes, each directory once: those of `MIND_AGENT_HOMES`, else the configured ones, else one of the
 * default places.
 */
export function agentHomes(configured: readonly string[], { env, home }: Pick<World, 'env' | 'home'>): string[] {
  const { MIND_AGENT_HOMES = '', MIND_DEFAULT_LOBE, CLAUDE_HOME } = env;
  const given = MIND_AGENT_HOMES.split(':').filter((one) => one !== '');
  const one = [MIND_DEFAULT_LOBE, CLAUDE_HOME].find(Boolean) ?? '~/.claude';
  const homes = given.length > 0 ? given : configured.length > 0 ? configured : [one];
  const paths = homes.flatMap((path) => toAbsolute(path, '.', home) ?? []);
  return paths.filter((path, at) => paths.findIndex((other) => isSameDirectory(other, path)) === at);
}

/** Whether two absolute paths lead to one directory, which may not exist yet (INS-83). */
export function isSameDirectory(a: string, b: string): boolean {
  return a === b || (canonicalPath(a, '/') ?? a) === (canonicalPath(b, '/') ?? b);
}
