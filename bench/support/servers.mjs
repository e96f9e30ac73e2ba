// Commands that start the measured servers, including FastMCP if it can be installed.

import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sized } from './measure.mjs';
import { createDirectory } from './workspace.mjs';

const FASTMCP = 'fastmcp@4.20.16';
const PROBE = fileURLToPath(new URL('./cpu-probe.cjs', import.meta.url));

export const fileOf = (name) => fileURLToPath(new URL(`../servers/${name}`, import.meta.url));

/** Returns the command of a server in `servers/`; a `probed` server reports its CPU time on request. */
export function serverCommand(name, args = [], { probed = false } = {}) {
  return [process.execPath, ...(probed ? ['--require', PROBE] : []), fileOf(name), ...args.map(String)];
}

/** Returns the command of a FastMCP server with `count` tools, or undefined if it cannot be installed or in a quick run. */
export function fastmcpCommand(count) {
  const directory = sized(installFastmcp, () => undefined)();
  return directory && [process.execPath, join(directory, 'fastmcp-stdio.mjs'), String(count)];
}

let installed;

// FastMCP has 197 dependencies, so it is not a devDependency but is installed into a temporary folder.
function installFastmcp() {
  if (installed === undefined) {
    const directory = createDirectory();
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status, stderr, error } = spawnSync('npm', ['install', ...flags, FASTMCP], {
      cwd: directory,
      encoding: 'utf8',
      timeout: 120_000,
    });
    if (status === 0) {
      for (const file of ['fastmcp-stdio.mjs', 'tool.mjs']) copyFileSync(fileOf(file), join(directory, file));
    } else console.error(`FastMCP is left out, it could not be installed: ${error?.message ?? stderr.trim()}`);
    installed = { directory: status === 0 ? directory : undefined };
  }
  return installed.directory;
}
