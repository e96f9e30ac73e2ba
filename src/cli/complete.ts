// Shell completion of verbs, groups, tools, flags and values. Runs no tool.

import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type Candidate,
  type Completable,
  type Completion,
  completeWords,
  NOTHING,
  toCompletable,
} from '../commands/complete.js';
import { OWN_FLAGS, splitArguments, toParameters } from '../commands/index.js';
import { commandName } from '../commands/names.js';
import { type Commands, type CommandTable, findCommand, findInGroup, toCommandTable } from '../commands/table.js';
import { orNothing } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { createNodeToolbox, type NodeToolbox } from '../node.js';
import { type Io, resolvePath } from './io.js';
import { formatAnswer, isShell, type Line, splitLine } from './shells.js';
import { COMMON_FLAGS, type FlagHelp, kindOfFlag, type Verb } from './verb.js';
import { call } from './verbs/call.js';
import { findCommandEntry, loadVerb, RESERVED, VERBS } from './verbs.js';

export { createProcessIo } from './process-io.js';

interface Setup {
  readonly io: Io;
  open(): NodeToolbox;
}

/** Runs `wield __complete <shell> …`. Errors give no candidates, so that the shell is not disturbed. */
export async function run([, ...argv]: readonly string[], io: Io): Promise<number> {
  const asked = parseAsked(argv);
  if (asked === undefined) return 2;
  const { words, current } = asked;
  printAnswer(asked, await complete(words, current, io).catch(() => NOTHING), io);
  return 0;
}

interface Asked {
  /** The words before the one at the cursor. */
  readonly words: readonly string[];
  readonly current: string;
  /** The line of bash, which passes it whole. */
  readonly line: Line | undefined;
}

// Returns undefined for an unknown shell.
function parseAsked([shell, ...rest]: readonly string[]): Asked | undefined {
  if (!isShell(shell)) return undefined;
  if (shell !== 'bash') return { words: rest.slice(1, -1), current: rest.at(-1) ?? '', line: undefined };
  const line = splitLine(rest[0] ?? '', rest[1] ?? '');
  return { words: afterProgram(line.words), current: line.current, line };
}

// Skips variables that are set before the program.
function afterProgram(words: readonly string[]): readonly string[] {
  return words.slice(words.findIndex((word) => !/^\w+=/.test(word)) + 1);
}

function printAnswer({ current, line }: Asked, { candidates, files }: Completion, io: Io): void {
  // Only bash completes files after `--path=`.
  const found = { candidates, files: files && (line !== undefined || !current.startsWith('-')) };
  orNothing(() => io.stdout.write(formatAnswer(found, line)));
}

async function complete(words: readonly string[], current: string, io: Io): Promise<Completion> {
  const common = (name: string) => (Object.hasOwn(COMMON_FLAGS, name) ? COMMON_FLAGS[name]!.kind : undefined);
  const { parsed, rest } = splitArguments(words, common, { stopAtPositional: true });
  const first = parsed.find((argument) => argument.kind === 'positional')?.value;
  const cwd = parsed.find((argument) => argument.kind === 'flag' && argument.name === 'cwd');
  const named = cwd?.kind === 'flag' && typeof cwd.value === 'string' ? resolvePath(io, cwd.value) : undefined;
  let toolbox: NodeToolbox | undefined;
  const open = (): NodeToolbox => {
    const place = named === undefined ? { cwd: io.cwd() } : { workdir: named };
    toolbox ??= createNodeToolbox({ ...place, env: io.env, now: io.now });
    return toolbox;
  };
  const setup: Setup = { io, open };
  try {
    if (first === 'help') return await complete(rest, current, io);
    return await completeFrom(first, first === undefined ? words : rest, current, setup);
  } finally {
    await toolbox?.close();
  }
}

async function completeFrom(
  first: string | undefined,
  words: readonly string[],
  current: string,
  setup: Setup,
): Promise<Completion> {
  if (first === undefined) return completeWords(await firstLevel(setup), words, current);
  const { entry, word, toArguments } = findCommandEntry(first);
  if (entry !== undefined) {
    const { verb, argv } = await loadVerb(entry, [], toArguments(words));
    return completeVerb(verb, argv, current, setup);
  }
  return completeCommand(word, words, current, setup);
}

async function firstLevel(setup: Setup): Promise<Completable> {
  const table = await readTable(setup.open());
  const candidates = [
    ...VERBS.map(({ name, summary }) => ({ value: name, description: summary })),
    ...toCandidates(table.single).filter(({ value }) => !RESERVED.has(value)),
    ...[...table.groups.keys()]
      .filter((group) => !RESERVED.has(group))
      .map((group) => ({ value: group, description: `commands of ${group}` })),
  ];
  const unique = new Map(candidates.map((one) => [one.value, one]));
  return toCompletableFlags(setup, COMMON_FLAGS, (index) =>
    index === 0 ? { candidates: [...unique.values()], files: false } : NOTHING,
  );
}

async function completeVerb(verb: Verb, words: readonly string[], current: string, setup: Setup): Promise<Completion> {
  if (verb.readsRest) {
    const { parsed, rest } = splitArguments(words, (name) => kindOfFlag(verb, name), {
      stopAtPositional: true,
    });
    const ref = parsed.find((argument) => argument.kind === 'positional')?.value;
    if (ref !== undefined) return completeTool(await setup.open().find(ref), rest, current, setup);
  }
  const offered = await offeredBy(verb, setup);
  const flags = { ...verb.flags, ...COMMON_FLAGS };
  const positional = (index: number): Completion => (index < verb.positionals ? offered : NOTHING);
  return completeWords(toCompletableFlags(setup, flags, positional), words, current);
}

async function offeredBy({ completes = [] }: Verb, setup: Setup): Promise<Completion> {
  if (completes === 'files') return { candidates: [], files: true };
  if (completes !== 'tools') return offer(completes);
  const tools = await setup.open().list();
  return {
    candidates: tools.map(({ name, description }) => ({ value: name, description: short(description) })),
    files: false,
  };
}

// By name first, as for a call; then groups and command words.
async function completeCommand(
  first: string,
  words: readonly string[],
  current: string,
  setup: Setup,
): Promise<Completion> {
  const toolbox = setup.open();
  const named = await toolbox.find(first).catch(() => undefined);
  if (named && !named.traits.hidden && commandName(named).group !== first)
    return completeTool(named, words, current, setup);
  const found = findCommand(await readTable(toolbox), first);
  if (found === undefined) return NOTHING;
  if ('tool' in found) return completeTool(found.tool, words, current, setup);
  const [word, ...rest] = words;
  if (word !== undefined) return completeTool(findInGroup(found.group, found.commands, word), rest, current, setup);
  const commands = { candidates: toCandidates(found.commands), files: false };
  return completeWords(
    toCompletableFlags(setup, COMMON_FLAGS, () => commands),
    words,
    current,
  );
}

async function completeTool(tool: Tool, words: readonly string[], current: string, setup: Setup): Promise<Completion> {
  const flags = { ...call.flags, ...COMMON_FLAGS };
  // --cwd must come before the tool.
  const own = Object.fromEntries(Object.entries(flags).filter(([name]) => OWN_FLAGS.has(name) && name !== 'cwd'));
  const completable = toCompletable(tool, own);
  const declared = new Set(toParameters(tool.input.json).map(({ flag }) => flag));
  const values: Completable['values'] = (flag, begun) =>
    Object.hasOwn(own, flag) && !declared.has(flag)
      ? flagValues(setup, own[flag]!, begun)
      : completable.values(flag, begun);
  return completeWords({ ...completable, values }, words, current);
}

function toCompletableFlags(
  setup: Setup,
  flags: Readonly<Record<string, FlagHelp>>,
  positional: (index: number) => Completion,
): Completable {
  return {
    kindOf: (name) => (Object.hasOwn(flags, name) ? flags[name]!.kind : undefined),
    flags: (given) =>
      Object.entries(flags)
        .filter(([name]) => !given.includes(name))
        .map(([name, { description }]) => ({ value: `--${name}`, description })),
    values: (flag, current) => (Object.hasOwn(flags, flag) ? flagValues(setup, flags[flag]!, current) : NOTHING),
    positional,
  };
}

function offer(values: readonly string[]): Completion {
  return { candidates: values.map((value) => ({ value, description: '' })), files: false };
}

// The placeholder of a flag tells how to complete it: `DIR`, `FILE`, `JSON|@FILE|-`.
function flagValues({ io, open }: Setup, { value = '', choices, names }: FlagHelp, current: string): Completion {
  const known =
    names === 'profile'
      ? [...open().state.configuration().profiles.keys()]
      : names === 'format'
        ? open().state.formats
        : choices;
  if (known !== undefined) return offer(known);
  if (value.includes('@FILE') && current.startsWith('@'))
    return offer(listFiles(io, current.slice(1)).map((file) => `@${file}`));
  return { candidates: [], files: /^(?:DIR|FILE)$/.test(value) };
}

function listFiles(io: Io, begun: string): string[] {
  const directory = begun.slice(0, begun.lastIndexOf('/') + 1);
  return (
    orNothing(() =>
      readdirSync(resolvePath(io, directory), { withFileTypes: true })
        .filter((entry) => entry.name.startsWith(basename(begun.slice(directory.length))))
        .map((entry) => `${directory}${entry.name}${entry.isDirectory() ? '/' : ''}`),
    ) ?? []
  );
}

async function readTable(toolbox: NodeToolbox): Promise<CommandTable> {
  const { tools, unlisted } = await toolbox.catalog.survey();
  return toCommandTable([...tools, ...unlisted]);
}

function toCandidates(commands: Commands): Candidate[] {
  return [...commands].flatMap(([word, tools]) =>
    tools.map((tool) => ({
      value: tools.length > 1 ? tool.name : word,
      description: short(tool.description),
    })),
  );
}

function short(description: string): string {
  return quoteOutside(description, 80);
}
