// What installing needs of its surroundings, and where it keeps things below `WIELD_HOME`.

import { join, resolve } from 'node:path';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import type { Hook } from './apply/hooks.js';

export interface InstallContext {
  readonly world: World;
  readonly wieldHome: string;
  /** Directories of agents that items are linked into, absolute. */
  readonly homes: readonly string[];
  readonly limits: Settings['limits'];
  readonly version: string;
  readonly signal: AbortSignal;
  /** Told what goes on: a step that is done, or one that is under way. */
  report(step: Step): void;
  /** Asked once for all hooks that are not yet approved; false: they are skipped (HOOK-2). */
  approveHooks(hooks: readonly Hook[]): Promise<boolean>;
}

export interface Step {
  readonly kind: 'progress' | 'note' | 'warning';
  readonly text: string;
}

export interface Paths {
  readonly sourcesFile: string;
  readonly installedFile: string;
  readonly hooksFile: string;
  readonly journal: string;
  readonly lock: string;
  readonly sources: string;
  readonly objects: string;
  readonly store: string;
}

export function pathsOf(wieldHome: string): Paths {
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

/** The directories that items are linked into: those of the configuration, or Claude's. */
export function agentHomes(configured: readonly string[], home: string | undefined): string[] {
  return (configured.length > 0 ? configured : ['~/.claude']).flatMap((one) => {
    if (!/^~(?=\/|$)/.test(one)) return [resolve(one)];
    return home === undefined ? [] : [join(home, one.slice(1))];
  });
}
