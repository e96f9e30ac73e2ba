// Shell completion of verbs, groups, tools, flags and values. Runs no tool.

import { readdirSync } from 'node:fs';
import {
  type Candidate,
  type Completable,
  type Completion,
  completeWords,
  flagCandidates,
  NOTHING,
  toCompletable,
} from '../commands/complete.js';
import { splitArguments } from '../commands/index.js';
import { commandName } from '../commands/names.js';
import { type Commands, type CommandTable, findCommand, findInGroup, toCommandTable } from '../commands/table.js';
import { orNothing } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { createNodeToolbox, type NodeToolbox } from '../node.js';
import { type Io, resolvePath } from './io.js';
import { formatAnswer, isShell, splitLine } from './shells.js';
import { COMMON_FLAGS, type FlagHelp, kindOfFlag, type NamedVerb } from './verb.js';
import { call } from './verbs/call.js';
import { findCommandEntry, loadVerb, RESERVED, VERBS } from './verbs.js';

export { createProcessIo } from './process-io.js';

/** Runs `wield __complete <shell> …`. Errors give no candidates, so that the shell is not disturbed. */
export async function run([, shell, ...rest]: readonly string[], io: Io): Promise<number> {
  if (!isShell(shell)) return 2;
  // Bash passes the line as a whole.
  const line = shell === 'bash' ? splitLine(rest[0] ?? '', rest[1] ?? '') : undefined;
  const words = line === undefined ? rest.slice(1, -1) : afterProgram(line.words);
  const current = line === undefined ? (rest.at(-1) ?? '') : line.current;
  const { candidates, files } = await complete(words, current, io).catch(() => NOTHING);
  // Only bash completes files after `--path=`.
  const found = { candidates, files: files && (line !== undefined || !current.startsWith('-')) };
  orNothing(() => io.stdout.write(formatAnswer(found, line)));
  return 0;
}

// Skips variables that are set before the program.
function afterProgram(words: readonly string[]): readonly string[] {
  return words.slice(words.findIndex((word) => !/^\w+=/.test(word)) + 1);
}

async function complete(words: readonly string[], current: string, io: Io): Promise<Completion> {
  const common = (name: string) => (Object.hasOwn(COMMON_FLAGS, name) ? COMMON_FLAGS[name]!.kind : undefined);
  const { parsed, rest } = splitArguments(words, common, { stopAtPositional: true });
  const first = parsed.find((argument) => argument.kind === 'positional')?.value;
  if (first === 'help') return complete(rest, current, io);
  const cwd = parsed.find((argument) => argument.kind === 'flag' && argument.name === 'cwd');
  const named = cwd?.kind === 'flag' && typeof cwd.value === 'string' ? resolvePath(io, cwd.value) : undefined;
  let toolbox: NodeToolbox | undefined;
  const open = (): NodeToolbox => {
    const place = named === undefined ? { cwd: io.cwd() } : { workdir: named };
    toolbox ??= createNodeToolbox({ ...place, env: io.env, now: io.now });
    return toolbox;
  };
  try {
    if (first === undefined) return completeWords(await firstLevel({ io, open }), words, current);
    const { entry, word, argv: given } = findCommandEntry(first, rest);
    if (entry === undefined) return await completeCommand(word, { words: rest, current, io, open });
    const { verb, argv } = await loadVerb(entry, [], given);
    return await completeVerb(verb, { words: argv, current, io, open });
  } finally {
    await toolbox?.close();
  }
}

interface Setup {
  readonly io: Io;
  open(): NodeToolbox;
}

interface Asked extends Setup {
  /** The words after the command. */
  readonly words: readonly string[];
  /** The word at the cursor. */
  readonly current: string;
}

async function firstLevel(setup: Setup): Promise<Completable> {
  const { single, groups } = await readTable(setup.open());
  const ofTools = [
    ...toCandidates(single),
    ...[...groups.keys()].map((group) => ({ value: group, description: `commands of ${group}` })),
  ].filter(({ value }) => !RESERVED.has(value));
  const ofVerbs = VERBS.map(({ name, summary }) => ({ value: name, description: summary }));
  const unique = new Map([...ofVerbs, ...ofTools].map((one) => [one.value, one]));
  const words = { candidates: [...unique.values()], files: false };
  return toCompletableFlags(setup, COMMON_FLAGS, (index) => (index === 0 ? words : NOTHING));
}

async function completeVerb(verb: NamedVerb, asked: Asked): Promise<Completion> {
  const { words, current, open } = asked;
  if (verb.readsRest) {
    const { parsed, rest } = splitArguments(words, (name) => kindOfFlag(verb, name), { stopAtPositional: true });
    const ref = parsed.find((argument) => argument.kind === 'positional')?.value;
    if (ref !== undefined) return completeTool(await open().find(ref), { ...asked, words: rest });
  }
  const offered = await offeredBy(verb, open);
  const flags = { ...verb.flags, ...COMMON_FLAGS };
  const positional = (index: number): Completion => (index < verb.positionals ? offered : NOTHING);
  return completeWords(toCompletableFlags(asked, flags, positional), words, current);
}

async function offeredBy({ completes = [] }: NamedVerb, open: Setup['open']): Promise<Completion> {
  if (completes === 'files') return { candidates: [], files: true };
  if (completes !== 'tools') return offer(completes);
  const tools = await open().list();
  return { candidates: tools.map((tool) => toCandidate(tool.name, tool)), files: false };
}

// By name first, as for a call; then groups and command words.
async function completeCommand(first: string, asked: Asked): Promise<Completion> {
  const { words, current, open } = asked;
  const named = await open()
    .find(first)
    .catch(() => undefined);
  if (named && !named.traits.hidden && commandName(named).group !== first) return completeTool(named, asked);
  const found = findCommand(await readTable(open()), first);
  if (found === undefined) return NOTHING;
  if ('tool' in found) return completeTool(found.tool, asked);
  const [word, ...rest] = words;
  if (word !== undefined)
    return completeTool(findInGroup(found.group, found.commands, word), { ...asked, words: rest });
  const commands = { candidates: toCandidates(found.commands), files: false };
  const completable = toCompletableFlags(asked, COMMON_FLAGS, () => commands);
  return completeWords(completable, words, current);
}

function completeTool(tool: Tool, asked: Asked): Completion {
  // --cwd must come before the tool.
  const { cwd: _, ...own } = { ...call.flags, ...COMMON_FLAGS };
  const completable = toCompletable(tool, own, (flag, begun) => flagValues(asked, flag, begun));
  return completeWords(completable, asked.words, asked.current);
}

function toCompletableFlags(
  setup: Setup,
  flags: Readonly<Record<string, FlagHelp>>,
  positional: (index: number) => Completion,
): Completable {
  return {
    kindOf: (name) => (Object.hasOwn(flags, name) ? flags[name]!.kind : undefined),
    flags: (given) => flagCandidates(flags, given),
    values: (flag, current) => (Object.hasOwn(flags, flag) ? flagValues(setup, flags[flag]!, current) : NOTHING),
    positional,
  };
}

function offer(values: readonly string[]): Completion {
  return { candidates: values.map((value) => ({ value, description: '' })), files: false };
}

// The placeholder of a flag tells how to complete it: `DIR`, `FILE`, `JSON|@FILE|-`.
function flagValues({ io, open }: Setup, { value = '', choices, names }: FlagHelp, current: string): Completion {
  if (names === 'profile') return offer([...open().state.configuration().profiles.keys()]);
  if (names === 'format') return offer(open().state.formats);
  if (choices !== undefined) return offer(choices);
  if (value.includes('@FILE') && current.startsWith('@'))
    return offer(listFiles(io, current.slice(1)).map((file) => `@${file}`));
  return { candidates: [], files: /^(?:DIR|FILE)$/.test(value) };
}

function listFiles(io: Io, begun: string): string[] {
  const directory = begun.slice(0, begun.lastIndexOf('/') + 1);
  const entries = orNothing(() => readdirSync(resolvePath(io, directory), { withFileTypes: true })) ?? [];
  return entries
    .filter((entry) => entry.name.startsWith(begun.slice(directory.length)))
    .map((entry) => `${directory}${entry.name}${entry.isDirectory() ? '/' : ''}`);
}

async function readTable(toolbox: NodeToolbox): Promise<CommandTable> {
  const { tools, unlisted } = await toolbox.catalog.survey();
  return toCommandTable([...tools, ...unlisted]);
}

function toCandidates(commands: Commands): Candidate[] {
  return [...commands].flatMap(([word, tools]) =>
    tools.map((tool) => toCandidate(tools.length > 1 ? tool.name : word, tool)),
  );
}

function toCandidate(value: string, { description }: Tool): Candidate {
  return { value, description: quoteOutside(description, 80) };
}
