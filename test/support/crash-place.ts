// A directory with a project, a home and sources, whose state can be saved, restored and compared.

import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CliRun, wield, wieldProcess } from './cli.js';
import { type Files, writeFiles } from './install.js';
import { withoutRandom } from './strace.js';

/** Contents or link targets by path, without random names and times; of several with the same path, each has a number. */
export type Tree = ReadonlyMap<string, string>;

export interface CrashPlace {
  readonly dir: string;
  readonly home: string;
  readonly env: Record<string, string>;
  /** Writes files relative to the place: `project/…`, `home/…`, `sources/…`. */
  write(files: Files): void;
  /** Runs `wield ...args` in this process. */
  run(...args: readonly string[]): Promise<CliRun>;
  /** Runs it as a process, which saves its compiled code. */
  runProcess(...args: readonly string[]): Promise<CliRun>;
  save(name: string): void;
  restore(name: string): void;
  /** Adds the compile cache of this state to a saved one. */
  saveCache(name: string): void;
  tree(): Tree;
  /** Returns the lines of the audit log about calls that ended; a missing start of such a call is no loss. */
  audit(): readonly string[];
  remove(): void;
}

const CACHE = 'home/.wield/cache/code';
// Compared by other means: caches, the audit log, and the database of documents.
const IGNORED = /^home\/\.wield\/(?:cache|audit)(?:\/|$)|\/documents\.db(?:-wal|-shm)?$/;

export function createCrashPlace(): CrashPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-crash-')));
  const live = join(root, 'live');
  const [dir, home, temporary] = ['project', 'home', 'tmp'].map((name) => join(live, name)) as [string, string, string];
  for (const directory of [dir, home, temporary]) mkdirSync(directory, { recursive: true });
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    WIELD_HOME: join(home, '.wield'),
    TMPDIR: temporary,
  };
  const copy = (from: string, to: string): void => {
    // A process that was started by a killed one may still write files.
    rmSync(to, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  };
  return {
    dir,
    home,
    env,
    write: (files) => writeFiles(live, files),
    run: (...args) => wield({ dir, env }, args),
    runProcess: (...args) => wieldProcess({ dir, env }, args),
    save: (name) => copy(live, join(root, name)),
    restore: (name) => copy(join(root, name), live),
    saveCache: (name) => {
      if (lstatSync(join(live, CACHE), { throwIfNoEntry: false })) copy(join(live, CACHE), join(root, name, CACHE));
    },
    tree: () => readTree(live),
    audit: () => readAudit(join(home, '.wield/audit')),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  };
}

// Without empty directories, which have no meaning.
function readTree(live: string): Tree {
  const found: (readonly [path: string, content: string])[] = [];
  const visit = (path: string): void => {
    const at = join(live, path);
    const stats = lstatSync(at);
    if (IGNORED.test(path)) return;
    const name = withoutRandom(path);
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) found.push([name, `-> ${withoutRandom(readlinkSync(at))}`]);
    else if (!stats.isDirectory()) found.push([name, `${mode} ${withoutMade(readFileSync(at, 'latin1'))}`]);
    else {
      const names = readdirSync(at);
      for (const child of names) visit(join(path, child));
    }
  };
  for (const name of readdirSync(live)) visit(name);
  return toTree(found);
}

function toTree(found: readonly (readonly [path: string, content: string])[]): Tree {
  const tree = new Map<string, string>();
  for (const [path, content] of [...found].sort((a, b) => (a[1] < b[1] ? -1 : 1))) {
    let number = 1;
    const numbered = () => (number === 1 ? path : `${path} #${number}`);
    while (tree.has(numbered())) number++;
    tree.set(numbered(), content);
  }
  return tree;
}

// Directories that could not be removed stay in the record of those to remove.
function withoutMade(text: string): string {
  return withoutRandom(text).replace(/"made":\[[^\]]*\]/, '"made":[]');
}

function readAudit(directory: string): string[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  } catch {
    return [];
  }
  const text = names.sort().map((name) => readFileSync(join(directory, name), 'utf8'));
  return text
    .join('')
    .split('\n')
    .filter((line) => line !== '' && !/^\{"started":.*\}$/.test(line));
}

/** Returns how a tree differs from another one. */
export function compareTrees(tree: Tree, other: Tree): string[] {
  const paths = new Set([...tree.keys(), ...other.keys()]);
  return [...paths].sort().flatMap((path) => {
    const [mine, its] = [tree.get(path), other.get(path)];
    if (mine === its) return [];
    return [`${mine === undefined ? 'missing' : its === undefined ? 'left over' : 'different'}: ${path}`];
  });
}
