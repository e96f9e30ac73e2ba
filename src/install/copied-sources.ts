// Copies of the registered sources, so that a dry run can fetch without changing them.

import { constants, cpSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../files/remove.js';
import { type InstallEnvironment, REFUSE_ALL } from './environment.js';

/** Runs work that fetches and registers sources in copies of them, which are then removed. No hook runs. */
export async function withCopiedSources<T>(
  environment: InstallEnvironment,
  work: (environment: InstallEnvironment) => Promise<T>,
): Promise<T> {
  const { paths } = environment;
  const directory = mkdtempSync(join(tmpdir(), 'wield-'));
  const copies = { sourcesFile: join(directory, 'sources.json'), sources: join(directory, 'sources') };
  try {
    for (const name of ['sourcesFile', 'sources'] as const)
      if (existsSync(paths[name]))
        cpSync(paths[name], copies[name], {
          recursive: true,
          verbatimSymlinks: true,
          mode: constants.COPYFILE_FICLONE,
        });
    return await work({ ...environment, ...REFUSE_ALL, paths: { ...paths, ...copies } });
  } finally {
    removeTree(directory);
  }
}
