// Runs one command: finds the verb, reads its flags, prints what went wrong, gives the exit status.

import { constants } from 'node:os';
import { ownFlagValue, splitArguments } from '../commands/index.js';
import { exitStatus, ToolError, toToolError } from '../core/error.js';
import { sanitize } from '../core/text.js';
import { createNodeToolbox, type NodeToolbox } from '../node.js';
import { type Io, resolvePath } from './io.js';
import { printError, printHelp, printJson } from './print.js';
import { ClosedOutput, createTerminal, type Terminal } from './terminal.js';
import { COMMON_FLAGS, formatVerbHelp, kindOfFlag, unknownFlag, type Verb, type VerbCall } from './verb.js';
import { findVerb, RESERVED } from './verbs.js';
import { showWait } from './wait.js';

const INTERRUPTED = 130;

/** Runs one command and returns its exit status. Never throws; touches the process only through `io`. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const terminal = createTerminal(io, { plain: argv.includes('--plain') });
  const interrupt = watchSignals(io);
  try {
    return await runVerb(argv, terminal, interrupt);
  } catch (thrown) {
    if (thrown instanceof ClosedOutput) return 0;
    const error = toToolError(thrown);
    // What failed may be the reading of the flags itself, so the word alone counts here.
    if (argv.includes('--json')) printJson(terminal, { ok: false, error: error.toJSON() });
    else printError(terminal, error.toJSON());
    if (error.code === 'internal' && isVerbose(argv, io))
      terminal.err(`${String((error.cause as Error)?.stack ?? error.stack)}\n`);
    return interrupt.status() ?? exitStatus(error.code);
  }
}

async function runVerb(argv: readonly string[], terminal: Terminal, interrupt: Interrupt): Promise<number> {
  const { name, before, after } = findVerbName(argv);
  // `wield help deploy` is `wield deploy --help`.
  if (name === 'help' && after.length > 0)
    return runVerb([...before, ...after, '--help'], terminal, interrupt);
  const found = findVerb(name);
  // What is no verb is a tool's command (MOD-20).
  const verb = found ? await found.entry.load() : (await import('./tool-command.js')).toolCommand;
  const own = found ? [...found.flags, ...after] : [name, ...after];
  const { flags, repeated, positionals, rest } = readFlags(verb, [...before, ...own]);
  const json = flags.has('json');
  if (flags.has('help') && (!verb.readsRest || positionals.length === 0)) {
    printHelp(terminal, formatVerbHelp(verb), json);
    return 0;
  }
  const { io } = terminal;
  const cwd = findCwd(io, flags.get('cwd'));
  let toolbox: NodeToolbox | undefined;
  let isWaiting = false;
  const onWait = (servers: readonly string[]): void => {
    if (!isWaiting) interrupt.signal().addEventListener('abort', () => void toolbox?.close(), { once: true });
    isWaiting = true;
    showWait(terminal, servers);
  };
  const openToolbox: VerbCall['toolbox'] = (options = {}) => {
    toolbox ??= createNodeToolbox({
      env: io.env,
      now: io.now,
      ...(flags.has('cwd') ? { workdir: cwd } : { cwd }),
      debug: isVerbose(argv, io) ? (message) => terminal.err(`debug  ${sanitize(message)}\n`) : undefined,
      warn: (message) =>
        terminal.err(`${terminal.paint('yellow', 'warning', 'err')}  ${sanitize(message)}\n`),
      onWait: verb.runsUntilStopped ? undefined : onWait,
      ...options,
    });
    return toolbox;
  };
  try {
    const ended = await verb.run({
      terminal,
      flags,
      repeated: (flag) => repeated.get(flag) ?? [],
      positionals,
      rest,
      json,
      cwd,
      env: io.env,
      reserved: RESERVED,
      get signal() {
        return interrupt.signal();
      },
      toolbox: openToolbox,
    });
    const status = interrupt.status();
    if (verb.runsUntilStopped && status !== INTERRUPTED) return ended;
    return status ?? ended;
  } finally {
    await toolbox?.close();
  }
}

function findCwd(io: Io, named: string | true | undefined): string {
  try {
    return resolvePath(io, String(named ?? io.cwd()));
  } catch (error) {
    throw new ToolError('unavailable', 'the current directory is gone', {
      hint: 'change to another one, or name one with --cwd DIR',
      cause: error,
    });
  }
}

// The verb is the first word that is no common flag: `wield --cwd DIR list` works.
function findVerbName(argv: readonly string[]): {
  name: string;
  before: readonly string[];
  after: readonly string[];
} {
  const kindOf = (name: string) => (Object.hasOwn(COMMON_FLAGS, name) ? COMMON_FLAGS[name]!.kind : undefined);
  const { parsed, rest } = splitArguments(argv, kindOf, { stopAtPositional: true });
  const last = parsed[parsed.length - 1];
  if (last?.kind === 'positional')
    return { name: last.value, before: argv.slice(0, argv.length - rest.length - 1), after: rest };
  const odd = parsed.find((argument) => argument.kind !== 'flag');
  if (odd !== undefined && odd.kind !== 'positional') throw unknownFlag(undefined, odd.name, odd.kind);
  throw new ToolError('usage', 'no command given', { hint: 'wield --help shows the commands' });
}

function readFlags(verb: Verb, argv: readonly string[]) {
  const { parsed, rest } = splitArguments(argv, (name) => kindOfFlag(verb, name), {
    stopAtPositional: verb.readsRest ?? false,
  });
  const flags = new Map<string, string | true>();
  const repeated = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const argument of parsed) {
    if (argument.kind === 'flag') {
      const { name } = argument;
      const value = ownFlagValue(name, kindOfFlag(verb, name)!, argument.value);
      if (value === undefined) flags.delete(name);
      else flags.set(name, value);
      if (verb.flags[name]?.repeats) repeated.set(name, [...(repeated.get(name) ?? []), String(value)]);
    } else if (argument.kind === 'positional') positionals.push(argument.value);
    else throw unknownFlag(verb, argument.name, argument.kind);
  }
  if (positionals.length > verb.positionals) {
    throw new ToolError('usage', `unexpected argument "${sanitize(positionals[verb.positionals]!)}"`, {
      hint: `wield ${verb.usage}`,
    });
  }
  return { flags, repeated, positionals, rest };
}

// CLI-12
function isVerbose(argv: readonly string[], { env }: Io): boolean {
  return argv.includes('--verbose') || env.WIELD_LOG === 'debug' || env.OCTOMIND_LOG === 'debug';
}

interface Interrupt {
  signal(): AbortSignal;
  /** The exit status of the received signal, if any. */
  status(): number | undefined;
}

// The first signal stops the command (CLI-10).
function watchSignals(io: Io): Interrupt {
  // Created on first use: Node loads modules for it.
  let controller: AbortController | undefined;
  let status: number | undefined;
  io.onSignal((name) => {
    status ??= name === 'SIGINT' ? INTERRUPTED : 128 + constants.signals[name];
    controller?.abort();
  });
  return {
    signal() {
      controller ??= new AbortController();
      if (status !== undefined) controller.abort();
      return controller.signal;
    },
    status: () => status,
  };
}
