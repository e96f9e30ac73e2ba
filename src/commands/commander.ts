// Adds tools to a commander program: one subcommand per tool, grouped where tools have a group (MOD-26).

import type { Caller } from '../core/caller.js';
import { exitStatus, orNothing, toToolError } from '../core/error.js';
import { parseJson } from '../core/json.js';
import type { Problem } from '../core/problem.js';
import type { ToolResult } from '../core/result.js';
import { count, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { Toolbox } from '../core/toolbox.js';
import type { FlagKind } from './arguments.js';
import { formatToolHelp } from './help.js';
import { inputTwice, parseTimeout, parseToolArguments, type ToolArguments } from './input.js';
import { contentText, errorText, JSON_SCHEMA } from './output.js';
import { kindOfOwnFlag } from './parameters.js';
import { type Commands, findCommandProblems, toCommandTable } from './table.js';
import { firstSentences } from './wrap.js';

/** The part of commander's `Command` that is used; commander itself is not a dependency. */
export interface CommanderCommand {
  name(): string;
  aliases(): readonly string[];
  readonly commands: readonly CommanderCommand[];
  command(name: string): CommanderCommand;
  description(text: string): unknown;
  argument(name: string): unknown;
  helpOption(flags: boolean): unknown;
  allowUnknownOption(): unknown;
  action(run: () => Promise<void>): unknown;
  readonly args: readonly string[];
  helpInformation(): string;
  configureOutput(): { writeOut?(text: string): void };
  error(message: string, options: { exitCode: number; code: string }): never;
}

/** The outcome of a mounted command. */
export interface CommandOutcome {
  /** The tool that was called. */
  readonly tool: Tool;
  /** Its result. */
  readonly result: ToolResult;
  /** 0, or the status of the error's code. */
  readonly exitStatus: number;
  /** Whether `--json` was passed. */
  readonly json: boolean;
  /** The command of the commander program. */
  readonly command: CommanderCommand;
}

/** Options of `registerToolsAsCLI`. */
export interface RegisterToolsOptions {
  /** A person by default. */
  readonly caller?: Caller;
  /** Handles the outcome; by default it is printed, and the process exits with its status. */
  readonly handle?: (outcome: CommandOutcome) => void | Promise<void>;
}

// The flags of wield that also make sense in another program.
const FLAGS = new Set(['help', 'json', 'input', 'timeout']);
const kindOf = (name: string): FlagKind | undefined => (FLAGS.has(name) ? kindOfOwnFlag(name) : undefined);

/**
 * Mounts the visible tools of a toolbox as subcommands. Schemas are read when a command runs. Returns the commands that
 * could not be mounted because the program has one with the same name.
 */
export async function registerToolsAsCLI(
  program: CommanderCommand,
  toolbox: Toolbox,
  options: RegisterToolsOptions = {},
): Promise<readonly Problem[]> {
  const tools = await toolbox.list();
  const taken = new Set(program.commands.flatMap((command) => [command.name(), ...command.aliases()]));
  taken.add('help');
  const { single, groups } = toCommandTable(tools);
  const mountAll = (parent: CommanderCommand, commands: Commands, words: string): void => {
    for (const [word, same] of commands) {
      // Two tools with the same command word are mounted by name.
      for (const tool of same) mount(parent.command(same.length > 1 ? tool.name : word), tool, toolbox, words, options);
    }
  };
  const free = ([word]: readonly [string, unknown]): boolean => !taken.has(word);
  mountAll(program, new Map([...single].filter(free)), program.name());
  for (const [group, commands] of [...groups].filter(free)) {
    if (single.has(group)) continue;
    const parent = program.command(group);
    parent.description(count([...commands.values()].flat().length, 'command'));
    mountAll(parent, commands, `${program.name()} ${group}`);
  }
  return findCommandProblems(tools, { name: program.name(), reserved: taken });
}

function mount(
  command: CommanderCommand,
  tool: Tool,
  toolbox: Toolbox,
  parent: string,
  options: RegisterToolsOptions,
): void {
  const words = `${parent} ${command.name()}`;
  const help = (): string => formatToolHelp(tool, words);
  command.description(firstSentences(quoteOutside(tool.description, 1000), 100));
  // Arguments are passed through: the parser of `wield call` reads them.
  command.argument('[arguments...]');
  command.allowUnknownOption();
  command.helpOption(false);
  command.helpInformation = help;
  command.action(async () => {
    const { handle = print } = options;
    const write = command.configureOutput().writeOut;
    const parsed = parseToolArguments(tool, command.args, { ownKind: kindOf, command: words });
    // An invalid flag is reported by the call.
    const flags = orNothing(() => parsed.flags());
    if (flags?.has('help')) {
      write?.(help());
      return;
    }
    const result = await run(tool, toolbox, parsed, options.caller);
    const status = result.error === undefined ? 0 : exitStatus(result.error.code);
    await handle({ tool, result, exitStatus: status, json: flags?.has('json') === true, command });
  });
}

async function run(
  tool: Tool,
  toolbox: Toolbox,
  parsed: ToolArguments,
  caller: Caller = { kind: 'person', door: 'cli' },
): Promise<ToolResult> {
  try {
    const flags = parsed.flags();
    const { input, given } = parsed.toInput();
    const whole = flags.get('input');
    if (whole !== undefined && given) throw inputTwice();
    const timeout = flags.get('timeout');
    const timeoutMs = timeout === undefined ? undefined : parseTimeout(String(timeout));
    return await toolbox.call(tool.name, whole === undefined ? input : parseJson(String(whole), '--input'), {
      caller,
      timeoutMs,
    });
  } catch (thrown) {
    return { ok: false, content: [], error: toToolError(thrown).toJSON(), meta: { durationMs: 0 } };
  }
}

function print({ result, exitStatus: exitCode, json, command }: CommandOutcome): void {
  const { ok, ...rest } = result;
  const write = command.configureOutput().writeOut;
  write?.(json ? `${JSON.stringify({ ok, schema: JSON_SCHEMA, ...rest })}\n` : contentText(result));
  if (result.error === undefined) return;
  const text = json ? '' : errorText(result.error).trimEnd();
  command.error(text, { exitCode, code: `wield.${result.error.code}` });
}
