// Finds what a repository already has that models could use: tasks, scripts with a header, servers. Runs nothing.

import { join } from 'node:path';
import { findSources, planImport } from '../clients/import.js';
import { CLIENTS } from '../clients/table.js';
import { findDestructiveWord, isActingWord } from '../core/destructive-words.js';
import { isToolName } from '../core/name.js';
import type { Boundary } from '../core/origin.js';
import { count, quoteOutside, quoteWord, shortenPath } from '../core/text.js';
import { isSameCommand, type Tool } from '../core/tool.js';
import { namesIn } from '../files/list.js';
import { lstatOrNothing, readHead } from '../files/read.js';
import { realPath } from '../files/within.js';
import { readScriptHeader } from '../formats/script/header.js';
import type { NodeToolbox } from '../node.js';
import { findClientEnvironment } from './clients.js';

/** A file of tasks in the root of a repository. */
export interface TaskFile {
  readonly file: string;
  /** Those that look harmless first. */
  readonly tasks: readonly { readonly tool: Tool; readonly harmless: boolean }[];
  /** Why the file has no tasks, if it should have. */
  readonly fault: string | undefined;
}

const SCRIPT_DIRECTORIES = ['scripts', 'script', 'bin'];
const HEAD_BYTES = 8 * 1024;

/** Returns the files of tasks in the workdir that have tasks or a fault. */
export function findTasks({ state, workspace: { workdir: directory } }: NodeToolbox): TaskFile[] {
  const boundary = toBoundary(directory);
  const names = namesIn(directory);
  const formats = state.taskFormats.filter(({ entries }) => entries === 'files');
  const known: Tool[] = [];
  return formats.flatMap((format) =>
    names
      .filter((name) => format.claims(name))
      .flatMap((file): TaskFile[] => {
        const reading = format.read(file, {
          directory,
          owner: 'workspace',
          kind: 'tasks',
          only: file,
          label: '',
          boundary,
        });
        // Several files of mise name the same directories of tasks.
        const own = (reading?.tools ?? []).filter((tool) => !known.some((one) => isSameCommand(one, tool)));
        known.push(...own);
        const tasks = own.map((tool) => ({ tool, harmless: isHarmless(tool) }));
        const fault = reading?.problems.find(({ severity }) => severity === 'error')?.message;
        if (tasks.length === 0 && fault === undefined) return [];
        return [{ file, tasks: tasks.sort((a, b) => Number(b.harmless) - Number(a.harmless)), fault }];
      }),
  );
}

/** Returns executable scripts with a header outside `.agents/tools`, and how the first one becomes a tool. */
export function findScripts(directory: string) {
  const boundary = toBoundary(directory);
  return SCRIPT_DIRECTORIES.flatMap((below) => {
    const [first, ...others] = namesIn(join(directory, below)).flatMap((file) => {
      const name = file.replace(/\.[^.]*$/, '');
      const isNew = isToolName(name) && lstatOrNothing(join(directory, '.agents/tools', name)) === undefined;
      return isNew && hasHeader(join(directory, below, file), boundary) ? [{ file, name }] : [];
    });
    if (first === undefined) return [];
    const command = `ln -s ${quoteWord(`../../${below}/${first.file}`)} .agents/tools/${first.name}`;
    return [{ file: `${below}/`, has: count(others.length + 1, 'script'), command }];
  });
}

/** Returns the files of clients in the project that have servers to import. */
export function findServers(toolbox: NodeToolbox) {
  const { machine, workspace } = toolbox;
  if (machine.world.home === undefined) return [];
  const environment = findClientEnvironment(toolbox);
  const options = { environment, wieldHome: machine.wieldHome, scope: 'project', names: [], force: false } as const;
  return CLIENTS.flatMap((client) =>
    findSources(client, environment)
      .filter(({ file }) => file.scope === 'project')
      .flatMap((source) => {
        const file = shortenPath(source.file.path, workspace.workdir, environment.home);
        const command = `wield mcp import ${client.id} --scope project`;
        try {
          const { length } = planImport([source], options).written;
          return length === 0 ? [] : [{ file, has: count(length, 'server'), command }];
        } catch (error) {
          return [{ file, has: 'unreadable', command: quoteOutside((error as Error).message, 200) }];
        }
      }),
  );
}

function hasHeader(path: string, within: Boundary): boolean {
  const head = readHead(path, HEAD_BYTES, { within });
  if ('fault' in head || (head.identity.mode & 0o111) === 0) return false;
  return readScriptHeader(head.bytes.toString('utf8')).header !== undefined;
}

function toBoundary(directory: string): Boundary {
  return { directory: realPath(directory) ?? directory, admits: () => false };
}

const HARMLESS = new Set([
  ...['test', 'tests', 'unit', 'spec', 'specs', 'pytest', 'vitest', 'jest', 'coverage', 'e2e'],
  ...['lint', 'eslint', 'ruff', 'clippy', 'vet', 'check', 'checks', 'verify', 'validate'],
  ...['build', 'compile', 'typecheck', 'types', 'tsc', 'mypy', 'pyright'],
]);

/**
 * Whether the first or last word of a task's name is that of a test, check or build, nothing in its name and description says
 * that it deletes, publishes or changes something, and everything that it runs is known.
 */
function isHarmless({ name, description, traits, action }: Tool): boolean {
  if (traits.background === true || traits.destructive === true || action.kind !== 'process') return false;
  if (traits.metadata?.mentions !== undefined) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    // Without the program: `npm`.
    .slice(1);
  if (!HARMLESS.has(words[0] ?? '') && !HARMLESS.has(words.at(-1) ?? '')) return false;
  if (words.some(isActingWord) || soundsDestructive(words.join(''))) return false;
  // Other letters may look like those of a word.
  if (action.runs === 'command' && /[^ -~]/.test(JSON.stringify(action.executions))) return false;
  return !soundsDestructive(description) && !/\brimraf\b|(?:^|\s)--(?:fix|write)\b/.test(description);
}

function soundsDestructive(text: string): boolean {
  return findDestructiveWord(text) !== undefined;
}
