// Opens a URL in the browser with the opener of the platform.

import type { World } from '../../core/snapshot.js';
import { baseEnvironment, findProgram, searchPath } from '../../process/environment.js';
import { start } from '../../process/start.js';

// Variables that desktop programs need.
const DESKTOP = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_*', 'WSL*'];

/** Returns whether a browser was opened; false without a desktop or an opener. */
export async function openBrowser(url: URL, world: World): Promise<boolean> {
  if (!/^https?:$/.test(url.protocol)) return false;
  const opener = findOpener(world);
  if (opener === undefined) return false;
  try {
    const child = await start(
      {
        argv: [opener, url.href],
        cwd: world.home ?? '/',
        environment: baseEnvironment(world, DESKTOP),
      },
      null,
      world,
      ['ignore', 'ignore', 'ignore'],
    );
    child.unref();
    return true;
  } catch (error) {
    world.debug(`no browser: ${(error as Error).message}`);
    return false;
  }
}

function findOpener(world: World): string | undefined {
  const { env } = world;
  const path = searchPath(world);
  if (env.SSH_CONNECTION) return undefined;
  if (world.platform === 'darwin') return findProgram('open', path);
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY && !env.WSL_DISTRO_NAME) return undefined;
  return findProgram('xdg-open', path) ?? findProgram('wslview', path);
}
