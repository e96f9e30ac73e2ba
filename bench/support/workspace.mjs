// Temporary workspaces full of small scripts, with a home of their own, removed at the end.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENT } from './measure.mjs';

export const BINARY = fileURLToPath(new URL('../../dist/cli/wield.cjs', import.meta.url));

// Files younger than this are read again at each look, so a benchmark of a warm index waits it out.
const SETTLE_MS = 2200;

const made = [];
process.once('exit', () => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
});

export function createDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'wield-bench-'));
  made.push(directory);
  return directory;
}

/** A workspace with `count` script tools: `tool-0000` and so on. */
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

/** Waits until nothing that was written so far counts as just written. */
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
