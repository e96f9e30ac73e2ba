// Parses JSON, TOML and YAML files of tasks, and tables in them. Parsers of TOML and YAML are loaded on first use.

import { ToolError } from '../../core/error.js';
import { isRecord, parseWithPosition } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';
import { parseToml } from '../../files/toml.js';
import { parseYaml } from '../../files/yaml.js';
import type { Steps } from './known-commands.js';
import type { Task } from './task-file.js';
import { textsIn } from './task-words.js';

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

/** Reads a table of tasks by name; `toSteps` returns what one runs, or undefined if that is not known. */
export function readTable(
  table: unknown,
  toOffer: (name: string, value: unknown) => Task['offer'],
  toSteps: (value: unknown, name: string) => Steps | undefined,
): Task[] {
  return Object.entries(isRecord(table) ? table : {}).map(([name, value]) => ({
    name,
    runs: textsIn(value),
    steps: toSteps(value, name),
    offer: toOffer(name, value),
  }));
}

/** Says that the tasks of included files are left out, if there are such files. */
export function findIncluded(
  names: readonly string[],
  { what, hint, line }: { readonly what: string; readonly hint: string; readonly line?: number | undefined },
): Finding[] {
  if (names.length === 0) return [];
  const message = `${what} of included files are left out: ${quoteOutside(names.join(', '), 1000)}`;
  return [{ line, message, hint }];
}

/**
 * Returns the parts of a task whose keys all are known: those of `commands` and `tasks` have a text or a list of texts, and
 * others say nothing about what it runs.
 */
export function toSteps(
  value: unknown,
  {
    commands = [],
    tasks = [],
    others = [],
  }: { readonly commands?: readonly string[]; readonly tasks?: readonly string[]; readonly others?: readonly string[] },
): Steps | undefined {
  if (typeof value === 'string') return { commands: [value], tasks: [] };
  if (!isRecord(value)) return undefined;
  const known = [...commands, ...tasks, ...others];
  const texts = (names: readonly string[]): unknown[] => names.flatMap((name) => value[name] ?? []);
  const isText = (one: unknown): one is string => typeof one === 'string';
  const [lines, names] = [texts(commands), texts(tasks)];
  const isKnown = Object.keys(value).every((key) => known.includes(key)) && lines.every(isText) && names.every(isText);
  return isKnown ? { commands: lines, tasks: names } : undefined;
}
