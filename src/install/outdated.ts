// Finds installed items whose source has something newer, without changing anything.

import type { InstallEnvironment } from './environment.js';
import { type Inventory, loadInventory } from './inventory.js';
import { removeUnusedClones } from './sources/clones.js';
import { fetchSource } from './sources/fetch.js';
import { loadSourceTrees } from './sources/load.js';
import { loadSources, type SourceRecord } from './state.js';
import { type ItemStatus, readStatus } from './status.js';

const NEWER: readonly string[] = ['upstream changed', 'renamed', 'pending', 'gone upstream'];

export interface OutdatedItem extends ItemStatus {
  /** The commit that an upgrade would install; null for a local directory. */
  readonly latest: string | null;
}

/** Fetches the sources of installed items; hooks do not run, and the registered commits stay. */
export async function findOutdated(environment: InstallEnvironment): Promise<readonly OutdatedItem[]> {
  const { paths } = environment;
  const quiet: InstallEnvironment = { ...environment, approveHooks: async () => false, report() {} };
  const records = loadSources(paths);
  try {
    const used = new Set(loadInventory(quiet).installed.items.map(({ source }) => source));
    const newest: SourceRecord[] = [];
    for (const record of records) {
      if (!used.has(record.id) || record.kind === 'local') newest.push(record);
      else newest.push((await fetchSource(record, record, quiet)).record);
    }
    const inventory: Inventory = { ...loadInventory(quiet), sources: loadSourceTrees(newest, quiet) };
    const latest = new Map(newest.map(({ id, commit }) => [id, commit]));
    return readStatus(inventory)
      .map((status) => ({ ...status, states: status.states.filter((state) => NEWER.includes(state)) }))
      .filter(({ states }) => states.length > 0)
      .map((status) => ({ ...status, latest: latest.get(status.item.source) ?? null }));
  } finally {
    removeUnusedClones(paths, records);
  }
}
