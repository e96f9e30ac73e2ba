// Opens an address in the browser of the person who sits here, by the opener of the platform.

import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { World } from '../../core/world.js';
import { baseEnvironment, searchPath } from '../../process/environment.js';
import { start } from '../../process/spawn.js';

// What a program of the desktop needs to find it.
const DESKTOP = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_*', 'WSL*'];

/** Whether one was started; false where there is no desktop or no opener. It stays when this process ends. */
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
      'ignore',
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
  if (env.SSH_CONNECTION) return undefined;
  if (world.platform === 'darwin') return findProgram('open', world);
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY && !env.WSL_DISTRO_NAME) return undefined;
  return findProgram('xdg-open', world) ?? findProgram('wslview', world);
}

function findProgram(name: string, world: World): string | undefined {
  return searchPath(world)
    .map((directory) => join(directory, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
