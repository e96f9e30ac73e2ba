// A guard outlives this process by a moment: when we are killed without warning, it ends the tools we started.

import { spawn } from 'node:child_process';
import type { World } from '../core/world.js';
import { MARK, ownMark } from './group.js';

// A fixed program with nothing interpolated: it waits until our end of its standard input is gone, however we
// went, and then kills what carries our mark. Twice, since a process can fork between the look and the kill.
const PROGRAM = `
while read -r _; do :; done
for round in 1 2; do
  for process in /proc/[0-9]*; do
    if tr '\\0' '\\n' <"$process/environ" 2>/dev/null | grep -q "^$1=\\(.*,\\)\\{0,1\\}$2-"; then
      kill -KILL "\${process#/proc/}" 2>/dev/null
    fi
  done
done
`;

/** Starts the guard at the first call of what it returns; only Linux shows other processes' environments. */
export function createGuard(world: World): () => void {
  let started = world.platform !== 'linux';
  return () => {
    if (started) return;
    started = true;
    const guard = spawn('/bin/sh', ['-c', PROGRAM, 'wield-guard', MARK, ownMark()], {
      // A group of its own: whoever kills ours must not reach it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
    });
    guard.on('error', (error) => world.debug(`no guard: ${error.message}`));
    guard.stdin.on('error', () => {});
    guard.unref();
    (guard.stdin as unknown as { unref?: () => void }).unref?.();
  };
}
