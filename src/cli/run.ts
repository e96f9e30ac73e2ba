// Runs one command: parses its arguments, runs its verb, prints errors, returns the exit status.

import { constants } from 'node:os';
import type { Argument } from '../commands/index.js';
import { type ErrorValue, exitStatus, isToolError, ToolError, toToolError } from '../core/error.js';
import { assertSupported } from '../core/platform.js';
import { quoteOutside, sanitize } from '../core/text.js';
import { statOrNothing } from '../files/read.js';
import { createNodeToolbox, type NodeToolbox } from '../node.js';
import { findAlias } from './aliases.js';
import { type CommandWord, findCommandWord, parseVerbArguments } from './command-line.js';
import { type Io, resolvePath, type Signal } from './io.js';
import { createOwnFlags, type OwnFlags } from './own-flags.js';
import { printError, printHelp, printJson, printWarning, toShellHint } from './print.js';
import { createWaitLine } from './status-line.js';
import { ClosedOutput, createTerminal, type Terminal } from './terminal.js';
import { isCommand, mentionTool, toolCommand } from './tool-command.js';
import { formatVerbHelp, unknownFlag, usageError } from './verb.js';
import { type FoundCommand, findCommandEntry, loadVerb, RESERVED } from './verbs.js';

export { createProcessIo } from './process-io.js';

const INTERRUPTED = 130;

/** Runs one command and returns its exit status. Never throws; uses the process only through `io`. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const terminal = createTerminal(io, { plain: argv.includes('--plain') });
  const interrupt = watchSignals(io);
  const own = createOwnFlags(argv, terminal);
  const faults = watchFaults(terminal, own);
  try {
    assertSupported(process.platform);
    const word = findCommandWord(argv);
    const setup = { argv, terminal, interrupt, own, faults };
    return await runCommand(word, setup).catch((thrown) => explainVerb(thrown, word, setup));
  } catch (thrown) {
    if (thrown instanceof ClosedOutput) return 0;
    const error = toToolError(thrown);
    printFailure(terminal, error.toJSON(), own.json());
    if (error.code === 'internal') own.debug?.(String((error.cause as Error)?.stack ?? error.stack));
    return interrupt.status() ?? exitStatus(error.code);
  } finally {
    own.flush();
    terminal.showTransient('');
  }
}

function printFailure(terminal: Terminal, error: ErrorValue, json: boolean): void {
  try {
    if (json) return void printJson(terminal, { ok: false, error: { ...error, hint: toShellHint(error) } });
  } catch {
    // Standard output cannot be written, which may be the error itself.
  }
  printError(terminal, error);
}

interface Setup {
  readonly argv: readonly string[];
  readonly terminal: Terminal;
  readonly interrupt: Interrupt;
  readonly own: OwnFlags;
  readonly faults: ReturnType<typeof watchFaults>;
}

async function runCommand({ word, before, rest }: CommandWord, setup: Setup): Promise<number> {
  const { terminal, interrupt } = setup;
  if (word === undefined) return runFlags(before, setup);
  // `wield help deploy` is `wield deploy --help`.
  if (word === 'help') {
    const inner = findCommandWord([...rest, '--help']);
    return runCommand({ ...inner, before: [...before, ...inner.before] }, setup);
  }
  // Any word that is not a verb is the command of a tool (MOD-20).
  const found = (await isTool(word, before, setup)) ? { word, argv: rest } : findCommandEntry(word, rest);
  const { verb, parsed } = await parseCommand(found, before);
  if (!verb.readsRest) setup.own.settle(parsed.flags);
  if (verb.runsUntilStopped) setup.faults.goOn = true;
  if (parsed.flags.has('help') && (!verb.readsRest || parsed.positionals.length === 0)) {
    printHelp(terminal, formatVerbHelp(verb), parsed.json);
    return 0;
  }
  const { io } = terminal;
  const cwd = findCwd(io, parsed.flags.get('cwd'));
  const place = parsed.flags.has('cwd') ? { workdir: cwd } : { cwd };
  let toolbox: NodeToolbox | undefined;
  const onWait = verb.runsUntilStopped ? undefined : createWaitListener(terminal, interrupt, () => toolbox);
  try {
    const status = await verb.run({
      ...parsed,
      terminal,
      typed: setup.argv,
      cwd,
      env: io.env,
      reserved: RESERVED,
      load: (inner, flags, given) => parseCommand(findCommandEntry(inner, given), flags),
      settleFlags: setup.own.settle,
      onHangup: interrupt.onHangup,
      signal: interrupt.signal,
      stoppedBy: interrupt.stoppedBy,
      toolbox(options) {
        toolbox ??= createNodeToolbox({ ...toToolboxOptions(setup), ...place, onWait, ...options });
        return toolbox;
      },
    });
    const interrupted = interrupt.status();
    return verb.runsUntilStopped && interrupted !== INTERRUPTED ? status : (interrupted ?? status);
  } finally {
    await toolbox?.close();
  }
}

// `wield`, `wield --help` and `wield --version`, also with flags such as `--json`.
async function runFlags(before: readonly Argument[], setup: Setup): Promise<number> {
  const { terminal, own } = setup;
  const isVersion = (one: Argument): boolean => one.kind === 'unknown' && /^(?:--version|-v)$/.test(one.name);
  if (before.some(isVersion)) {
    return runCommand({ word: 'version', before: before.filter((one) => !isVersion(one)), rest: [] }, setup);
  }
  const wantsHelp = before.some((one) => one.kind === 'flag' && one.name === 'help' && one.value === true);
  const isShort = setup.argv.length === 0;
  if (!isShort && (!wantsHelp || before.some((one) => 'raw' in one))) throw noCommand(before);
  const { formatHelp, formatShortHelp } = await import('./help.js');
  printHelp(terminal, isShort ? formatShortHelp() : formatHelp(), own.json());
  return 0;
}

async function parseCommand({ entry, word, argv }: FoundCommand, before: readonly Argument[]) {
  const given = { verb: toolCommand, before, argv: [word, ...argv] };
  const { verb, ...own } = entry === undefined ? given : await loadVerb(entry, before, argv);
  return { verb, parsed: parseVerbArguments(verb, own.before, own.argv) };
}

// Whether a word of another system is the command of a tool here, which then comes first.
async function isTool(word: string, before: readonly Argument[], setup: Setup): Promise<boolean> {
  return findAlias(word)?.yields === true && withToolbox(before, setup, (toolbox) => isCommand(toolbox, word));
}

// MOD-25: the error of a verb says how a tool with its name is called.
async function explainVerb(thrown: unknown, { word, before, rest }: CommandWord, setup: Setup): Promise<never> {
  const isMistaken = isToolError(thrown) && (thrown.code === 'usage' || thrown.code === 'not_found');
  if (!isMistaken || word === undefined || !RESERVED.has(word)) throw thrown;
  throw await withToolbox(before, setup, (toolbox) => mentionTool(thrown, word, rest, toolbox)).catch(() => thrown);
}

// Uses a toolbox of its own: which verb runs is not known, or it has failed.
async function withToolbox<T>(
  before: readonly Argument[],
  setup: Setup,
  use: (toolbox: NodeToolbox) => Promise<T>,
): Promise<T> {
  const named = before.find((argument) => argument.kind === 'flag' && argument.name === 'cwd');
  const cwd = findCwd(setup.terminal.io, named?.kind === 'flag' ? named.value : undefined);
  const toolbox = createNodeToolbox({
    ...toToolboxOptions(setup),
    ...(named === undefined ? { cwd } : { workdir: cwd }),
  });
  try {
    return await use(toolbox);
  } finally {
    await toolbox.close();
  }
}

function toToolboxOptions({ terminal, own }: Setup) {
  const { env, now } = terminal.io;
  return {
    env,
    now,
    broker: true,
    telemetry: true,
    debug: own.debug,
    warn: (message: string) => printWarning(terminal, sanitize(message)),
  };
}

// Ctrl-C while waiting for servers closes the toolbox, which ends the wait.
function createWaitListener(terminal: Terminal, interrupt: Interrupt, toolbox: () => NodeToolbox | undefined) {
  let isWaiting = false;
  const line = createWaitLine(terminal, () => toolbox()?.state.snapshot().servers.servers ?? []);
  const leave = (): void => {
    line.interrupt();
    void toolbox()?.close();
  };
  return (servers: readonly string[]): void => {
    if (!isWaiting) interrupt.signal.addEventListener('abort', leave, { once: true });
    isWaiting = true;
    line.show(servers);
  };
}

function findCwd(io: Io, named: string | true | undefined): string {
  let directory: string;
  try {
    directory = resolvePath(io, String(named ?? io.cwd()));
  } catch (error) {
    throw new ToolError('unavailable', 'the current directory no longer exists', {
      hint: 'change to another directory, or pass --cwd DIR',
      cause: error,
    });
  }
  if (named !== undefined) checkDirectory(directory);
  return directory;
}

// CLI-25: no verb creates the directory or takes a missing one for an empty one.
function checkDirectory(directory: string): void {
  const found = statOrNothing(directory);
  if (found?.isDirectory()) return;
  const shown = quoteOutside(directory, 500);
  throw usageError(
    found === undefined ? `--cwd: directory not found: ${shown}` : `--cwd: not a directory: ${shown}`,
    'check the path after --cwd',
  );
}

function noCommand(before: readonly Argument[]): ToolError {
  const odd = before.find((argument) => argument.kind === 'unknown' || argument.kind === 'incomplete');
  if (odd !== undefined && 'raw' in odd) return unknownFlag(undefined, odd.name, odd.kind);
  return usageError('missing command', 'wield --help shows the commands');
}

// CLI-30: an error that nobody handled is a line on stderr. A server goes on, for its other clients and calls.
function watchFaults(terminal: Terminal, own: OwnFlags) {
  // Whether the command goes on after one.
  const faults = { goOn: false };
  terminal.io.onFault?.((thrown) => {
    if (thrown instanceof ClosedOutput) return faults.goOn;
    const [message = ''] = toToolError(thrown).message.split('\n', 1);
    const label = faults.goOn ? terminal.paint('yellow', 'warning', 'err') : terminal.paint('red', 'error', 'err');
    terminal.err(`${label}  ${sanitize(message)}${faults.goOn ? '; wield goes on, please report it' : ''}\n`);
    own.debug?.(String((thrown as Error)?.stack ?? thrown));
    return faults.goOn;
  });
  return faults;
}

type Interrupt = ReturnType<typeof watchSignals>;

// The first signal stops the command (CLI-10).
function watchSignals(io: Io) {
  const controller = new AbortController();
  let stoppedBy: Signal | undefined;
  let hangup: (() => void) | undefined;
  io.onSignal((name) => {
    if (name === 'SIGHUP' && hangup !== undefined && stoppedBy === undefined) {
      hangup();
      return false;
    }
    stoppedBy ??= name;
    controller.abort();
    return true;
  });
  return {
    onHangup(listener: () => void): void {
      if (![io.stdin, io.stdout, io.stderr].some(({ isTerminal }) => isTerminal)) hangup = listener;
    },
    signal: controller.signal,
    stoppedBy: () => stoppedBy,
    /** The exit status of the received signal, if any. */
    status(): number | undefined {
      if (stoppedBy === undefined) return undefined;
      return stoppedBy === 'SIGINT' ? INTERRUPTED : 128 + constants.signals[stoppedBy];
    },
  };
}
