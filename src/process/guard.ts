// The guard process: if wield is killed, it kills the tools that were started.

import type { World } from '../core/world.js';
import { MARK, ownMark } from './group.js';

// A fixed program without interpolation. It waits for the end of its stdin, which closes when wield exits for any
// reason, and kills the processes with our mark. Twice, since a process can fork before it is killed.
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

/** Returns a function that starts the guard on its first call. Linux only. */
export function createGuard(world: World): () => void {
  let started = world.platform !== 'linux';
  return () => {
    if (started) return;
    started = true;
    // Loaded lazily: most commands start no tool.
    const { spawn } = process.getBuiltinModule('node:child_process');
    const guard = spawn('/bin/sh', ['-c', PROGRAM, 'wield-guard', MARK, ownMark()], {
      // Its own group, so that a signal to ours does not reach it.
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
