// Finds tasks that may delete, publish or change something elsewhere, by what they and the tasks that they name run.

import { findDestructiveCommand, findDestructiveWord } from '../../core/destructive-words.js';
import { isRecord } from '../../core/json.js';

/** A task, and the text of what it runs. */
export interface JudgedTask {
  readonly name: string;
  readonly runs?: string | undefined;
}

/** Returns the words of tasks that have one, in what they run or in another task of the file that they name. */
export function findMentions(
  offered: readonly JudgedTask[],
  unlisted: readonly JudgedTask[],
): ReadonlyMap<JudgedTask, string> {
  const tasks = [...offered, ...unlisted];
  const words = new Map<JudgedTask, string>();
  const byName = new Map<string, string>();
  const add = (task: JudgedTask, word: string): void => {
    words.set(task, word);
    byName.set(task.name, word);
  };
  for (const task of tasks) {
    const word = findDestructiveWord(task.name) ?? findDestructiveCommand(task.runs ?? '');
    if (word !== undefined) add(task, word);
  }
  const tokens = new Map(tasks.map((task) => [task, (task.runs ?? '').split(/[^\w:.-]+/)]));
  for (let known = -1; known < words.size; ) {
    known = words.size;
    for (const task of tasks) {
      const named = words.has(task) ? undefined : tokens.get(task)!.find((token) => byName.has(token));
      if (named !== undefined) add(task, byName.get(named)!);
    }
  }
  return words;
}

/** Returns all texts in a value, such as the commands and dependencies of a task. */
export function textsIn(value: unknown): string {
  if (typeof value === 'string') return value;
  return isRecord(value) || Array.isArray(value) ? Object.values(value).map(textsIn).join('\n') : '';
}
