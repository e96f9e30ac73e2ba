// Runs work on the installed state under its lock, after recovering from an interrupted change.

import { namesIn } from '../files/list.js';
import { withLock } from '../files/lock.js';
import { isBusy, isInterrupted, recover, toIoError } from './apply/commit.js';
import type { InstallEnvironment } from './environment.js';
import { removeUnusedClones } from './sources/clones.js';
import { loadSources } from './state.js';

export async function withInstallLock<T>(environment: InstallEnvironment, work: () => Promise<T>): Promise<T> {
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
  if (isInterrupted(environment.paths)) await withInstallLock(environment, async () => {});
}

/** Removes what killed and failed changes left, unless another process is installing. */
export async function recoverIfIdle(environment: InstallEnvironment): Promise<void> {
  const { objects, sources } = environment.paths;
  const isUsed = isInterrupted(environment.paths) || [objects, sources].some((path) => namesIn(path).length > 0);
  if (isUsed && !isBusy(environment.paths)) await withInstallLock(environment, async () => {});
}
