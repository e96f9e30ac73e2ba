// `wield call`: calls a tool with flags, JSON or standard input, and streams what it says.

import { fileURLToPath } from 'node:url';
import {
  type FlagKind,
  formatToolHelp,
  OWN_FLAGS,
  readCommandInput,
  readOwnFlags,
} from '../../commands/index.js';
import { inputTwice, parseTimeout } from '../../commands/input.js';
import { contentText } from '../../commands/output.js';
import { assertPerson } from '../../core/caller.js';
import { exitStatus, isToolError, ToolError } from '../../core/error.js';
import { isRecord, type JsonObject, parseJson } from '../../core/json.js';
import { describePlan, type Plan, type ProcessPlan } from '../../core/plan.js';
import type { ToolResult } from '../../core/result.js';
import { sanitize, shortenPath } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { Caller, CallOptions, Toolbox } from '../../core/toolbox.js';
import { anchorRef } from '../../files/anchor.js';
import type { NodeToolbox } from '../../node.js';
import { createApprove, createElicit } from '../approve.js';
import { commandOf } from '../commands.js';
import { readInput, readStdin } from '../input.js';
import { printError, printHelp, printJson } from '../print.js';
import type { Terminal } from '../terminal.js';
import { kindOfFlag, type Verb, type VerbCall } from '../verb.js';

// The store is of one user and workdir, so that one call can read what another left.
const PERSON: Caller = { kind: 'person', door: 'cli', session: 'cli' };

export const call: Verb = {
  name: 'call',
  usage: 'call <tool> [parameters] [flags]',
  summary: 'Call a tool. Its parameters are flags; wield call <tool> --help shows them.',
  examples: [
    'wield call hello --name Ada',
    `wield call hello --input '{"name":"Ada"}'`,
    `echo '{"name":"Ada"}' | wield call hello`,
    'wield call hello --name Ada --dry-run',
  ],
  flags: {
    input: {
      kind: 'value',
      value: 'JSON|@FILE|-',
      description: 'The whole input: JSON, a file, or - for standard input',
    },
    'dry-run': { kind: 'switch', description: 'Show what would run, and run nothing' },
    timeout: { kind: 'value', value: '30s', description: 'Stop the tool after this long' },
    trust: { kind: 'switch', description: 'Trust this workspace for this call alone' },
    yes: { kind: 'switch', description: 'Consent to what would be asked' },
    full: { kind: 'switch', description: 'With --json: the whole output, however long' },
  },
  positionals: 1,
  completes: 'tools',
  readsRest: true,
  async run(verbCall) {
    const { positionals, rest, flags, toolbox: open } = verbCall;
    const [named] = positionals;
    if (named === undefined)
      throw new ToolError('usage', 'no tool named', { hint: 'wield call <tool>; wield list shows them' });
    const ref = anchorRef(named, verbCall.cwd);
    // A module's tools are known only where it may be loaded, so consent counts before the tool is looked for.
    const toolbox = open(flags.has('trust') || rest.includes('--trust') ? { trust: true } : {});
    const tool = await toolbox.find(ref).catch(() => undefined);
    if (tool !== undefined) return callTool(verbCall, tool, rest, `wield call ${named}`, ref);
    // The call itself says why, in its own shape and to whoever watches calls.
    const asJson = flags.has('json') || rest.includes('--json');
    const answer = asJson ? callForJson : callForPerson;
    return answer(verbCall, toolbox, ref, {}, toCallOptions(verbCall, toolbox, flags));
  },
};

/** Calls a tool with the rest of a command line; `command` is what was typed before it, `ref` how it is found. */
export async function callTool(
  verbCall: VerbCall,
  tool: Tool,
  rest: readonly string[],
  command: string,
  ref = tool.name,
): Promise<number> {
  const { terminal, flags: before, toolbox: open } = verbCall;
  const toolbox = open();
  // Own flags are read first: `--help` helps also where the rest is wrong.
  const flags = new Map([...before, ...readOwnFlags(tool, rest, kindOfOwnFlag)]);
  const json = flags.has('json');
  if (flags.has('help')) {
    printHelp(terminal, formatToolHelp(tool, command, { from: describeOrigin(tool, toolbox) }), json);
    return 0;
  }
  if (flags.has('cwd') && !before.has('cwd')) {
    throw new ToolError('usage', '--cwd must stand before the tool', {
      hint: command.replace('wield', `wield --cwd ${flags.get('cwd')}`),
    });
  }
  const { input, ...fault } = await readInputs(verbCall, tool, rest, flags.get('input'));
  const options = { ...toCallOptions(verbCall, toolbox, flags), ...fault };
  if (flags.has('dry-run')) return dryRun({ ...verbCall, json }, toolbox, ref, input, options);
  if (json) return callForJson(verbCall, toolbox, ref, input, options);
  return callForPerson(verbCall, toolbox, ref, input, options);
}

/** The kind of a flag that is wield's own on a tool. */
export function kindOfOwnFlag(name: string): FlagKind | undefined {
  return OWN_FLAGS.has(name) ? kindOfFlag(call, name) : undefined;
}

function describeOrigin(
  { origin }: Tool,
  { workspace: { workdir }, machine: { world } }: NodeToolbox,
): string {
  const { uri, format } = origin;
  if (uri === null) return format;
  return uri.startsWith('file://') ? shortenPath(fileURLToPath(uri), workdir, world.home) : uri;
}

function toCallOptions(
  { signal, terminal }: VerbCall,
  { machine: { insideCall } }: NodeToolbox,
  flags: ReadonlyMap<string, string | true>,
): CallOptions {
  const timeout = flags.get('timeout');
  const timeoutMs = timeout === undefined ? undefined : parseTimeout(String(timeout));
  if (flags.has('trust')) assertPerson(insideCall, 'trusting');
  const approve = createApprove({ terminal, yes: flags.has('yes'), insideCall });
  const elicit = createElicit({ terminal, insideCall });
  return {
    // Consent that a person gave to their own calls is not that of a tool which starts wield.
    caller: insideCall ? { ...PERSON, name: 'tool' } : PERSON,
    signal,
    ...(approve === undefined ? {} : { approve }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(flags.has('trust') ? { trust: true } : {}),
    ...(elicit === undefined ? {} : { elicit }),
    ...(flags.has('full') ? { full: true } : {}),
  };
}

// A wrong input is a call that failed, and is recorded as one (OBS-1).
async function readInputs(
  verbCall: VerbCall,
  tool: Tool,
  rest: readonly string[],
  inputFlag: string | true | undefined,
): Promise<{ input: unknown; fault?: ToolError }> {
  try {
    const { input, given } = readCommandInput(tool, rest, {
      ownKind: kindOfOwnFlag,
      command: commandOf(tool, verbCall.reserved),
    });
    return { input: await chooseInput(verbCall, tool, inputFlag, given ? input : undefined) };
  } catch (error) {
    if (isToolError(error) && error.code === 'invalid_input') return { input: undefined, fault: error };
    throw error;
  }
}

// CLI-8: flags, or --input, or JSON on standard input where there is no argument at all.
async function chooseInput(
  { terminal, signal }: VerbCall,
  tool: Tool,
  inputFlag: string | true | undefined,
  fromFlags: JsonObject | undefined,
): Promise<unknown> {
  if (inputFlag !== undefined) {
    if (fromFlags !== undefined) throw inputTwice();
    return parseJson(await readInput(String(inputFlag), terminal, signal), '--input');
  }
  if (fromFlags !== undefined) return fromFlags;
  const { properties } = tool.input.json;
  if (terminal.inIsTerminal || !isRecord(properties) || Object.keys(properties).length === 0) return {};
  const text = await readStdin(terminal, signal);
  return text.trim() === '' ? {} : parseJson(text, 'standard input');
}

async function callForJson(
  { terminal }: VerbCall,
  toolbox: Toolbox,
  ref: string,
  input: unknown,
  options: CallOptions,
): Promise<number> {
  const result = await toolbox.call(ref, input, options);
  printJson(terminal, { ...result });
  return statusOf(result);
}

// Output goes through as it is written, so that it can be piped (RUN-10); standard error stays standard error.
async function callForPerson(
  { terminal }: VerbCall,
  toolbox: Toolbox,
  ref: string,
  input: unknown,
  options: CallOptions,
): Promise<number> {
  const closed = new AbortController();
  let streamed = false;
  options.signal?.addEventListener('abort', () => closed.abort(), { once: true });
  const status = createStatusLine(terminal);
  const result = await toolbox.call(ref, input, {
    ...options,
    signal: closed.signal,
    onOutput: async (chunk, from) => {
      streamed = true;
      status.clear();
      await terminal.io[from].writeAsync(chunk).catch(() => from === 'stdout' && closed.abort());
    },
    ...(terminal.errIsTerminal ? { onProgress: (progress) => status.show(progress) } : {}),
  });
  status.clear();
  if (closed.signal.aborted && options.signal?.aborted !== true) return 0;
  if (!streamed) terminal.out(contentText(result));
  if (result.error) printError(terminal, result.error);
  return statusOf(result);
}

function createStatusLine(terminal: Terminal) {
  let shown = false;
  return {
    show({ done, total, message }: { done?: number; total?: number; message?: string }): void {
      const steps = done === undefined ? '' : `${done}${total === undefined ? '' : `/${total}`} `;
      terminal.err(
        `\r\u001b[K${terminal.paint('dim', `${steps}${message ?? ''}`.slice(0, terminal.columns - 1), 'err')}`,
      );
      shown = true;
    },
    clear(): void {
      if (shown) terminal.err('\r\u001b[K');
      shown = false;
    },
  };
}

async function dryRun(
  { terminal, json }: VerbCall,
  toolbox: Toolbox,
  ref: string,
  input: unknown,
  options: CallOptions,
): Promise<number> {
  const { plan, verdict } = await toolbox.plan(ref, input, options);
  if (json) {
    printJson(terminal, { ok: true, plan: describePlan(plan), verdict });
    return 0;
  }
  const rows = planRows(plan);
  const { source } = verdict;
  const where = source === undefined ? '' : `  (${source.file}:${source.line})`;
  const policy = `${verdict.verdict.padEnd(8)} ${verdict.reason}${where}`;
  for (const [name, value] of [...rows, ['policy', policy]])
    terminal.out(`  ${name!.padEnd(11)} ${sanitize(value!)}\n`);
  return 0;
}

function planRows(plan: Plan): string[][] {
  switch (plan.kind) {
    case 'process':
      return processRows(plan);
    case 'text':
      return [['would read', plan.file]];
    case 'delegate':
      return [['would call', `${plan.ref}, which is judged again`]];
    case 'remote':
      return [
        ['would call', `${plan.remoteTool} of the server ${plan.server}`],
        ['at', plan.target],
        ['input', JSON.stringify(plan.input)],
      ];
    case 'function':
      return [['would run', `${plan.tool.name}, code of this process`]];
    case 'module':
      return [
        ['would run', `${plan.export} of ${plan.source.file}, in the tool host`],
        ['in', plan.cwd],
        ['with', Object.keys(plan.environment).sort().join(' ')],
        ['input', JSON.stringify(plan.input)],
      ];
  }
}

function processRows(plan: ProcessPlan): string[][] {
  return [
    ['would run', [...plan.launcher, plan.binary, ...plan.argv.slice(1)].join(' ')],
    ...(plan.interpreter === undefined ? [] : [['through', plan.interpreter]]),
    ['in', plan.cwd],
    ['with', Object.keys(plan.environment).sort().join(' ')],
    ...(plan.stdin === '' ? [] : [['input', plan.stdin]]),
    ...(plan.command?.resolvers ?? []).map(({ param, argv, skipped, onFailure }) => [
      'first',
      skipped === null
        ? `${argv.join(' ')}   to resolve ${param}; on failure ${onFailure}`
        : `${param} stays as it is: ${skipped}`,
    ]),
    ...(plan.command === undefined
      ? []
      : [['allowlist', `${plan.command.execution.binary} ${plan.command.subcommand}`.trim()]]),
  ];
}

function statusOf(result: ToolResult): number {
  return result.error === undefined ? 0 : exitStatus(result.error.code);
}
