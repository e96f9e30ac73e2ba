// InstallEnvironment: what installing receives from its caller, and the paths of its state in WIELD_HOME.

import { join, resolve } from 'node:path';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import type { Hook } from './hooks/hook.js';

export interface InstallEnvironment {
  readonly world: World;
  readonly paths: InstallPaths;
  /** Agent homes that items are linked into, absolute. */
  readonly homes: readonly string[];
  readonly limits: Settings['limits'];
  /** The version of wield, compared with the minimum version of a source. */
  readonly version: string;
  readonly signal: AbortSignal;
  report(progress: InstallProgress): void;
  /** Called once with all hooks that are not approved yet. False skips them (HOOK-2). */
  approveHooks(hooks: readonly Hook[]): Promise<boolean>;
}

export interface InstallProgress {
  readonly kind: 'progress' | 'note' | 'warning';
  readonly text: string;
}

export interface InstallPaths {
  readonly sourcesFile: string;
  readonly installedFile: string;
  readonly hooksFile: string;
  readonly journal: string;
  readonly lock: string;
  /** Clones of git sources. */
  readonly sources: string;
  /** Installed trees, one directory per item and content. */
  readonly objects: string;
  /** Stable paths of installed items: links to objects. */
  readonly store: string;
}

export function pathsOf(wieldHome: string): InstallPaths {
  const at = (name: string): string => join(wieldHome, name);
  return {
    sourcesFile: at('sources.json'),
    installedFile: at('installed.json'),
    hooksFile: at('hooks.json'),
    journal: at('install.journal'),
    lock: at('install.lock'),
    sources: at('sources'),
    objects: at('objects'),
    store: at('store'),
  };
}

/** Resolves the configured agent homes; the default is `~/.claude`. */
export function agentHomes(configured: readonly string[], home: string | undefined): string[] {
  return (configured.length > 0 ? configured : ['~/.claude']).flatMap((one) => {
    if (!/^~(?=\/|$)/.test(one)) return [resolve(one)];
    return home === undefined ? [] : [join(home, one.slice(1))];
  });
}
