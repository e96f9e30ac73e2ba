// Finds tasks that may delete, publish or change something, by what they and the tasks that they name run.

import { findDestructiveCommand, findDestructiveWord } from '../../core/destructive-words.js';
import { isRecord } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { findRunTasks, type Steps } from './known-commands.js';

/** A task, and what it runs, to judge by: it is not part of a tool. */
export interface JudgedTask {
  readonly name: string;
  /** The text of what it runs and of what runs before it. */
  readonly runs: string;
  /** The same in parts; undefined if it is not known what it runs. */
  readonly steps?: Steps | undefined;
}

/**
 * Returns the words of tasks that have one, in what they run or in another task of the file that they name, and for tasks of
 * which not everything is known what they run. `runner` are the programs that run the tasks of the file.
 */
export function findMentions(tasks: readonly JudgedTask[], runner: readonly string[]): ReadonlyMap<JudgedTask, string> {
  const words = new Map<JudgedTask, string>();
  const byName = new Map<string, string>();
  const add = (task: JudgedTask, word: string): void => {
    words.set(task, word);
    byName.set(task.name, word);
  };
  for (const task of tasks) {
    const word = findDestructiveWord(task.name) ?? findDestructiveCommand(task.runs);
    if (word !== undefined) add(task, word);
  }
  const names = new Set(tasks.map(({ name }) => name));
  const named = new Map(tasks.map((task) => [task, findNamedTasks(task, runner, names)]));
  for (const task of tasks)
    if (!words.has(task) && named.get(task) === undefined) add(task, quoteOutside(task.runs, 60));
  const tokens = new Map(tasks.map((task) => [task, task.runs.split(/[^\w:.-]+/)]));
  for (let known = -1; known < words.size; ) {
    known = words.size;
    for (const task of tasks) {
      if (words.has(task)) continue;
      const found = [...named.get(task)!, ...tokens.get(task)!].find((name) => byName.has(name));
      if (found !== undefined) add(task, byName.get(found)!);
    }
  }
  return words;
}

// The tasks that a task runs, all of which exist; undefined if it may run something that is not known.
function findNamedTasks(
  { steps }: JudgedTask,
  runner: readonly string[],
  names: ReadonlySet<string>,
): readonly string[] | undefined {
  const isTask = (name: string): boolean => names.has(name);
  const commands = steps?.commands.map((text) => findRunTasks(text, runner, isTask));
  if (steps === undefined || !commands?.every((one) => one !== undefined)) return undefined;
  const all = [...steps.tasks, ...commands.flat()];
  return all.every(isTask) ? all : undefined;
}

/** Returns all texts in a value, such as the commands and dependencies of a task. */
export function textsIn(value: unknown): string {
  if (typeof value === 'string') return value;
  return isRecord(value) || Array.isArray(value) ? Object.values(value).map(textsIn).join('\n') : '';
}
