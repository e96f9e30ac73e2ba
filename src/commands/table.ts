// Maps command words to tools and finds collisions.

import { orNothing, ToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { compareText, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { commandName, commandWords } from './names.js';

/** Tools by command word; several if they collide. */
export type Commands = ReadonlyMap<string, readonly Tool[]>;

export type CommandTable = ReturnType<typeof toCommandTable>;

/** Returns the commands of visible tools: those without a group, and those of each group. */
export function toCommandTable(tools: Iterable<Tool>) {
  const single = new Map<string, Tool[]>();
  const groups = new Map<string, Map<string, Tool[]>>();
  for (const tool of tools) {
    if (tool.traits.hidden) continue;
    const { group, word } = commandName(tool);
    let commands = single;
    if (group !== undefined) {
      commands = groups.get(group) ?? new Map<string, Tool[]>();
      groups.set(group, commands);
    }
    const same = commands.get(word);
    if (same) same.push(tool);
    else commands.set(word, [tool]);
  }
  return { single, groups } satisfies { single: Commands; groups: ReadonlyMap<string, Commands> };
}

/** Finds the tool or group of a command word. Throws `ambiguous` if there are several. */
export function findCommand(
  { single, groups }: CommandTable,
  word: string,
): { readonly tool: Tool } | { readonly group: string; readonly commands: Commands } | undefined {
  const tools = single.get(word) ?? [];
  const commands = groups.get(word);
  if (tools.length + (commands ? 1 : 0) > 1) {
    const group = commands ? [`the group ${word}`] : [];
    throw ambiguous(word, tools, [...group, ...tools.map((tool) => tool.name)]);
  }
  if (commands) return { group: word, commands };
  return tools[0] && { tool: tools[0] };
}

/** Finds a tool of a group by command word or full name. Throws `ambiguous` or `usage`. */
export function findInGroup(group: string, commands: Commands, word: string): Tool {
  const byName = [...commands.values()].flat().filter((tool) => tool.name === word);
  const tools = [...new Set([...(commands.get(word) ?? []), ...byName])];
  if (tools.length > 1)
    throw ambiguous(
      `${group} ${word}`,
      tools,
      tools.map((tool) => tool.name),
    );
  if (tools[0]) return tools[0];
  const [close] = nearest(word, commands.keys());
  const all = `wield ${group} shows all`;
  throw new ToolError('usage', `${group} has no command "${quoteOutside(word, 80)}"`, {
    hint: close === undefined ? all : `did you mean wield ${group} ${close}? ${all}`,
  });
}

function ambiguous(words: string, tools: readonly Tool[], claimants: readonly string[]): ToolError {
  const [first] = tools.map((tool) => tool.name).sort(compareText);
  return new ToolError('ambiguous', `"${words}" is the command of ${claimants.join(' and ')}`, {
    hint: `call one by its name: wield call ${first}`,
    data: { candidates: tools.map((tool) => tool.name) },
  });
}

/** A program that has tools as commands. */
export interface Program {
  readonly name: string;
  /** Commands of the program itself. */
  readonly reserved: ReadonlySet<string>;
  /** Calls a tool that has no command: `wield call`. */
  readonly call?: string;
}

/** Returns the commands that collide with each other or with the program (MOD-25). */
export function findCommandProblems(tools: Iterable<Tool>, program: Program): Problem[] {
  const { reserved } = program;
  const table = toCommandTable(tools);
  const names = new Map<string, Tool>();
  for (const commands of [table.single, ...table.groups.values()]) {
    for (const same of commands.values()) for (const tool of same) names.set(tool.name, tool);
  }
  const problems: Problem[] = [];
  for (const [word, same] of table.single) {
    // A tool can also be called by its full name.
    const namesake = names.get(word);
    const all = namesake === undefined || same.includes(namesake) ? same : [...same, namesake];
    if (reserved.has(word)) for (const tool of all) problems.push(collidesWithVerb(tool, word, program));
    else if (all.length > 1) problems.push(collide(`"${word}"`, all, program));
  }
  for (const [group, commands] of table.groups) {
    const [first] = commands.values();
    const namesake = table.single.get(group)?.[0] ?? names.get(group);
    if (reserved.has(group)) problems.push(groupCollides(group, first![0]!, `a command of ${program.name}`, program));
    else if (namesake && commandName(namesake).group !== group)
      problems.push(groupCollides(group, first![0]!, `the tool ${namesake.name}`, program));
    for (const [word, same] of commands)
      if (same.length > 1) problems.push(collide(`"${group} ${word}"`, same, program));
  }
  return problems;
}

function collidesWithVerb(tool: Tool, word: string, program: Program): Problem {
  const message = `has no command: "${word}" is a command of ${program.name}`;
  return toProblem(tool, message, 'rename it to get a command', program, 'calls it');
}

function collide(words: string, tools: readonly Tool[], program: Program): Problem {
  const message = `${words} is the command of ${tools.map((tool) => tool.name).join(' and ')}`;
  return toProblem(tools[0]!, message, 'rename one of them', program, 'calls the first');
}

function groupCollides(group: string, tool: Tool, what: string, program: Program): Problem {
  const message = `the group "${group}" has no command: the name is taken by ${what}`;
  return toProblem(tool, message, 'rename the group', program, 'calls its first tool');
}

function toProblem(tool: Tool, message: string, advice: string, { call }: Program, calls: string): Problem {
  const hint = call === undefined ? advice : `${call} ${tool.name} ${calls}; ${advice}`;
  return { severity: 'error', path: pathOf(tool), message, hint };
}

function pathOf({ origin, name }: Tool): string {
  const { uri } = origin;
  if (uri === null || !uri.startsWith('file://')) return uri ?? name;
  return orNothing(() => decodeURIComponent(new URL(uri).pathname)) ?? uri;
}

/** Returns everything that can follow the program: commands, groups, commands of groups, and their full names. */
export function allCommands({ single, groups }: CommandTable): string[] {
  const grouped = [...groups].flatMap(([group, commands]) =>
    [...commands].flatMap(([word, tools]) => [`${group} ${word}`, ...tools.map(({ name }) => name)]),
  );
  return [...single.keys(), ...groups.keys(), ...grouped];
}

/** Returns the command of a tool without arguments; uses `call` if it has none. */
export function commandLineOf(tool: Tool, { name: program, reserved, call = program }: Program): string {
  const name = commandName(tool);
  const taken = tool.traits.hidden || reserved.has(name.group ?? name.word);
  return taken ? `${call} ${tool.name}` : `${program} ${commandWords(name)}`;
}
