// A tool as a command: `wield deploy main`, `wield note read inbox.md`, `wield note` for the commands of a group.

import { splitArguments } from '../commands/index.js';
import { commandName } from '../commands/names.js';
import { type Commands, findCommand, findInGroup, firstWords, toCommandTable } from '../commands/table.js';
import { isToolError, ToolError } from '../core/error.js';
import { compareText, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { Survey, Toolbox } from '../core/toolbox.js';
import { oneLine, printHelp, printJson } from './print.js';
import { COMMON_FLAGS, unknownFlag, type Verb, type VerbCall } from './verb.js';
import { call, callTool } from './verbs/call.js';
import { VERBS } from './verbs.js';

/** Stands in for a verb where the first word is none. */
export const toolCommand: Verb = {
  ...call,
  async run(verbCall) {
    const { positionals, rest, toolbox: open } = verbCall;
    const word = positionals[0]!;
    const toolbox = open();
    // By its name first: that looks at one file, and every other way lists all of them.
    const named = await findByName(toolbox, word);
    if (named !== undefined && !isToolError(named) && commandName(named).group !== word)
      return callTool(verbCall, named, rest, `wield ${word}`);
    const survey = await toolbox.catalog.survey();
    const table = toCommandTable([...survey.tools, ...survey.unlisted]);
    const found = findCommand(table, word);
    if (found === undefined)
      throw isToolError(named) ? named : unknownCommand(word, survey, firstWords(table));
    if ('group' in found) return runInGroup(verbCall, found.group, found.commands);
    return callTool(verbCall, await toolbox.find(found.tool.name), rest, `wield ${word}`);
  },
};

// The tool of a name where it is visible, or why its file gives none.
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
  const { flags, rest } = verbCall;
  const kindOf = (name: string) => (Object.hasOwn(COMMON_FLAGS, name) ? COMMON_FLAGS[name]!.kind : undefined);
  const { parsed, rest: after } = splitArguments(rest, kindOf, { stopAtPositional: true });
  const between: string[] = [];
  const words: string[] = [];
  for (const argument of parsed) {
    if (argument.kind === 'positional') words.push(argument.value);
    else if (argument.kind !== 'flag') throw unknownFlag(undefined, argument.name, argument.kind);
    else between.push(`--${argument.name}${argument.value === true ? '' : `=${argument.value}`}`);
  }
  const [word, ...others] = words;
  if (word === undefined) {
    showGroup(verbCall, group, commands, flags.has('json') || between.includes('--json'));
    return 0;
  }
  const { name } = findInGroup(group, commands, word, 'wield');
  const tool = await verbCall.toolbox().find(name);
  // Flags between the group and the command are the command's; what `--` made positional stays so.
  const own = others.length > 0 ? ['--', ...others] : after;
  return callTool(verbCall, tool, [...between, ...own], `wield ${group} ${word}`);
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
  const help = [
    `wield ${group} <command>`,
    '',
    ...lines,
    '',
    `wield ${group} <command> --help explains one.`,
    '',
  ];
  printHelp(terminal, help.join('\n'), false);
}

// CLI-1: the nearest of verbs, tools and groups.
function unknownCommand(word: string, { tools }: Survey, words: readonly string[]): ToolError {
  const shown = quoteOutside(word, 80);
  const hidden = tools.find((tool) => tool.name === word);
  const [close] = nearest(word, [...VERBS.map((verb) => verb.name), ...words]);
  const hint = hidden
    ? `${shown} is hidden; wield call ${shown} calls it`
    : close === undefined
      ? 'wield --help shows the commands, wield list the tools'
      : `did you mean wield ${close}? wield --help shows all`;
  return new ToolError('usage', `there is no command "${shown}"`, { hint });
}
