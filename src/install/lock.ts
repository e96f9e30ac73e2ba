// Runs work on the installed state under its lock, after recovering from an interrupted change.

import { namesIn } from '../files/list.js';
import { withLock } from '../files/lock.js';
import { isBusy, isInterrupted, recover, toIoError } from './apply/commit.js';
import type { InstallEnvironment } from './environment.js';
import { ownLock, readLockedServers } from './lock-file.js';
import { loadServers } from './servers.js';
import { removeUnusedClones } from './sources/clones.js';
import { loadInstalled, loadSources } from './state.js';

/** Runs work that may change the installed state. Throws before it if a file that a change writes cannot be read. */
export function withInstallLock<T>(environment: InstallEnvironment, work: () => Promise<T>): Promise<T> {
  return withRecovered(environment, () => {
    assertReadable(environment);
    return work();
  });
}

// A file that could not be replaced after a change would stop it halfway (INS-31, STA-8).
function assertReadable({ paths, lockFile, checkPins }: InstallEnvironment): void {
  loadInstalled(paths);
  loadServers(paths);
  for (const file of new Set([ownLock(paths), lockFile])) readLockedServers(file);
  checkPins(loadSources(paths).map(({ id }) => id));
}

async function withRecovered<T>(environment: InstallEnvironment, work: () => Promise<T>): Promise<T> {
  const { paths, report } = environment;
  try {
    return await withLock(paths.lock, { ...environment, doing: 'installing' }, async () => {
      const outcome = await recover(environment);
      if (outcome !== 'nothing') report({ kind: 'note', text: `an interrupted change was ${outcome}` });
      removeUnusedClones(paths, loadSources(paths));
      return work();
    });
  } catch (error) {
    throw toIoError(error, paths, 'the operation failed');
  }
}

/** Finishes or undoes a change whose process was killed, unless another process does. */
export async function recoverIfInterrupted(environment: InstallEnvironment): Promise<void> {
  if (isInterrupted(environment.paths)) await withRecovered(environment, async () => {});
}

/** Removes what killed and failed changes left, unless another process is installing. */
export async function recoverIfIdle(environment: InstallEnvironment): Promise<void> {
  const { objects, sources } = environment.paths;
  const isUsed = isInterrupted(environment.paths) || [objects, sources].some((path) => namesIn(path).length > 0);
  if (isUsed && !isBusy(environment.paths)) await withRecovered(environment, async () => {});
}
