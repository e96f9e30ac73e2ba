// Trusts a workspace without waiting: writes the record that `wield trust` writes.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeWorkspace } from '../../src/policy/trust.js';
import type { Workspace } from './workspace.js';

/** Trusts a workspace, and no other one. */
export function trustNow({ env, dir }: Pick<Workspace, 'env' | 'dir'>): void {
  mkdirSync(env.WIELD_HOME!, { recursive: true, mode: 0o700 });
  const record = { version: 1, workspaces: [describeWorkspace(dir, new Date())] };
  writeFileSync(join(env.WIELD_HOME!, 'trust.json'), JSON.stringify(record), { mode: 0o600 });
}
