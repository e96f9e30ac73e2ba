// Runs work on the installed state under its lock, after recovering from an interrupted change.

import { withLock } from '../files/lock.js';
import { toIoError } from './apply/commit.js';
import { recover } from './apply/journal.js';
import type { InstallEnvironment } from './environment.js';
import { removeUnusedClones } from './sources/clones.js';
import { loadSources } from './state.js';

export async function withInstallLock<T>(environment: InstallEnvironment, work: () => Promise<T>): Promise<T> {
  const { paths, report } = environment;
  try {
    return await withLock(paths.lock, { ...environment, doing: 'installing' }, async () => {
      const outcome = recover(paths);
      if (outcome !== 'nothing') report({ kind: 'note', text: `an interrupted change was ${outcome}` });
      removeUnusedClones(paths, loadSources(paths));
      return work();
    });
  } catch (error) {
    throw toIoError(error, paths, 'the operation failed');
  }
}
