// Chooses which tasks of a repository `wield init` offers, and writes them to the configuration (CLI-39).

import { join } from 'node:path';
import { editConfig, readConfig, writeConfig } from '../clients/config-file.js';
import { valueAt } from '../clients/forms/form.js';
import { tomlForm } from '../clients/forms/toml.js';
import { isToolError, orNothing, ToolError } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { changedMeanwhile } from '../files/change.js';
import { makeDirectory } from '../files/make-directory.js';
import { isWithin, realPath } from '../files/within.js';
import type { NodeToolbox } from '../node.js';
import { findProgram, searchPath } from '../process/environment.js';
import { changeConfig } from './clients.js';
import { mayConfirm } from './consent.js';
import type { TaskFile } from './found.js';
import { readLine } from './terminal.js';
import type { VerbCall } from './verb.js';

const CONFIG = '.agents/config.toml';
// With the rest of the output one screen of 24 lines.
const MAX_CHOICES = 10;
const MAX_FILES = 5;
const WIDTH = 80;
const INDENT = 34;

/** Whether the configuration says already which tasks are offered. */
export function hasTaskSettings({ state, workspace: { workdir } }: NodeToolbox): boolean {
  if (state.configuration().settings.tasks.from.length > 0) return true;
  // Reported when it is written.
  return (
    orNothing(() => valueAt(readConfig(join(workdir, CONFIG), tomlForm).document, ['tasks']) !== undefined) ?? false
  );
}

/** Returns the tasks to offer: those that look harmless with `--yes`, chosen ones at a terminal, else none. */
export async function chooseTasks(call: VerbCall, files: readonly TaskFile[]): Promise<readonly Tool[]> {
  const all = files.flatMap(({ tasks }) => tasks);
  if (all.length === 0) return [];
  const isChosen = new Set(all.filter(({ harmless }) => harmless).map(({ tool }) => tool));
  if (!mayConfirm(call)) return [];
  if (!call.flags.has('yes') && !call.dryRun) await askWhich(call, all, isChosen);
  const chosen = all.flatMap(({ tool }) => (isChosen.has(tool) ? [tool] : []));
  // A glob matches names of tasks too: `make-test` also includes a script of that name, `npm-make-test`.
  const includesOther = (name: string): boolean =>
    all.some(({ tool }) => !isChosen.has(tool) && tool.name.endsWith(`-${name}`));
  return chosen.filter(({ name }) => !includesOther(name));
}

// Leaves in `chosen` what the user wants. Nothing but an explicit answer offers something.
async function askWhich(call: VerbCall, all: readonly TaskFile['tasks'][number][], chosen: Set<Tool>): Promise<void> {
  const { terminal, signal } = call;
  const tools = all.toSorted((a, b) => Number(b.harmless) - Number(a.harmless)).map(({ tool }) => tool);
  // Only what is shown can be marked.
  for (const tool of tools.slice(MAX_CHOICES)) chosen.delete(tool);
  const width = Math.max(...tools.slice(0, MAX_CHOICES).map(({ name }) => name.length));
  for (const [at, tool] of tools.slice(0, MAX_CHOICES).entries()) {
    const mark = chosen.has(tool) ? 'x' : ' ';
    const about = quoteOutside(tool.description, Math.max(10, WIDTH - width - 14));
    terminal.err(`  ${String(at + 1).padStart(3)} [${mark}] ${tool.name.padEnd(width)}  ${about}\n`);
  }
  const hidden = tools.slice(MAX_CHOICES).map(({ name }) => name);
  if (hidden.length > 0) terminal.err(`          more: ${fitNames(hidden, WIDTH - 16)}\n`);
  for (;;) {
    terminal.err('  Offer the marked tasks to models? y, N, or numbers and names to switch: ');
    const words = (await readLine(terminal, signal))
      .trim()
      .toLowerCase()
      .split(/[\s,]+/);
    if (words.length === 1 && ['y', 'yes'].includes(words[0]!)) return;
    if (words.length === 1 && ['', 'n', 'no', 'none'].includes(words[0]!)) return chosen.clear();
    const named = words.map((word) =>
      tools.find(({ name }, at) => name.toLowerCase() === word || `${at + 1}` === word),
    );
    const unknown = words.find((_, at) => named[at] === undefined);
    if (unknown === undefined) {
      for (const tool of named) if (!chosen.delete(tool!)) chosen.add(tool!);
      return;
    }
    terminal.err(`  unknown task "${quoteOutside(unknown, 40)}"\n`);
  }
}

const QUICK = [/lint|check|types|vet|valid|verif/i, /test|spec|unit/i];

/** Returns the task for a first call: one whose program is installed, and a check rather than a build. */
export function findFirstCall(chosen: readonly Tool[], world: World) {
  const path = searchPath(world);
  const missingOf = ({ action }: Tool): string | undefined =>
    action.kind === 'process' && action.runs === 'command'
      ? action.executions.map(({ binary }) => binary).find((binary) => findProgram(binary, path) === undefined)
      : undefined;
  const rankOf = (tool: Tool): number => {
    const at = QUICK.findIndex((form) => form.test(tool.name));
    return (at === -1 ? QUICK.length : at) + (missingOf(tool) === undefined ? 0 : QUICK.length + 1);
  };
  const [first] = chosen.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (first === undefined) return undefined;
  return { name: first.name, missing: missingOf(first) };
}

/** Adds `[tasks]` to the configuration, which is `template` if there is none. A trusted workspace stays trusted. */
export async function writeTasks(
  call: VerbCall,
  { files, chosen, template }: { files: readonly TaskFile[]; chosen: readonly Tool[]; template: string },
): Promise<void> {
  const { workdir } = call.toolbox().workspace;
  const path = join(workdir, CONFIG);
  const from = files.filter(({ tasks }) => tasks.some(({ tool }) => chosen.includes(tool))).map(({ file }) => file);
  const include = chosen.map(({ name }) => name);
  const change = (): void => {
    makeDirectory(join(workdir, '.agents'), 0o777);
    const file = readConfig(path, tomlForm);
    assertInside(workdir, file.text === null ? join(workdir, '.agents') : file.real);
    const before = file.text === null ? { ...file, text: template, document: tomlForm.parse(template) } : file;
    if (valueAt(before.document, ['tasks']) !== undefined) throw changedMeanwhile(CONFIG);
    writeConfig(file, editConfig(before, tomlForm, ['tasks'], { from, include }), false);
  };
  try {
    await changeConfig(call, path, change);
  } catch (error) {
    if (!isToolError(error) || error.code !== 'invalid_definition') throw error;
    throw new ToolError(error.code, error.message, { hint: 'fix the file, then run: wield init', cause: error });
  }
}

// A link of a repository could lead to the user's own configuration.
function assertInside(workdir: string, path: string): void {
  const real = realPath(path);
  if (real !== undefined && isWithin(realPath(workdir) ?? workdir, real)) return;
  throw new ToolError('denied', `${CONFIG} leads out of ${workdir} and was not written`, {
    hint: 'remove the link, then run: wield init',
  });
}

/** Describes the files of tasks: what is offered of each, and what is not. */
export function describeTasks(
  files: readonly TaskFile[],
  chosen: readonly Tool[],
  verb: string,
): [string, string, string][] {
  const rows = files.slice(0, MAX_FILES).flatMap(({ file, tasks, fault }): [string, string][] => {
    const isIn = ({ tool, harmless }: TaskFile['tasks'][number]): boolean =>
      chosen.length === 0 ? harmless : chosen.includes(tool);
    const offered = tasks.filter(isIn).map(({ tool }) => tool.name);
    const others = tasks.filter((task) => !isIn(task)).map(({ tool }) => tool.name);
    const texts = [
      ...(offered.length > 0 ? [`${verb} ${fitNames(offered, WIDTH - INDENT - verb.length - 1)}`] : []),
      ...(others.length > 0 ? [`left out: ${fitNames(others, WIDTH - INDENT - 10)}`] : []),
      ...(tasks.length === 0 && fault !== undefined ? [quoteOutside(fault, WIDTH - INDENT)] : []),
    ];
    return texts.map((text, at) => [at === 0 ? file : '', text]);
  });
  const more = files.slice(MAX_FILES).map(({ file }) => file);
  if (more.length > 0) rows.push(['and', fitNames(more, WIDTH - INDENT)]);
  return rows.map(([file, text], at) => [at === 0 ? 'found' : '', file, text]);
}

// Joins as many names as fit, and the number of the others.
function fitNames(names: readonly string[], width: number): string {
  for (let shown = names.length; shown > 0; shown--) {
    const rest = names.length - shown;
    const text = names.slice(0, shown).join(', ') + (rest === 0 ? '' : ` and ${rest} more`);
    if (text.length <= width) return text;
  }
  return `${names.length}`;
}
