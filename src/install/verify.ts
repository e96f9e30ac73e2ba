// Compares installed files with their record and with the lock, and names every difference (INS-30).

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { InstallEnvironment } from './environment.js';
import { nameChanges } from './file-digests.js';
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
  /** What is different in its directory: `changed PATH`, `added PATH`, `removed PATH`, `mode of PATH`. */
  readonly files: readonly string[];
}

type Identity = Pick<Difference, 'kind' | 'effective' | 'source'>;

const MODIFIED = 'locally modified';
const CHANGES: readonly string[] = ['missing', MODIFIED, 'broken link'];

/** `lockFile` is compared if it exists. */
export function findDifferences(environment: InstallEnvironment, lockFile: string): readonly Difference[] {
  const { paths } = environment;
  const { items } = loadInstalled(paths);
  const found = new Map<string, Difference>();
  const add = ({ kind, effective, source }: Identity, states: readonly string[], files?: readonly string[]): void => {
    const key = `${source}\n${kind}\n${effective}`;
    const known = found.get(key);
    if (states.length === 0) return;
    const all = [...new Set([...(known?.states ?? []), ...states])];
    found.set(key, { kind, effective, source, states: all, files: files ?? known?.files ?? [] });
  };
  for (const item of items) {
    const states: string[] = checkFiles(item, paths).filter((state) => CHANGES.includes(state));
    const directory = join(paths.objects, item.object);
    const files = existsSync(directory) ? nameChanges(item, directory, states.includes(MODIFIED)) : [];
    if (files.length > 0 && !states.includes(MODIFIED)) states.push(MODIFIED);
    add(item, states, files);
  }
  if (existsSync(lockFile)) compareLock(readLock(lockFile), items, environment, add);
  return [...found.values()];
}

type Add = (of: Identity, states: readonly string[]) => void;

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
      add({ ...item, source: source.id }, [...states, ...(isElsewhere ? ['the lock has another location'] : [])]);
    }
  }
  // A lock describes its own sources completely, and says nothing about others.
  const ids = new Set(locked.map(({ id }) => id));
  for (const item of items)
    if (ids.has(item.source) && !expected.has(itemKey(item))) add(item, ['installed, but not in the lock']);
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
