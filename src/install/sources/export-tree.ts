// Exports the files of a commit into a directory, with the list of tracked files next to it.

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFileAtomic } from '../../files/write.js';
import type { InstallEnvironment } from '../environment.js';
import { gitError, runGit } from './git.js';

/** Writes `<tree>.files` last: a tree without it is incomplete. */
export async function exportTree(
  environment: InstallEnvironment,
  gitDirectory: string,
  commit: string,
  tree: string,
): Promise<void> {
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true, mode: 0o700 });
  const index = `${tree}.index`;
  const options = { gitDirectory, workTree: tree, variables: { GIT_INDEX_FILE: index } };
  try {
    for (const args of [
      ['read-tree', commit],
      ['checkout-index', '--all', '--force', '--quiet'],
    ]) {
      const { ok, stderr } = await runGit(environment, options, args);
      if (!ok) throw gitError(tree, 'could not check out', stderr);
    }
  } finally {
    rmSync(index, { force: true });
  }
  const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit];
  const { ok, stdout, stderr } = await runGit(environment, { gitDirectory }, args);
  if (!ok) throw gitError(tree, 'could not list the files of', stderr);
  writeFileAtomic(`${tree}.files`, stdout, { durable: false });
}

/** Returns the paths that git tracks in an exported commit. */
export function readTracked(tree: string): ReadonlySet<string> {
  return new Set(readFileSync(`${tree}.files`, 'utf8').split('\0'));
}
