// Records local changes of installed items as the installed files.

import { join } from 'node:path';
import { hashTree } from '../../files/tree.js';
import type { InstallEnvironment } from '../environment.js';
import { digestFiles } from '../file-digests.js';
import type { InstalledItem } from '../manifest/installed.js';
import { itemKey } from '../manifest/item-name.js';
import { portableHash } from '../portable-hash.js';
import { loadInstalled } from '../state.js';
import { commit } from './commit.js';
import { createTransactionId } from './objects.js';

/** Records the current files of items as the installed ones, and pins their tools (INS-23). */
export async function acceptModified(
  chosen: readonly InstalledItem[],
  environment: InstallEnvironment,
): Promise<InstalledItem[]> {
  const { paths, world } = environment;
  const hashesOf = (object: string, { portable, installedHash }: InstalledItem) => ({
    installedHash: hashTree(object),
    digests: digestFiles(object),
    portable: {
      installed: portable?.installed ?? installedHash,
      built: portableHash(object, { store: paths.store, home: world.home }),
    },
  });
  const { items, made } = loadInstalled(paths);
  const pinned = chosen.map(itemKey);
  const isChosen = (item: InstalledItem): boolean => pinned.includes(itemKey(item));
  const accepted = items.map((item) =>
    isChosen(item) ? { ...item, ...hashesOf(join(paths.objects, item.object), item) } : item,
  );
  await commit({
    environment,
    transaction: { id: createTransactionId() },
    changes: [],
    staged: [],
    pinned,
    next: () => ({ items: accepted, made }),
  });
  return accepted.filter(isChosen);
}
