// Compares installed files with their record and with the lock, and names every difference (INS-30).

import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { InstallEnvironment, InstallPaths } from './environment.js';
import { type LockedItem, type LockedSource, readLock } from './lock-file.js';
import type { InstalledItem } from './manifest/installed.js';
import { type ItemKind, itemKey } from './manifest/item-name.js';
import { portableHash } from './portable-hash.js';
import { loadInstalled, loadSources } from './state.js';
import { checkFiles } from './status.js';

export interface Difference {
  readonly kind: ItemKind;
  readonly effective: string;
  readonly source: string;
  readonly states: readonly string[];
}

const CHANGES: readonly string[] = ['missing', 'locally modified', 'broken link'];

/** `lockFile` is compared if it exists. */
export function findDifferences(environment: InstallEnvironment, lockFile: string): readonly Difference[] {
  const { paths } = environment;
  const { items } = loadInstalled(paths);
  const found = new Map<string, Difference>();
  const add = ({ kind, effective, source }: Omit<Difference, 'states'>, ...states: readonly string[]): void => {
    const key = `${source}\n${kind}\n${effective}`;
    const known = found.get(key)?.states ?? [];
    if (states.length > 0) found.set(key, { kind, effective, source, states: [...new Set([...known, ...states])] });
  };
  for (const item of items) {
    const states = checkFiles(item, paths).filter((state) => CHANGES.includes(state));
    add(item, ...(states.length === 0 && hasOddEntries(item, paths) ? ['locally modified'] : states));
  }
  if (existsSync(lockFile)) compareLock(readLock(lockFile), items, environment, add);
  return [...found.values()];
}

// What the hash of a tree does not contain: permissions besides the executable bit, and empty directories. Hooks may
// leave anything.
function hasOddEntries({ object, hooks }: InstalledItem, { objects }: InstallPaths): boolean {
  if (hooks.build !== null || hooks.install !== null) return false;
  const isOdd = (directory: string): boolean => {
    const entries = readdirSync(directory);
    return (
      entries.length === 0 ||
      entries.some((name) => {
        const path = join(directory, name);
        const stats = lstatSync(path);
        if (stats.isDirectory()) return isOdd(path);
        const mode = stats.mode & 0o7777;
        return mode !== 0o644 && mode !== 0o755;
      })
    );
  };
  return isOdd(join(objects, object));
}

type Add = (of: Omit<Difference, 'states'>, ...states: readonly string[]) => void;

function compareLock(
  locked: readonly LockedSource[],
  items: readonly InstalledItem[],
  environment: InstallEnvironment,
  add: Add,
): void {
  const installed = new Map(items.map((item) => [itemKey(item), item]));
  const locations = new Map(loadSources(environment.paths).map(({ id, location }) => [id, location]));
  const expected = new Set<string>();
  for (const source of locked) {
    const isElsewhere = locations.has(source.id) && locations.get(source.id) !== source.location;
    for (const item of source.items) {
      const key = itemKey({ ...item, source: source.id });
      expected.add(key);
      const found = installed.get(key);
      const states = found === undefined ? ['in the lock, but not installed'] : compareItem(item, found, environment);
      add({ ...item, source: source.id }, ...states, ...(isElsewhere ? ['the lock has another location'] : []));
    }
  }
  // A lock describes its own sources completely, and says nothing about others.
  const ids = new Set(locked.map(({ id }) => id));
  for (const item of items)
    if (ids.has(item.source) && !expected.has(itemKey(item))) add(item, 'installed, but not in the lock');
}

function compareItem(locked: LockedItem, item: InstalledItem, { paths, world }: InstallEnvironment): string[] {
  const states: string[] = [];
  if (locked.effective !== item.effective) states.push(`named ${locked.effective} in the lock`);
  if (locked.commit !== item.commit) states.push('the lock has another commit');
  if (locked.sourceHash !== item.sourceHash) states.push('the lock has another source hash');
  const hash = locked.builtHash ?? locked.installedHash;
  if (item.portable !== undefined && locked.installedHash !== item.portable.installed)
    states.push('the lock has another installed hash');
  const object = join(paths.objects, item.object);
  if (item.portable === undefined || !existsSync(object)) return states;
  try {
    const rendering = { store: paths.store, home: world.home };
    if (portableHash(object, rendering) !== hash) states.push('the files differ from the lock');
  } catch {
    states.push('the files differ from the lock');
  }
  return states;
}
