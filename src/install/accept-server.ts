// Records that a person accepts an installed server, with the values they configured.

import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { isChanged } from '../upstream/entries/installed-files.js';
import { acceptModified } from './apply/accept.js';
import type { InstallEnvironment } from './environment.js';
import type { ConfigValues } from './manifest/server-config.js';
import { findInstalledServer, saveServer, writeServers } from './servers.js';
import { loadInstalled } from './state.js';

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
