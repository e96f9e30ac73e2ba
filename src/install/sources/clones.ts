// Directories of cloned sources: a bare repository and one directory per exported commit.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { digestParts } from '../../files/digest.js';
import { namesIn, removeEmpty } from '../directory.js';
import type { InstallPaths } from '../environment.js';
import type { SourceRecord } from '../state.js';
import type { SourceLocation } from './location.js';

/** Returns a readable directory name that is unique per location. */
export function cloneDirectory({ location, name }: SourceLocation): string {
  return `${name.replace(/[^\w.-]/g, '-')}-${digestParts([location]).slice(0, 12)}`;
}

/** Returns the paths of a clone's bare repository and of one exported commit. */
export function clonePaths({ sources }: InstallPaths, directory: string, commit: string | null) {
  const root = join(sources, directory);
  return { git: join(root, 'git'), tree: join(root, 'trees', commit ?? 'none') };
}

/** Returns the directory that contains the files of a source. */
export function treeOf({ kind, location, directory, commit }: SourceRecord, paths: InstallPaths): string {
  return kind === 'local' ? location : clonePaths(paths, directory!, commit).tree;
}

/** Removes clones and commits that no source uses: old commits, and those of an interrupted fetch (F29). */
export function removeUnusedClones({ sources }: InstallPaths, records: readonly SourceRecord[]): void {
  const used = new Map(
    records.flatMap(({ directory, commit }) => (directory === null ? [] : [[directory, commit]])),
  );
  for (const name of namesIn(sources)) {
    const commit = used.get(name);
    if (!used.has(name)) rmSync(join(sources, name), { recursive: true, force: true });
    else
      for (const tree of namesIn(join(sources, name, 'trees')))
        if (tree !== commit && tree !== `${commit}.files`)
          rmSync(join(sources, name, 'trees', tree), { recursive: true, force: true });
  }
  removeEmpty([sources]);
}
