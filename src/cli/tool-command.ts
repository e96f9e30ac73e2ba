// Runs tools as commands: `wield deploy main`, `wield note read inbox.md`; `wield note` lists a group.

import { toOwnFlags } from '../commands/input.js';
import { commandName } from '../commands/names.js';
import { kindOfOwnFlag } from '../commands/parameters.js';
import { allCommands, type Commands, findCommand, findInGroup, toCommandTable } from '../commands/table.js';
import { isToolError, ToolError } from '../core/error.js';
import { compareText, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { Survey, Toolbox } from '../core/toolbox.js';
import type { NodeToolbox } from '../node.js';
import { findCommandWord } from './command-line.js';
import { printHelp, printJson } from './print.js';
import { oneLine } from './table.js';
import { type NamedVerb, unknownFlag, usageError, type VerbCall } from './verb.js';
import { call, callTool, isUnloaded } from './verbs/call.js';
import { RESERVED } from './verbs.js';

/** The verb for a command word that is not a verb. */
export const toolCommand: NamedVerb = {
  name: 'call',
  flags: {},
  positionals: 1,
  ...call,
  async run(verbCall) {
    const { positionals, rest, toolbox: open } = verbCall;
    const word = positionals[0]!;
    const command = `wield ${word}`;
    const toolbox = open();
    // By name first: that reads one file, while the command table needs all tools.
    const named = await findByName(toolbox, word);
    if (named !== undefined && !isToolError(named) && commandName(named).group !== word)
      return callTool(verbCall, { tool: named, rest, command });
    const survey = await toolbox.catalog.survey();
    const table = toCommandTable([...survey.tools, ...survey.unlisted]);
    const found = findCommand(table, word);
    if (found === undefined) throw isToolError(named) ? named : unknownCommand(word, survey, allCommands(table));
    if ('group' in found) return runInGroup(verbCall, found.group, found.commands);
    return callTool(verbCall, { tool: await toolbox.find(found.tool.name), rest, command });
  },
};

/** Whether a word is the command of a tool or a group. */
export async function isCommand(toolbox: NodeToolbox, word: string): Promise<boolean> {
  if ((await findByName(toolbox, word)) !== undefined) return true;
  const { tools, unlisted } = await toolbox.catalog.survey();
  return findCommand(toCommandTable([...tools, ...unlisted]), word) !== undefined;
}

/** Adds to the error of a verb how the tool is called that has its name, or a name in the group of its name. */
export async function mentionTool(
  error: ToolError,
  verb: string,
  rest: readonly string[],
  toolbox: Toolbox,
): Promise<ToolError> {
  const words = [verb, ...rest.slice(0, 1).map((word) => `${verb}_${word}`)];
  for (const name of words.flatMap((word) => [word, word.replaceAll('-', '_')])) {
    const tool = await toolbox.find(name).catch(() => undefined);
    if (tool === undefined || tool.origin.builtin === true) continue;
    const hints = [`wield call ${name} calls the tool ${name}`, error.hint].filter((hint) => hint !== undefined);
    return new ToolError(error.code, error.message, { hint: hints.join('; '), data: error.data, cause: error.cause });
  }
  return error;
}

// Returns the visible tool of a name, or the error of its file.
async function findByName(toolbox: Toolbox, word: string): Promise<Tool | ToolError | undefined> {
  try {
    const tool = await toolbox.find(word);
    return tool.traits.hidden ? undefined : tool;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return error.data?.path === undefined ? undefined : error;
  }
}

async function runInGroup(verbCall: VerbCall, group: string, commands: Commands): Promise<number> {
  const { word, before, rest } = findCommandWord(verbCall.rest);
  for (const argument of before) if ('raw' in argument) throw unknownFlag(undefined, argument.name, argument.kind);
  const between = toOwnFlags(before, kindOfOwnFlag);
  if (word === undefined) {
    showGroup(verbCall, group, commands, verbCall.json || between.has('json'));
    return 0;
  }
  const { name } = findInGroup(group, commands, word);
  const tool = await verbCall.toolbox().find(name);
  return callTool(verbCall, { tool, rest, between, command: `wield ${group} ${word}` });
}

function showGroup({ terminal }: VerbCall, group: string, commands: Commands, json: boolean): void {
  const entries = [...commands]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([word, tools]) => tools.map((tool) => ({ word: tools.length > 1 ? tool.name : word, tool })));
  if (json) {
    printJson(terminal, {
      ok: true,
      group,
      commands: entries.map(({ word, tool }) => ({
        command: word,
        name: tool.name,
        description: tool.description,
      })),
    });
    return;
  }
  const width = Math.max(...entries.map(({ word }) => word.length));
  const lines = entries.map(({ word, tool }) => `  ${word.padEnd(width)}   ${oneLine(tool.description)}`);
  const help = [`wield ${group} <command>`, '', ...lines, '', `Run wield ${group} <command> --help for details.`, ''];
  printHelp(terminal, help.join('\n'), false);
}

// CLI-1: suggests the nearest verb, tool or group.
function unknownCommand(word: string, { tools }: Survey, words: readonly string[]): ToolError {
  const shown = quoteOutside(word, 80);
  const hidden = tools.find((tool) => tool.name === word);
  if (hidden === undefined && tools.some(isUnloaded)) {
    return new ToolError('needs_trust', `unknown command "${shown}"; modules of this workspace were not loaded`, {
      hint: 'if it belongs to one of them, review them and run: wield trust',
    });
  }
  const [close] = nearest(word, [...RESERVED, ...words]);
  const hint = hidden
    ? `${shown} is hidden; wield call ${shown} calls it`
    : close === undefined
      ? 'wield --help shows the commands, wield list the tools'
      : `did you mean wield ${close}? wield --help shows all`;
  return usageError(`unknown command "${shown}"`, hint);
}
