// `wield call`: calls a tool with flags, JSON or stdin, and streams its output.

import { splitArguments } from '../../commands/arguments.js';
import { formatToolHelp } from '../../commands/index.js';
import { inputTwice, parseTimeout, parseToolArguments, type ToolArguments } from '../../commands/input.js';
import { contentText } from '../../commands/output.js';
import { kindOfOwnFlag, toParameters } from '../../commands/parameters.js';
import { assertPerson, type Caller } from '../../core/caller.js';
import { exitStatus, isToolError, ToolError } from '../../core/error.js';
import { isRecord, type JsonObject, parseJson } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import { quoteOutside } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { DoorOptions, Toolbox } from '../../core/toolbox.js';
import { anchorRef } from '../../files/anchor.js';
import { fromFileUri } from '../../files/within.js';
import type { NodeToolbox } from '../../node.js';
import { describeLeft, describeRefused } from '../../process/sandbox/text.js';
import { createApprove, createElicit } from '../approve.js';
import { commandOf } from '../commands.js';
import { inputName, readInput, readStdin } from '../input.js';
import { printError, printHelp, printJson, printPlan, shortPath } from '../print.js';
import { showProgress } from '../status-line.js';
import type { Terminal } from '../terminal.js';
import { option, required, toggle, usageError, type Verb, type VerbCall } from '../verb.js';
import { createVisibleOutput, toVisible } from '../visible-output.js';

// One session, so that a call can read results that an earlier call stored.
const PERSON: Caller = { kind: 'person', door: 'cli', session: 'cli' };

export const call: Verb = {
  usage: 'call <tool> [parameters] [flags]',
  summary: 'Call a tool. Its parameters are flags; wield call <tool> --help shows them.',
  examples: [
    'wield call hello --name Ada',
    `wield call hello --input '{"name":"Ada"}'`,
    `echo '{"name":"Ada"}' | wield call hello`,
    'wield call hello --name Ada --dry-run',
  ],
  flags: {
    input: option('JSON|@FILE|-', 'The whole input: JSON, a file, or - for stdin'),
    'dry-run': toggle('Show what would run without running it'),
    timeout: option('30s', 'Stop the tool after this time'),
    sandbox: option('PROFILE', 'Run the tool without its sandbox; the only value is none', { choices: ['none'] }),
    trust: toggle('Trust this workspace for this call only'),
    yes: toggle('Approve without asking'),
    full: toggle('With --json: print a large output instead of a handle, up to limits.output'),
  },
  positionals: 1,
  completes: 'tools',
  readsRest: true,
  async run(verbCall) {
    const { positionals, rest, flags, toolbox: open } = verbCall;
    const named = required(positionals[0], 'tool name; usage: wield call <tool>', 'wield list shows the tools');
    const ref = anchorRef(named, verbCall.cwd);
    // Listing a module's tools needs trust, so the flag must count before the tool is found.
    const toolbox = open(flags.has('trust') || rest.includes('--trust') ? { trust: true } : {});
    const tool = await toolbox.find(ref).catch(() => undefined);
    if (tool === undefined) return callInVain(verbCall, ref);
    // Trust counts before the parameters of a tool are known, so it must not be given by mistake.
    const isMeant = flags.has('trust') || !rest.includes('--trust');
    if (!isMeant && toParameters(tool.input.json).some(({ flag }) => flag === 'trust'))
      throw usageError(
        `--trust is a flag of wield and a parameter of ${tool.name}`,
        `write --param-trust for the parameter, or: wield call --trust ${named} …`,
      );
    return callTool(verbCall, { tool, ref, rest, command: `wield call ${named}` });
  },
};

// The call fails with the reason, in the usual shape, and is recorded. Without the tool, only the whole input is known.
async function callInVain(verbCall: VerbCall, ref: string): Promise<number> {
  const { terminal, flags, rest, toolbox: open, signal } = verbCall;
  const toolbox = open();
  const { parsed } = splitArguments(rest, kindOfOwnFlag);
  const typed = parsed.find((one) => one.kind === 'flag' && one.name === 'input');
  const source = typed?.kind === 'flag' ? typed.value : flags.get('input');
  const isRead = typeof source === 'string' && source !== '-';
  // It may be a parameter of the tool, with any text.
  const input = isRead
    ? await readInput(source, terminal, signal)
        .then((text) => parseJson(text, '--input'))
        .catch(() => ({}))
    : {};
  const print = flags.has('json') || rest.includes('--json') ? callForJson : callForPerson;
  return print({ terminal, toolbox, ref, input, options: toCallOptions(verbCall, toolbox, flags) });
}

/** Whether a tool is a module that was not loaded, so that its parameters and other tools are not known. */
export function isUnloaded({ action }: Tool): boolean {
  return action.kind === 'module' && action.export === null;
}

/**
 * Calls a tool with the rest of a command line and returns the exit status. `command` is what was typed before that, `between`
 * the flags between its words, and `ref` the reference of the tool, by default its name.
 */
export async function callTool(
  verbCall: VerbCall,
  {
    tool,
    ref = tool.name,
    command,
    rest,
    between = new Map(),
  }: { tool: Tool; ref?: string; command: string; rest: readonly string[]; between?: VerbCall['flags'] },
): Promise<number> {
  const { terminal, flags: before, reserved, toolbox: open } = verbCall;
  const toolbox = open();
  // Its arguments may be the words of another tool of the module.
  if (isUnloaded(tool) && !rest.includes('--help')) return callInVain(verbCall, ref);
  const parsed = parseToolArguments(tool, rest, {
    ownKind: kindOfOwnFlag,
    command: commandOf(tool, reserved),
  });
  const flags = new Map([...before, ...between, ...parsed.flags()]);
  verbCall.settleFlags(flags);
  const json = flags.has('json');
  // Before the input is parsed: `--help` works even if other arguments are wrong.
  if (flags.has('help')) {
    printHelp(terminal, formatToolHelp(tool, command, { from: describeOrigin(tool, toolbox) }), json);
    return 0;
  }
  if (flags.has('cwd') && !before.has('cwd')) {
    throw new ToolError('usage', '--cwd must come before the tool', {
      hint: command.replace('wield', `wield --cwd ${flags.get('cwd')}`),
    });
  }
  const { input, ...fault } = await readToolInput(verbCall, tool, parsed, flags.get('input'));
  // BGR-7: the session of a person ends with the command, so that it shows the output and waits for the end.
  const background = 'call' as const;
  const options = { ...toCallOptions(verbCall, toolbox, flags), ...fault, found: tool, background };
  if (flags.has('dry-run')) {
    printPlan(terminal, await toolbox.plan(ref, input, options), json);
    return 0;
  }
  return (json ? callForJson : callForPerson)({ terminal, toolbox, ref, input, options });
}

function describeOrigin({ origin }: Tool, toolbox: NodeToolbox): string {
  const { uri, format } = origin;
  const file = fromFileUri(uri);
  return file === undefined ? (uri ?? format) : shortPath(file, toolbox);
}

/** Returns the options of a call by a person at this terminal. */
export function toCallOptions(
  { signal, terminal }: VerbCall,
  { machine: { insideCall } }: NodeToolbox,
  flags: ReadonlyMap<string, string | true>,
): DoorOptions {
  const timeout = flags.get('timeout');
  if (flags.has('trust')) assertPerson(insideCall, 'trusting');
  const sandbox = readSandbox(flags.get('sandbox'));
  if (sandbox !== undefined) assertPerson(insideCall, 'running without a sandbox');
  return {
    // Approvals of a person do not apply to a tool that starts wield.
    caller: insideCall ? { ...PERSON, name: 'tool' } : PERSON,
    signal,
    approve: createApprove(terminal, flags.has('yes'), insideCall),
    timeoutMs: timeout === undefined ? undefined : parseTimeout(String(timeout)),
    trust: flags.has('trust') || undefined,
    sandbox,
    elicit: createElicit(terminal, insideCall),
    full: flags.has('full') || undefined,
  };
}

// After the name of a tool, the choices of a flag are not checked. Any other value must not lift the sandbox.
function readSandbox(value: string | true | undefined): 'none' | undefined {
  if (value === undefined || value === 'none') return value;
  throw new ToolError('usage', `unknown value of --sandbox: "${quoteOutside(String(value), 40)}"`, {
    hint: 'use --sandbox none; profiles are set by the tool and by the configuration',
  });
}

// An invalid input is passed on as a fault: the call fails with it and is recorded (OBS-1).
async function readToolInput(
  { terminal, signal }: VerbCall,
  tool: Tool,
  parsed: ToolArguments,
  inputFlag: string | true | undefined,
): Promise<{ input: unknown; fault?: ToolError }> {
  try {
    const { input, given } = parsed.toInput();
    const fromFlags = given ? toWholeInput(tool, input) : undefined;
    if (inputFlag === undefined) return { input: fromFlags ?? (await readPipedInput(tool, terminal, signal)) };
    if (fromFlags !== undefined) throw inputTwice();
    return { input: parseJson(await readInput(String(inputFlag), terminal, signal), inputName(String(inputFlag))) };
  } catch (error) {
    if (isToolError(error) && error.code === 'invalid_input') return { input: undefined, fault: error };
    throw error;
  }
}

// CLI-35: `--input` of a tool with a parameter of that name is the whole input if it has what is missing otherwise.
function toWholeInput(tool: Tool, input: JsonObject): JsonObject {
  const { input: value, ...others } = input;
  if (Object.keys(others).length > 0 || !isRecord(value)) return input;
  const parameters = toParameters(tool.input.json);
  const isWhole =
    parameters.some(({ name, required }) => required && name !== 'input') &&
    parameters.every(({ name, required }) => !required || Object.hasOwn(value, name)) &&
    Object.keys(value).every((key) => parameters.some(({ name }) => name === key));
  return isWhole ? (value as JsonObject) : input;
}

// CLI-8: without any argument, the input is JSON on stdin if the tool has a required parameter. Otherwise stdin belongs
// to someone else, such as the loop that this command runs in.
async function readPipedInput(tool: Tool, terminal: Terminal, signal: AbortSignal): Promise<unknown> {
  const none: JsonObject = {};
  if (terminal.inIsTerminal || !toParameters(tool.input.json).some(({ required }) => required)) return none;
  const text = await readStdin(terminal, signal);
  return text.trim() === '' ? none : parseJson(text, 'standard input');
}

interface PreparedCall {
  readonly terminal: Terminal;
  readonly toolbox: Pick<Toolbox, 'call'>;
  readonly ref: string;
  readonly input: unknown;
  readonly options: DoorOptions;
}

export async function callForJson({ terminal, toolbox, ref, input, options }: PreparedCall): Promise<number> {
  const result = await toolbox.call(ref, input, options);
  printJson(terminal, { ...result });
  return statusOf(result);
}

// Output is forwarded while the tool runs, so that it can be piped (RUN-10).
export async function callForPerson({ terminal, toolbox, ref, input, options }: PreparedCall): Promise<number> {
  const stop = new AbortController();
  let streamed = false;
  let unwritten: unknown;
  options.signal?.addEventListener('abort', () => stop.abort(), { once: true });
  const { stdout, stderr } = terminal.io;
  const visible = {
    stdout: stdout.isTerminal ? createVisibleOutput() : undefined,
    stderr: stderr.isTerminal ? createVisibleOutput() : undefined,
  };
  const result = await toolbox.call(ref, input, {
    ...options,
    signal: stop.signal,
    onOutput: async (chunk, from) => {
      streamed = true;
      terminal.showTransient('');
      const shown = visible[from] === undefined ? chunk : Buffer.from(visible[from].pass(chunk));
      if (from === 'stderr') return stderr.writeAsync(shown).catch(() => {});
      return terminal.outAsync(shown).catch((error) => {
        unwritten ??= error;
        stop.abort();
      });
    },
    onProgress: terminal.errIsTerminal ? (progress) => showProgress(terminal, progress) : undefined,
  });
  if (unwritten !== undefined && options.signal?.aborted !== true) throw unwritten;
  if (!streamed) terminal.out(visible.stdout ? toVisible(contentText(result)) : contentText(result));
  terminal.out(visible.stdout?.end() ?? '');
  terminal.err(visible.stderr?.end() ?? '');
  const { sandboxLeft = [], sandboxRefused = [] } = result.meta;
  if (sandboxLeft.length > 0 && streamed) terminal.err(`${describeLeft(sandboxLeft)}\n`);
  // The error of a call that failed says it.
  if (sandboxRefused.length > 0 && result.ok) terminal.err(`${describeRefused(sandboxRefused)}\n`);
  if (result.error) printError(terminal, result.error);
  return statusOf(result);
}

function statusOf(result: ToolResult): number {
  return result.error === undefined ? 0 : exitStatus(result.error.code);
}
