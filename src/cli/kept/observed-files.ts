// Notes every question of a command about a path, and its answer.

import type { Stats } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { isSettled } from '../../files/read.js';
import { type Answer, isSameAnswer, type Lookups, type Question, toTuple } from './lookups.js';

const system = process.getBuiltinModule('node:fs');
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = system.constants;
// On an open file, or without a file.
const PASSED = new Set(['readSync', 'fstatSync', 'closeSync', 'Stats', 'Dirent']);

// The questions so far, with their answers.
function createNotes() {
  const answers = new Map<string, readonly [Question, path: string, Answer]>();
  let isComplete = true;
  let isStopped = false;
  const note = (question: Question, path: unknown, answer: Answer): void => {
    const key = `${question} ${path}`;
    const known = answers.get(key);
    if (typeof path !== 'string' || (known !== undefined && !isSameAnswer(known[2], answer))) isComplete = false;
    else answers.set(key, [question, path, answer]);
  };
  // Calls a function of node:fs and notes the answer. Other errors than a missing file are not kept.
  const asking =
    <Given extends unknown[], Result>(
      question: Question,
      call: (path: never, ...given: Given) => Result,
      toAnswer: (result: Result) => Answer,
    ) =>
    (path: never, ...given: Given): Result => {
      if (isStopped) return call(path, ...given);
      try {
        const result = call(path, ...given);
        note(question, path, toAnswer(result));
        return result;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT' || code === 'ENOTDIR') note(question, path, null);
        else isComplete = false;
        throw error;
      }
    };
  return {
    note,
    asking,
    /** Something was asked that is not noted. */
    miss() {
      isComplete = false;
    },
    isStopped: () => isStopped,
    stop() {
      isStopped = true;
      answers.clear();
    },
    /** Returns undefined if the answers may not be all, or a file is so young that a change may not show. */
    lookups(now: number): Lookups | undefined {
      const all = [...answers.values()];
      const isYoung = ([, , answer]: (typeof all)[number]): boolean =>
        Array.isArray(answer) && !isSettled({ changedMs: answer[3] } as Parameters<typeof isSettled>[0], now);
      return isComplete && !all.some(isYoung) ? toLookups(all) : undefined;
    },
  };
}

export function observeFiles() {
  const { note, asking, miss, isStopped, stop, lookups } = createNotes();
  const opened = new Map<number, string>();
  const toState = (stats: unknown): Answer => (stats === undefined ? null : toTuple(stats as Stats));
  const stat = asking('stat', system.statSync, toState);
  // The identity of a directory changes with its entries.
  const withStat =
    <Given extends unknown[], Result>(call: (path: never, ...given: Given) => Result) =>
    (path: never, ...given: Given): Result => {
      if (!isStopped()) stat(path, { throwIfNoEntry: false });
      return call(path, ...given);
    };
  const real = asking('real', system.realpathSync.native, String);
  const observed: Record<string, unknown> = {
    statSync: stat,
    lstatSync: asking('lstat', system.lstatSync, toState),
    existsSync: withStat(system.existsSync),
    readdirSync: withStat(system.readdirSync),
    realpathSync: Object.assign((path: never) => real(path), { native: real }),
    readFileSync: withStat(system.readFileSync),
    readlinkSync(path: string) {
      if (isStopped()) return system.readlinkSync(path);
      const file = opened.get(Number(/^\/proc\/self\/fd\/(\d+)$/.exec(path)?.[1]));
      const link = system.readlinkSync(path);
      note(file === undefined ? 'link' : 'real', file ?? path, link);
      return link;
    },
    openSync(path: string, flags?: number | string, mode?: number) {
      if (isStopped()) return system.openSync(path, flags as never, mode);
      if (typeof flags !== 'number' || (flags & ~(O_RDONLY | O_NONBLOCK | O_NOFOLLOW)) !== 0) miss();
      const question = typeof flags === 'number' && (flags & O_NOFOLLOW) !== 0 ? 'lstat' : 'stat';
      const descriptor = asking(question, system.openSync, (file) => toTuple(system.fstatSync(file)))(
        path as never,
        flags as never,
        mode,
      );
      opened.set(descriptor, path);
      return descriptor;
    },
  };
  return {
    fs: toObserved(observed, miss),
    lookups,
    /** Ends the notes; the functions work as usual. */
    stop() {
      stop();
      opened.clear();
    },
  };
}

// Everything that is not observed is passed on, and reported when it is called.
function toObserved(observed: Readonly<Record<string, unknown>>, onOther: () => void): object {
  const result: Record<string, unknown> = {};
  for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(system))) {
    const other = value as ((...given: unknown[]) => unknown) | undefined;
    if (Object.hasOwn(observed, name)) result[name] = observed[name];
    else if (get === undefined && (typeof other !== 'function' || PASSED.has(name))) result[name] = other;
    else if (typeof other === 'function')
      result[name] = (...given: unknown[]): unknown => {
        onOther();
        return other(...given);
      };
    else
      Object.defineProperty(result, name, {
        get() {
          onOther();
          return get?.call(system);
        },
      });
  }
  return result;
}

// Existing files are grouped by directory, because most of them are tools.
function toLookups(all: readonly (readonly [Question, string, Answer])[]): Lookups {
  const files = new Map<string, (string | number)[]>();
  const others: (readonly [Question, string, Answer])[] = [];
  for (const [question, path, answer] of all) {
    if (question !== 'stat' || !Array.isArray(answer)) others.push([question, path, answer]);
    else {
      const directory = join(dirname(path), sep);
      files.set(directory, [...(files.get(directory) ?? []), basename(path), ...answer]);
    }
  }
  return { files: [...files], others };
}
