// Records local changes of installed items, and accepted servers, as a person's choice.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { isChanged } from '../../upstream/entries/installed-files.js';
import type { InstallEnvironment } from '../environment.js';
import { hashInstalled } from '../hashes.js';
import { itemKey } from '../manifest/item-name.js';
import type { ConfigValues } from '../manifest/server-config.js';
import { findInstalledServer, saveServer, writeServers } from '../servers.js';
import { type InstalledItem, loadInstalled } from '../state.js';
import { commit } from './commit.js';
import { createTransactionId } from './objects.js';

/** Records the current files of items as the installed ones, and pins their tools (INS-23). */
export async function acceptModified(
  chosen: readonly InstalledItem[],
  environment: InstallEnvironment,
): Promise<InstalledItem[]> {
  const { paths, world } = environment;
  const rendering = { store: paths.store, home: world.home };
  const hashesOf = ({ object, portable }: InstalledItem) =>
    hashInstalled(join(paths.objects, object), rendering, portable.installed);
  const { items, made } = loadInstalled(paths);
  const pinned = chosen.map(itemKey);
  const isChosen = (item: InstalledItem): boolean => pinned.includes(itemKey(item));
  const accepted = items.map((item) => (isChosen(item) ? { ...item, ...hashesOf(item) } : item));
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

/** Records that a person accepts a server with these values. Throws `conflict` if it is not what was shown. */
export async function acceptServer(
  name: string,
  { digest, config }: { readonly digest: string; readonly config: ConfigValues },
  environment: InstallEnvironment,
): Promise<void> {
  const { paths, world } = environment;
  const { files } = findInstalledServer(name, paths);
  const changed = files.filter(isChanged).map(({ path }) => path);
  const items = loadInstalled(paths).items.filter(({ store }) => changed.includes(store));
  if (items.length > 0) await acceptModified(items, environment);
  saveServer(name, { ...findInstalledServer(name, paths), config }, paths);
  writeServers(paths, world.platform);
  const server = findInstalledServer(name, paths);
  if (server.digest !== digest)
    throw new ToolError('conflict', `the server ${quoteOutside(name, 80)} changed while it was shown`, {
      hint: `look at it again: wield mcp accept ${name}`,
    });
  saveServer(name, { ...server, accepted: digest }, paths);
}
