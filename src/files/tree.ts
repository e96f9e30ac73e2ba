// Lists, hashes and copies directory trees. Special files are rejected, and links unless they are asked for.

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { createTurns } from '../core/async.js';
import { systemReason, ToolError } from '../core/error.js';
import { compareText, quoteOutside } from '../core/text.js';
import { loadCrypto } from './digest.js';
import { makeDirectory } from './make-directory.js';
import { isWithin, realPath } from './within.js';

export interface TreeFile {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly executable: boolean;
  /** The target of a link; relative, and inside the tree. */
  readonly link?: string;
  /** The file that a link leads to, relative to the root; it is read in place of the link. */
  readonly from?: string;
}

/** `reject`: a link is an error. `keep`: it is listed as a link. `follow`: it is listed as the file it leads to. */
type LinkMode = 'reject' | 'keep' | 'follow';

const MAX_DEPTH = 128;
const MAX_SOURCE_DEPTH = 256;
const MAX_ENTRIES = 50_000;
const MAX_BYTES = 1024 ** 3;
const MAX_FILE_BYTES = 512 * 1024 * 1024;

/**
 * Returns the regular files of a tree, sorted, without `.git`. Throws `invalid_definition` (INS-24), and `path_escape`
 * for a link that leads out of the tree, or out of `within` if links are followed.
 */
export function listTree(root: string, { links = 'reject' as LinkMode, within = root } = {}): TreeFile[] {
  const files: TreeFile[] = [];
  const count = createTreeBounds(root, MAX_DEPTH);
  const add = (path: string, from: string, { mode } = lstatSync(join(root, from))): void => {
    files.push({ path, executable: (mode & 0o111) !== 0, ...(from === path ? {} : { from }) });
  };
  // `at` is where the directory is, `prefix` where it is listed.
  const walk = (at: string, prefix: string): void => {
    for (const entry of readdirSync(join(root, at), { withFileTypes: true })) {
      const path = prefix + entry.name;
      const from = at + entry.name;
      if (entry.name === '.git') continue;
      const stats = entry.isFile() ? lstatSync(join(root, from)) : undefined;
      count(path, stats?.size ?? 0);
      if (entry.isDirectory()) walk(`${from}/`, `${path}/`);
      else if (stats !== undefined) add(path, from, stats);
      else if (!entry.isSymbolicLink()) throw refuse(root, path, 'is neither a file nor a directory', REPLACE);
      else if (links === 'keep') files.push({ path, executable: false, link: readInnerLink(root, path) });
      else if (links === 'reject') throw refuse(root, path, 'is a link', REPLACE);
      else {
        const target = resolveInnerLink(root, from, within);
        if (!target.directory) add(path, target.path);
        else if (isWithin(join(root, target.path), join(root, from)))
          throw refuse(root, path, 'leads to a directory above', REPLACE);
        else walk(`${target.path}/`, `${path}/`);
      }
    }
  };
  walk('', '');
  return files.sort((a, b) => compareText(a.path, b.path));
}

const REPLACE = 'replace it by the file itself';

// Returns what a link leads to, relative to the root.
function resolveInnerLink(
  root: string,
  path: string,
  within: string,
): { readonly path: string; readonly directory: boolean } {
  const [top, bound, real] = [realPath(root), realPath(within), realPath(join(root, path))];
  if (top === undefined || bound === undefined || real === undefined)
    throw refuse(root, path, 'is a link that leads to nothing', 'remove it');
  if (!isWithin(bound, real) || real === bound || relative(bound, real).split('/').includes('.git'))
    throw new ToolError('path_escape', `${quoteOutside(join(root, path), 300)} leads out of its directory`, {
      hint: 'replace the link by the file itself',
    });
  const stats = lstatSync(real);
  if (!stats.isFile() && !stats.isDirectory())
    throw refuse(root, path, 'leads to neither a file nor a directory', REPLACE);
  return { path: relative(top, real), directory: stats.isDirectory() };
}

/** Returns a function that counts the entries of a tree, and throws `invalid_definition` at too large a tree (INS-38). */
export function createTreeBounds(root: string, maxDepth = MAX_SOURCE_DEPTH): (path: string, bytes: number) => void {
  let [entries, total] = [0, 0];
  return (path, bytes) => {
    entries++;
    total += bytes;
    if (path.split('/').length > maxDepth)
      throw refuse(root, path, `is deeper than ${maxDepth} directories`, 'flatten it');
    if (entries > MAX_ENTRIES)
      throw refuse(root, path, `is one of more than ${MAX_ENTRIES} entries`, 'split the directory');
    if (total > MAX_BYTES) throw refuse(root, path, 'is in a tree larger than 1 GiB', 'split the directory');
  };
}

/**
 * Lists a directory and all directories in it, without `.git` and `node_modules`, not through links, and without reading
 * files. Throws if it is too large (INS-38).
 */
export function listEntries(root: string): { readonly path: string; readonly directory: boolean }[] {
  const count = createTreeBounds(root);
  const walk = (prefix: string): ReturnType<typeof listEntries> =>
    readdirSync(join(root, prefix), { withFileTypes: true })
      .filter(({ name }) => name !== '.git' && name !== 'node_modules')
      .sort((a, b) => compareText(a.name, b.name))
      .flatMap((entry) => {
        const path = prefix + entry.name;
        count(path, entry.isFile() ? (lstatSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0) : 0);
        const own = { path, directory: entry.isDirectory() };
        return own.directory ? [own, ...walk(`${path}/`)] : [own];
      });
  return walk('');
}

function readInnerLink(root: string, path: string): string {
  const target = readlinkSync(join(root, path));
  const [top, real] = [realPath(root), realPath(join(root, path))];
  if (!isAbsolute(target) && top !== undefined && real !== undefined && isWithin(top, real)) return target;
  throw new ToolError('path_escape', `${quoteOutside(join(root, path), 300)} leads out of its directory`, {
    hint: 'replace the link by the file itself',
  });
}

/** Reads a file of a tree. Does not follow links or block on pipes. */
export function readTreeFile(root: string, path: string): Buffer {
  const file = join(root, path);
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw new ToolError('io', `${quoteOutside(file, 300)} cannot be read: ${systemReason(error)}`, {
      hint: 'check its permissions',
      cause: error,
    });
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw refuse(root, path, 'is not a regular file', 'replace it by a regular file');
    if (stats.size > MAX_FILE_BYTES)
      throw refuse(root, path, 'is larger than 512 MiB', 'create or download it in a build step');
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the SHA-256 of all paths, modes and contents in sorted order, framed by length (INS-26). */
export function hashTree(root: string, files: readonly TreeFile[] = listTree(root)): string {
  const hash = createTreeHash();
  for (const file of files) hash.add(file, contentOf(root, file));
  return hash.digest();
}

/** The same in turns, for a process that has other work to do. */
export async function hashTreeInTurns(root: string, files: readonly TreeFile[]): Promise<string> {
  const hash = createTreeHash();
  const nextTurn = createTurns();
  for (const file of files) {
    hash.add(file, contentOf(root, file));
    await nextTurn();
  }
  return hash.digest();
}

function contentOf(root: string, { path, from = path, link }: TreeFile): Buffer {
  return link === undefined ? readTreeFile(root, from) : Buffer.from(link);
}

/** Hashes files that are read elsewhere, in the order of their paths. */
export function createTreeHash() {
  const hash = loadCrypto().createHash('sha256');
  return {
    add({ path, executable, link }: TreeFile, bytes: Buffer): void {
      const mode = link === undefined ? (executable ? 'x' : '-') : 'l';
      hash.update(`${Buffer.byteLength(path)}:${path}${mode}${bytes.length}:`).update(bytes);
    },
    digest: () => hash.digest('hex'),
  };
}

/** Copies files into an empty directory. */
export function copyTree(root: string, files: readonly TreeFile[], to: string): void {
  makeDirectory(to);
  let made = to;
  for (const { path, executable, link, from = path } of files) {
    const file = join(to, path);
    const directory = dirname(file);
    if (directory !== made) makeDirectory(directory);
    made = directory;
    if (link === undefined) writeTreeFile(file, readTreeFile(root, from), executable);
    else symlinkSync(link, file);
  }
}

/** Writes a new file of a tree, whatever the umask. */
export function writeTreeFile(file: string, content: Buffer | string, executable: boolean): void {
  const mode = executable ? 0o755 : 0o644;
  const descriptor = openSync(file, 'wx', mode);
  try {
    writeFileSync(descriptor, content);
    fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}

function refuse(root: string, path: string, what: string, hint: string): ToolError {
  return new ToolError('invalid_definition', `${quoteOutside(join(root, path), 300)} ${what}`, {
    hint,
    data: { path: join(root, path) },
  });
}
