// Temporary workspaces with many small scripts and their own home directory, removed at exit.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENT, sized } from './measure.mjs';

export const BINARY = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));

// Younger files are read again at every listing, so a benchmark of a warm index waits this long.
const SETTLE_MS = sized(2200, 0);

const created = [];
process.once('exit', () => {
  for (const directory of created) rmSync(directory, { recursive: true, force: true });
});

export function createDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'wield-bench-'));
  created.push(directory);
  return directory;
}

/** Creates a workspace with `count` script tools: `tool-0000`, `tool-0001`, … */
export function createWorkspace(count) {
  const root = createDirectory();
  const dir = join(root, 'project');
  const tools = join(dir, '.agents', 'tools');
  const home = join(root, 'home');
  mkdirSync(tools, { recursive: true });
  mkdirSync(home);
  for (let index = 0; index < count; index++) {
    writeFileSync(join(tools, toolName(index)), scriptText(index), { mode: 0o755 });
  }
  return { dir, tools, home, env: { ...ENVIRONMENT, HOME: home, WIELD_HOME: join(home, '.wield') } };
}

export function toolName(index) {
  return `tool-${String(index).padStart(4, '0')}`;
}

/** Waits until files written so far count as settled. */
export function settle() {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

function scriptText(index) {
  return `#!/bin/sh
# @description Publishes part ${index} of the site and says where it stands.
# @param *name string The part to publish.
# @param dry_run boolean Only say what would be done.
# @param retries integer How often to try again.
# @tag publish
echo "published $WIELD_PARAM_NAME"
`;
}
