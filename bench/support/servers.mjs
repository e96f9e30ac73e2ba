// The commands that start the measured servers, FastMCP among them where it can be installed.

import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDirectory } from './workspace.mjs';

const FASTMCP = 'fastmcp@4.20.16';
const PROBE = fileURLToPath(new URL('./cpu-probe.cjs', import.meta.url));

export const fileOf = (name) => fileURLToPath(new URL(`../servers/${name}`, import.meta.url));

/** The command of a server in `servers/`; `probed`, it can be asked for its CPU time. */
export function serverCommand(name, args = [], { probed = false } = {}) {
  return [process.execPath, ...(probed ? ['--require', PROBE] : []), fileOf(name), ...args.map(String)];
}

/** FastMCP's server with that many tools, or undefined where it cannot be installed; the reason is printed. */
export function fastmcpCommand(count) {
  const directory = installFastmcp();
  return directory && [process.execPath, join(directory, 'fastmcp-stdio.mjs'), String(count)];
}

let installed;

// It brings 197 packages, so it is none of ours: it lies in a folder of its own while the benchmark runs.
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
    } else console.error(`without FastMCP, which cannot be installed: ${error?.message ?? stderr.trim()}`);
    installed = { directory: status === 0 ? directory : undefined };
  }
  return installed.directory;
}
