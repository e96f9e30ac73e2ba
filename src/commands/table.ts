// Which words call which tool: every visible tool once, and what two of them, or a tool and a verb, both claim.

import { ToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { compareText, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { commandName, commandWords, isPlain } from './names.js';

/** The tools of each word, more than one where they collide. */
export type Commands = ReadonlyMap<string, readonly Tool[]>;

export interface CommandTable {
  /** Commands without a group. */
  readonly single: Commands;
  readonly groups: ReadonlyMap<string, Commands>;
}

/** The commands of visible tools. */
export function toCommandTable(tools: Iterable<Tool>): CommandTable {
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
  return { single, groups };
}

/** What a word stands for: a tool, a group, or nothing. Throws `ambiguous` where it could be several. */
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

/** The tool of a word within a group: its command, or its whole name. Throws `ambiguous` or `usage`. */
export function findInGroup(group: string, commands: Commands, word: string, program: string): Tool {
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
  const all = `${program} ${group} shows all`;
  throw new ToolError('usage', `${group} has no command "${quoteOutside(word, 80)}"`, {
    hint: close === undefined ? all : `did you mean ${program} ${group} ${close}? ${all}`,
  });
}

function ambiguous(words: string, tools: readonly Tool[], claimants: readonly string[]): ToolError {
  const [first] = tools.map((tool) => tool.name).sort(compareText);
  return new ToolError('ambiguous', `"${words}" is the command of ${claimants.join(' and ')}`, {
    hint: `call one by its name: wield call ${first}`,
    data: { candidates: tools.map((tool) => tool.name) },
  });
}

/** A program that has tools as commands, and words of its own. */
export interface Program {
  readonly name: string;
  readonly reserved: ReadonlySet<string>;
  /** What calls a tool that has no command, where there is such a way: `wield call`. */
  readonly call?: string;
}

/** Commands that cannot be offered: words of the program itself, and words of several tools (MOD-25). */
export function findCommandProblems(tools: Iterable<Tool>, program: Program): Problem[] {
  const { reserved } = program;
  const table = toCommandTable(findSuspects(tools, reserved));
  const names = new Map<string, Tool>();
  for (const commands of [table.single, ...table.groups.values()]) {
    for (const same of commands.values()) for (const tool of same) names.set(tool.name, tool);
  }
  const problems: Problem[] = [];
  for (const [word, same] of table.single) {
    // A name answers too, wherever its tool stands.
    const bearer = names.get(word);
    const all = bearer === undefined || same.includes(bearer) ? same : [...same, bearer];
    if (reserved.has(word)) for (const tool of all) problems.push(collidesWithVerb(tool, word, program));
    else if (all.length > 1) problems.push(collide(`"${word}"`, all, program));
  }
  for (const [group, commands] of table.groups) {
    const [first] = commands.values();
    const bearer = table.single.get(group)?.[0] ?? names.get(group);
    if (reserved.has(group))
      problems.push(groupCollides(group, first![0]!, `a command of ${program.name} itself`, program));
    else if (bearer && commandName(bearer).group !== group)
      problems.push(groupCollides(group, first![0]!, `the tool ${bearer.name}`, program));
    for (const [word, same] of commands)
      if (same.length > 1) problems.push(collide(`"${group} ${word}"`, same, program));
  }
  return problems;
}

// Names differ, so that a tool called by its name collides only with what is not, and with the program. A listing
// asks this each time, and has a thousand tools.
function findSuspects(tools: Iterable<Tool>, reserved: ReadonlySet<string>): Tool[] {
  const plain: Tool[] = [];
  const suspects: Tool[] = [];
  const claimed = new Set<string>();
  for (const tool of tools) {
    if (isPlain(tool)) plain.push(tool);
    else {
      const { group, word } = commandName(tool);
      claimed.add(group ?? word);
      suspects.push(tool);
    }
  }
  for (const tool of plain) if (reserved.has(tool.name) || claimed.has(tool.name)) suspects.push(tool);
  return suspects;
}

function collidesWithVerb(tool: Tool, word: string, program: Program): Problem {
  return {
    severity: 'error',
    path: pathOf(tool),
    message: `is no command: "${word}" is a command of ${program.name} itself`,
    hint: `${callable(program, tool, 'calls it')}rename it to have a command`,
  };
}

function collide(words: string, tools: readonly Tool[], program: Program): Problem {
  const names = tools.map((tool) => tool.name).join(' and ');
  return {
    severity: 'error',
    path: pathOf(tools[0]!),
    message: `${words} is the command of ${names}`,
    hint: `${callable(program, tools[0]!, 'calls the first')}rename one of them`,
  };
}

function groupCollides(group: string, tool: Tool, what: string, program: Program): Problem {
  return {
    severity: 'error',
    path: pathOf(tool),
    message: `the group "${group}" is no command: the word is ${what}`,
    hint: `${callable(program, tool, 'calls its first tool')}rename the group`,
  };
}

function callable({ call }: Program, tool: Tool, what: string): string {
  return call === undefined ? '' : `${call} ${tool.name} ${what}; `;
}

function pathOf({ origin, name }: Tool): string {
  const { uri } = origin;
  if (uri === null || !uri.startsWith('file://')) return uri ?? name;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return uri;
  }
}

/** Every word that comes first, for suggestions and completion: commands without a group, and groups. */
export function firstWords({ single, groups }: CommandTable): string[] {
  return [...single.keys(), ...groups.keys()];
}

/** What one types before a tool's arguments; by `call` where the tool has no command of its own. */
export function commandLineOf(tool: Tool, { name: program, reserved, call = program }: Program): string {
  const name = commandName(tool);
  const taken = tool.traits.hidden || reserved.has(name.group ?? name.word);
  return taken ? `${call} ${tool.name}` : `${program} ${commandWords(name)}`;
}
