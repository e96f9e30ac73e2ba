// Parses JSON, TOML and YAML files of tasks, and tables in them. Parsers of TOML and YAML are loaded on first use.

import { ToolError } from '../../core/error.js';
import { isRecord, parseWithPosition } from '../../core/json.js';
import { parseToml } from '../../files/toml.js';
import { parseYaml } from '../../files/yaml.js';
import type { Steps } from './known-commands.js';
import type { LeftOut, Task } from './task-file.js';
import { type JudgedTask, textsIn } from './task-words.js';

/** Parses a JSON object. Throws `invalid_definition`. */
export function parseObject(text: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = parseWithPosition(text);
  } catch (error) {
    throw new ToolError('invalid_definition', `is not valid JSON: ${(error as Error).message}`, {
      hint: 'fix the line',
    });
  }
  if (isRecord(document)) return document;
  throw new ToolError('invalid_definition', 'must be an object', { hint: 'write { "scripts": { … } }' });
}

/** Parses a TOML document. Throws `invalid_definition`. */
export function parseTomlTable(text: string): Record<string, unknown> {
  const parsed = parseToml(text);
  if ('document' in parsed) return isRecord(parsed.document) ? parsed.document : {};
  throw new ToolError('invalid_definition', `is not valid TOML: ${parsed.message}`, {
    hint: 'fix the line',
    data: { line: parsed.line },
  });
}

/** Parses a YAML document. Throws `invalid_definition` with its line. */
export function parseYamlTasks(text: string, what: string): unknown {
  const parsed = parseYaml(text, { maxAliasCount: 100, merge: true });
  if ('document' in parsed) return parsed.document;
  throw new ToolError('invalid_definition', `${what} is not valid YAML: ${parsed.message}`, {
    hint: 'fix the line',
    data: { line: parsed.line ?? 1 },
  });
}

/**
 * Reads a table of tasks by name. `read` returns a task, why it cannot be a tool, or undefined for one that is not offered;
 * `toSteps` what it runs, or undefined if that is not known.
 * Other tasks can name all of them.
 */
export function readTable(
  table: unknown,
  read: (name: string, value: unknown) => Task | string | undefined,
  toSteps: (value: unknown, name: string) => Steps | undefined,
) {
  const tasks: Task[] = [];
  const leftOut: LeftOut[] = [];
  const unlisted: JudgedTask[] = [];
  for (const [name, value] of Object.entries(isRecord(table) ? table : {})) {
    const found = read(name, value);
    const task = typeof found === 'string' ? undefined : found;
    const judged = { runs: task?.runs ?? textsIn(value), steps: toSteps(value, name) };
    unlisted.push({ name, ...judged });
    if (task !== undefined) tasks.push({ ...task, ...judged });
    else if (typeof found === 'string') leftOut.push({ name, why: found });
  }
  return { tasks, leftOut, unlisted };
}

/**
 * Returns the parts of a task whose keys all are known: those of `commands` and `tasks` have a text or a list of texts, and
 * others say nothing about what it runs.
 */
export function toSteps(
  value: unknown,
  keys: { readonly commands: readonly string[]; readonly tasks: readonly string[]; readonly others: readonly string[] },
): Steps | undefined {
  if (typeof value === 'string') return { commands: [value], tasks: [] };
  if (!isRecord(value)) return undefined;
  const known = [...keys.commands, ...keys.tasks, ...keys.others];
  const texts = (names: readonly string[]): unknown[] => names.flatMap((name) => value[name] ?? []);
  const commands = texts(keys.commands);
  const tasks = texts(keys.tasks);
  const isText = (one: unknown): one is string => typeof one === 'string';
  if (!Object.keys(value).every((key) => known.includes(key)) || !commands.every(isText) || !tasks.every(isText))
    return undefined;
  return { commands, tasks };
}
