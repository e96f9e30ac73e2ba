// Directories of cloned sources: a bare repository and one directory per exported commit.

import { constants, cpSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { digestParts } from '../../files/digest.js';
import { namesIn } from '../../files/list.js';
import { makeDirectory } from '../../files/make-directory.js';
import { removeEmpty, removeFile, removeTree } from '../../files/remove.js';
import { copyTree, createTreeBounds, type TreeFile } from '../../files/tree.js';
import { writeFileAtomic } from '../../files/write.js';
import { type InstallEnvironment, type InstallPaths, REFUSE_ALL } from '../environment.js';
import type { SourceRecord } from '../state.js';
import { gitError, runGit } from './git.js';
import type { SourceLocation } from './location.js';

const LISTING_BYTES = 32 * 1024 * 1024;

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
export function treeOf(record: SourceRecord, paths: InstallPaths): string {
  const version = versionOf(record);
  return version === null ? record.location : clonePaths(paths, directoryOf(record), version).tree;
}

/** The exported commit of a repository, the hash of a bundle, or the hash of the copy that hooks of a local directory ran in. */
function versionOf({ kind, commit, snapshot }: SourceRecord): string | null {
  return kind === 'local' ? (snapshot ?? null) : (commit ?? 'none');
}

function directoryOf({ kind, directory, location, id }: SourceRecord): string {
  return directory ?? cloneDirectory({ kind, location, name: id });
}

/** Removes clones and commits that no source uses: old commits, and those of an interrupted fetch (F29). */
export function removeUnusedClones({ sources }: InstallPaths, records: readonly SourceRecord[]): void {
  const used = new Map<string, string[]>();
  for (const record of records) {
    const version = versionOf(record);
    if (version !== null) used.set(directoryOf(record), [...(used.get(directoryOf(record)) ?? []), version]);
  }
  for (const name of namesIn(sources)) {
    const versions = used.get(name) ?? [];
    // A git that was just killed may still write files.
    if (!used.has(name)) removeTree(join(sources, name));
    else
      for (const tree of namesIn(join(sources, name, 'trees')))
        if (!versions.some((version) => tree === version || tree === `${version}.files`))
          removeTree(join(sources, name, 'trees', tree));
  }
  removeEmpty([sources]);
}

/** Exports a commit. */
export async function exportTree(
  environment: InstallEnvironment,
  gitDirectory: string,
  commit: string,
  tree: string,
): Promise<void> {
  const paths = await listCommit(environment, gitDirectory, commit);
  removeTree(tree);
  makeDirectory(tree);
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
    removeFile(index);
  }
  completeTree(tree, paths);
}

// Throws `invalid_definition` for a tree that would be too large. Equal directories are stored once in a repository, so
// its size says nothing about that of its files (INS-38).
async function listCommit(environment: InstallEnvironment, gitDirectory: string, commit: string): Promise<string[]> {
  const args = ['ls-tree', '-r', '-t', '--long', '-z', '--full-tree', commit];
  const listing = await runGit(environment, { gitDirectory, outputBytes: LISTING_BYTES }, args);
  const { ok, capped, stdout, stderr } = listing;
  if (!ok && !capped) throw gitError(gitDirectory, 'could not list the files of', stderr);
  const count = createTreeBounds('the repository');
  const paths = stdout
    .toString('utf8')
    .split('\0')
    .flatMap((line) => {
      const [, type, size, path] = /^\d+ (\w+) \w+ +(\d+|-)\t(.*)$/s.exec(line) ?? [];
      if (path === undefined) return [];
      count(path, Number(size) || 0);
      return type === 'tree' ? [] : [path];
    });
  if (capped)
    throw new ToolError('invalid_definition', 'the list of files of the repository is too large', {
      hint: 'split the repository',
    });
  return paths;
}

/** Copies a local directory for its hooks; what they create is not in the list of its files. */
export function copySource(from: string, files: readonly TreeFile[], tree: string): void {
  removeTree(tree);
  copyTree(from, files, tree);
  completeTree(
    tree,
    files.map(({ path }) => path),
  );
}

/** Lists the files of a tree, after all of them are written. */
export function completeTree(tree: string, paths: readonly string[]): void {
  writeFileAtomic(`${tree}.files`, paths.join('\0'), { durable: false });
}

/** Whether all files of a tree were written. */
export function isComplete(tree: string): boolean {
  return existsSync(`${tree}.files`);
}

/** Returns the paths of a source that its hooks did not create. */
export function readTracked(tree: string): ReadonlySet<string> {
  return new Set(readFileSync(`${tree}.files`, 'utf8').split('\0'));
}

/**
 * Runs work that fetches and registers sources in copies of them, which are then removed: a dry run. No hook runs.
 */
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
