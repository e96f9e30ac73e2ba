// Whether tests may mount file systems.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function canMount(): boolean {
  const at = mkdtempSync(join(tmpdir(), 'wield-mount-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', 'none', at]).status === 0;
  if (mounted) spawnSync('umount', [at]);
  rmSync(at, { recursive: true });
  return mounted;
}

/** Whether tests may mount file systems that a process serves. */
export function canMountFuse(): boolean {
  return existsSync('/dev/fuse') && canMount();
}
