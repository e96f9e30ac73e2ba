// The mise format: tasks of mise.toml, and the files of its task directories.

import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import { createTaskFormat, type Task, type TaskCommand, type TaskSource } from '../shared/task-file.js';
import { describeTask, PLAIN_ARGS } from '../shared/task-input.js';
import { parseTomlTable, readTable, toSteps } from '../shared/task-text.js';

export function createMiseFormat(): Format {
  return createTaskFormat({
    name: 'mise',
    prefix: 'mise',
    files: ['mise.toml', '.mise.toml'],
    readsAll: true,
    parse: (source) => ({ tasks: parse(source) }),
  });
}

/** Creates the format of task directories without a mise.toml. */
export function createMiseDirectoryFormat(): Format {
  return createTaskFormat({
    name: 'mise',
    prefix: 'mise',
    files: [...new Set(DIRECTORIES.map((path) => path.split('/').at(-1)!))],
    readsAll: true,
    ofDirectories: {
      name: 'mise-tasks',
      baseOf(path) {
        // The longest one: `.config/mise/tasks` ends with `mise/tasks`.
        const own = [...DIRECTORIES].reverse().find((one) => path === one || path.endsWith(`/${one}`));
        return own === undefined ? undefined : path.slice(0, -own.length).replace(/\/$/, '');
      },
    },
    parse: (source) => ({ tasks: fileTasks(source, [source.file]) }),
  });
}

function parse(source: TaskSource): Task[] {
  const toOffer = (name: string, value: unknown): Task['offer'] => {
    const body = isRecord(value) ? value : { run: value };
    if (body.hide === true || name.startsWith('_')) return undefined;
    if (body.confirm !== undefined) return 'it asks for confirmation at a terminal';
    if (name.includes('*')) return 'a pattern, not a name';
    const runs = [body.run].flat().find((one) => typeof one === 'string');
    return toCommand(name, body.description, runs);
  };
  const tasks = readTable(parseTomlTable(source.text).tasks, toOffer, (value) =>
    toSteps(Array.isArray(value) ? { run: value } : value, KEYS),
  );
  const isKnown = (name: string): boolean => tasks.some((task) => task.name === name && typeof task.offer === 'object');
  return [...tasks, ...fileTasks(source, DIRECTORIES).filter(({ name }) => !isKnown(name))];
}

const KEYS = {
  commands: ['run'],
  tasks: ['depends', 'depends_post', 'wait_for'],
  others: ['description', 'alias', 'sources', 'outputs', 'dir', 'env', 'quiet', 'silent', 'raw', 'hide'],
};

function toCommand(name: string, about: unknown, runs?: unknown): TaskCommand {
  return {
    description: describeTask(about, typeof runs === 'string' ? runs : `mise run ${name}`),
    argv: ['mise', 'run', name, { param: 'args' }],
    input: PLAIN_ARGS,
    endOfOptions: true,
  };
}

const DIRECTORIES = ['mise-tasks', '.mise-tasks', '.mise/tasks', 'mise/tasks', '.config/mise/tasks'];
const MAX_DEPTH = 3;

// Executable files; one in a directory is named with it, as `db:migrate`.
function fileTasks(source: TaskSource, directories: readonly string[]): Task[] {
  const found: Task[] = [];
  const search = (directory: string, names: readonly string[]): void => {
    for (const file of source.files(directory)) {
      const task = toFileTask(source, `${directory}/${file}`, [...names, file]);
      if (task !== undefined) found.push(task);
    }
    if (names.length < MAX_DEPTH)
      for (const below of source.directories(directory)) search(`${directory}/${below}`, [...names, below]);
  };
  for (const directory of directories) if (source.has(directory)) search(directory, []);
  return found;
}

function toFileTask({ read }: TaskSource, path: string, names: readonly string[]): Task | undefined {
  const file = read(path);
  if (file === undefined || (file.identity.mode & 0o111) === 0) return undefined;
  const header = [...file.text.slice(0, 8192).matchAll(/^(?:#|\/\/|--|;)\s*(?:MISE|\[MISE\])\s+(\w+)\s*=\s*(.+)$/gim)];
  const fields = new Map(
    header.map(([, key = '', value = '']) => [key.toLowerCase(), value.trim().replace(/^(["'])(.*)\1$/, '$2')]),
  );
  if (fields.get('hide') === 'true' || fields.has('confirm')) return undefined;
  // `_default` is the task of its directory, and an extension is not part of the name.
  const last = names.at(-1)!.replace(/\.\w+$/, '');
  const name = [...names.slice(0, -1), ...(last === '_default' ? [] : [last])].join(':');
  if (name === '' || last.startsWith('.') || (last.startsWith('_') && last !== '_default')) return undefined;
  // A script of the repository.
  const steps = fields.has('depends') || fields.has('depends_post') ? undefined : { commands: [], tasks: [] };
  const offer = { ...toCommand(name, fields.get('description')), file, runsBeside: true };
  return { name, runs: file.text, steps, offer };
}
