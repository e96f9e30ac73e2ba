// A format for a file of tasks, such as a Makefile, that the configuration names: each task is a tool.

import { type Dirent, readdirSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { findDestructiveWord } from '../../core/destructive-words.js';
import { isToolError } from '../../core/error.js';
import { type FileState, type Format, type Reading, rejected } from '../../core/format.js';
import { createNameFilter } from '../../core/glob.js';
import { isToolName } from '../../core/name.js';
import type { Place } from '../../core/origin.js';
import { type Finding, type Problem, toProblem } from '../../core/problem.js';
import { compareText, listSome, quoteOutside } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { admittedPath } from '../../files/boundary.js';
import { hashTexts } from '../../files/digest.js';
import { sameIdentity, statIdentity } from '../../files/read.js';
import { NOT_OFFERED, type OwnCommand, readSource, type TextFile, toTool } from './root-file.js';
import { findMentions, type JudgedTask } from './task-words.js';

/** A task as its file declares it. */
export interface Task extends JudgedTask {
  readonly line?: number;
  /** The tool that it is, or why it cannot be one. Undefined if it is not offered, but others may run it. */
  readonly offer?: TaskCommand | string | undefined;
}

/** The command of a task that is offered. */
export interface TaskCommand
  extends Omit<OwnCommand, 'name' | 'background' | 'destructive' | 'directory' | 'mentions'> {
  /** The file that defines it, if it is another one, such as the package.json of a workspace. */
  readonly file?: TextFile;
  /** What its name begins with, if not the prefix of the format. */
  readonly prefix?: string;
  /** Added to the prefix: the name of a workspace. */
  readonly group?: string;
  /** Whether it runs in the directory of the file that the configuration names, wherever its own file is. */
  readonly runsBeside?: boolean;
}

/** What a parser found. */
export interface Tasks {
  readonly tasks: readonly Task[];
  readonly findings?: readonly Finding[];
}

/** What a parser reads; paths are relative to the directory of the file. */
export interface TaskSource {
  readonly text: string;
  /** The name of the file. */
  readonly file: string;
  /** How many directories it is below the workdir. */
  readonly depth: number;
  /** Returns another file; undefined if it does not exist or may not be read. */
  read(path: string): TextFile | undefined;
  has(path: string): boolean;
  /** Returns the names of the directories in a directory. */
  directories(path: string): readonly string[];
  /** Returns the names of the files in a directory. */
  files(path: string): readonly string[];
}

/** Options of `createTaskFormat`. */
export interface TaskFormatOptions {
  readonly name: string;
  /** What the names of its tools begin with. */
  readonly prefix: string;
  /** Programs in command lines that run its tasks, if not the prefix; `@` for `@NAME`. */
  readonly runner?: readonly string[];
  /** The names of its files; the program reads the first one that exists. */
  readonly files: readonly string[];
  /** Whether the program reads all of the files. */
  readonly readsAll?: boolean;
  /** The names are those of directories with a file per task. */
  readonly ofDirectories?: {
    /** The name of the format, if tools show another one. */
    readonly name: string;
    /** Returns the directory that the tasks run in, by the path of theirs; undefined if it has no tasks. */
    readonly baseOf: (path: string) => string | undefined;
  };
  /** Runs nothing; throws a ToolError with a hint if the file is not valid. */
  readonly parse: (source: TaskSource) => Tasks;
}

/** Creates a format. Its tools are those of a root format, with names, marks and filters that all tasks share. */
export function createTaskFormat(options: TaskFormatOptions): Format {
  const { name, files, ofDirectories } = options;
  return {
    ...(ofDirectories === undefined ? { name } : { name: ofDirectories.name, shownAs: name }),
    places: ['tasks'],
    entries: ofDirectories === undefined ? 'files' : 'directories',
    claims: (entry) => files.includes(entry),
    read(entry, place, snapshot) {
      if (place.named !== true) return readTasks(entry, place, options);
      // By path: only a file that the configuration names.
      const { workdir, settings } = snapshot ?? {};
      const path = workdir === undefined ? '' : relative(workdir, join(place.directory, entry));
      if (workdir === undefined || !settings?.tasks.from.some((one) => normalize(one) === path)) return NOT_OFFERED;
      const { from: _, ...filter } = settings.tasks;
      const label = relative(workdir, place.directory);
      return { ...readTasks(entry, { ...place, label, filter }, options), pending: true };
    },
  };
}

// Tasks of a directory are read from the directory that they run in.
function readTasks(entry: string, place: Place, options: TaskFormatOptions): Reading {
  const { ofDirectories } = options;
  if (ofDirectories === undefined) return readAt(entry, place, options);
  const path = join(place.label ?? '', entry);
  const base = ofDirectories.baseOf(path);
  if (base === undefined)
    return rejected(
      join(place.directory, entry),
      { message: 'is not a directory of tasks', hint: 'see docs/reference/tasks.md for their names' },
      [statIdentity(join(place.directory, entry))],
    );
  const up = relative(place.label ?? '', base);
  const at = { ...place, directory: join(place.directory, up), label: base };
  const reading = readAt(relative(base, path), at, options);
  return { ...reading, files: reading.files?.map((file) => join(up, file)) };
}

function readAt(entry: string, place: Place, options: TaskFormatOptions): Reading {
  const path = join(place.directory, entry);
  const seen = new Map<string, FileState>();
  const refuse = (finding: Finding): Reading => ({
    ...rejected(path, finding, [...seen.values()]),
    files: [...seen.keys()],
  });
  const source = createSource(entry, place, seen);
  const other = options.readsAll === true ? undefined : findPreferred(entry, source, options.files, place);
  if (other !== undefined)
    return refuse({
      message: `is not what the program reads: ${other} comes first`,
      hint: `name ${other} in tasks.from, or remove it`,
    });
  const own = (options.ofDirectories && toTextFile(path)) ?? readSource(path, place);
  if ('message' in own) return refuse(own);
  seen.set(entry, own.identity);
  let found: Tasks;
  try {
    found = options.parse({ ...source, text: own.text.replace(/^\ufeff/, ''), file: entry });
  } catch (error) {
    const hint = (isToolError(error) ? error.hint : undefined) ?? 'fix the file';
    const line = isToolError(error) ? (error.data?.line as number | undefined) : undefined;
    return refuse({ message: quoteOutside((error as Error).message, 200), hint, line });
  }
  const { tools, problems } = toTools(found, own, place, options);
  return { tools, problems, files: [...seen.keys()], states: [...seen.values()] };
}

function toTextFile(path: string): TextFile | undefined {
  const identity = statIdentity(path);
  return identity && { path, identity, text: '' };
}

// A file that the program would read instead: what runs would not be what was approved.
function findPreferred(
  entry: string,
  { has }: Pick<TaskSource, 'has'>,
  files: readonly string[],
  { directory }: Place,
): string | undefined {
  const own = statIdentity(join(directory, entry));
  return files
    .slice(0, files.indexOf(entry))
    .find((file) => has(file) && !sameIdentity(statIdentity(join(directory, file)), own));
}

function createSource(entry: string, place: Place, seen: Map<string, FileState>): Omit<TaskSource, 'text' | 'file'> {
  const look = (path: string): string => {
    const absolute = join(place.directory, path);
    seen.set(path, statIdentity(absolute));
    return absolute;
  };
  const list = (path: string, isWanted: (one: Dirent) => boolean): readonly string[] => {
    try {
      const real = admittedPath(look(path), place.boundary) ?? '';
      const all = readdirSync(real, { withFileTypes: true }).filter(isWanted);
      return all.map(({ name }) => name).sort(compareText);
    } catch {
      return [];
    }
  };
  // The states of a reading begin with its own file.
  look(entry);
  return {
    depth: (place.label ?? '') === '' ? 0 : place.label!.split('/').length,
    read(path) {
      const source = readSource(look(path), place);
      if ('message' in source) return undefined;
      seen.set(path, source.identity);
      return source;
    },
    has: (path) => statIdentity(look(path)) !== undefined,
    directories: (path) => list(path, (one) => one.isDirectory()),
    files: (path) => list(path, (one) => one.isFile()),
  };
}

function toTools(
  { tasks, findings = [] }: Tasks,
  own: TextFile,
  place: Place,
  { name: format, prefix, runner = [prefix] }: TaskFormatOptions,
): Pick<Reading, 'problems'> & { readonly tools: Tool[] } {
  const isWanted = createNameFilter(place.filter);
  const tools = new Map<string, { readonly tool: Tool; readonly task: string }>();
  const problems: Problem[] = findings.map((one) => toProblem(own.path, one.severity ?? 'warning', one));
  const report = (message: string, hint: string, line?: number): void => {
    problems.push(toProblem(own.path, 'warning', { message, hint, line }));
  };
  const mentions = findMentions(tasks, runner);
  const leftOut = new Map<string, string[]>();
  for (const task of tasks) {
    const { offer, line } = task;
    if (typeof offer === 'string' && isWanted([toName([prefix, task.name]), task.name]))
      leftOut.set(offer, [...(leftOut.get(offer) ?? []), task.name]);
    if (typeof offer !== 'object') continue;
    const name = toToolName(offer.prefix ?? prefix, [place.label ?? '', offer.group ?? ''], task.name);
    if (!isWanted([name, task.name])) continue;
    const shown = `"${quoteOutside(task.name, 60)}" is left out:`;
    const known = tools.get(name);
    if (!isToolName(name) || task.name.startsWith('-'))
      report(`${shown} its name cannot be that of a tool`, 'use at most 50 letters, digits, _ and -', line);
    else if (known !== undefined && known.task !== task.name)
      report(`${shown} "${quoteOutside(known.task, 60)}" is named ${name} too`, 'rename one of them', line);
    else if (known === undefined) {
      const file = offer.file ?? own;
      const below = offer.runsBeside === true ? '' : relative(place.directory, dirname(file.path));
      const directory = join(place.label ?? '', below);
      const marks = {
        ...(findDestructiveWord(task.name) === undefined ? {} : { destructive: true }),
        ...(mentions.has(task) ? { mentions: mentions.get(task)! } : {}),
        ...(isLongRunning(task.name) ? { background: true } : {}),
        ...(directory === '.' ? {} : { directory }),
      };
      tools.set(name, { tool: toTool({ ...offer, ...marks, name }, format, file, place), task: task.name });
    }
  }
  for (const [why, names] of leftOut)
    report(
      `left out: ${listSome(names, (one) => quoteOutside(one, 60))}: ${why}`,
      'exclude them in [tasks], or change them',
    );
  return { tools: [...tools.values()].map(({ tool }) => tool), problems };
}

const MAX_NAME = 64;
const DIGITS = 8;

// TSK-3: of a name that is too long, the end of the directory and a digest of all of it remain.
function toToolName(prefix: string, directory: readonly string[], task: string): string {
  const name = toName([prefix, ...directory, task]);
  const room = MAX_NAME - toName([prefix, task]).length - DIGITS - 2;
  if (name.length <= MAX_NAME || room < 1) return name;
  return toName([prefix, hashTexts(directory).slice(0, DIGITS), toName(directory).slice(-room), task]);
}

// TSK-3: `build:css` is `npm-build-css`.
function toName(parts: readonly string[]): string {
  return parts
    .map((part) => part.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, ''))
    .filter((part) => part !== '')
    .join('-');
}

// TSK-7: `dev`, `start:web`, `test:watch`; but not `build:dev`, which ends.
function isLongRunning(name: string): boolean {
  return /^(?:dev|start|serve|watch|preview)(?:$|:)|(?:^|[:._-])(?:watch|serve)$/.test(name);
}
