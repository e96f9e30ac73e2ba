// `wield call`: calls a tool with flags, JSON or standard input, and streams what it says.

import { addAbortSignal } from 'node:stream';
import {
  type FlagKind,
  formatToolHelp,
  OWN_FLAGS,
  readCommandInput,
  readOwnFlags,
} from '../../consumers/commands/index.js';
import { exitStatus, ToolError } from '../../core/error.js';
import { INPUT_BOUNDS, isRecord, type JsonObject, parseJson } from '../../core/json.js';
import { describePlan, type ProcessPlan } from '../../core/plan.js';
import type { Part, ToolResult } from '../../core/result.js';
import { formatBytes, parseDuration, sanitize } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { Caller, CallOptions, Toolbox } from '../../core/toolbox.js';
import { readHead } from '../../files/read.js';
import { printError, printHelp, printJson } from '../print.js';
import { type Terminal, writeAsync } from '../terminal.js';
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
  readsRest: true,
  async run(verbCall) {
    const { terminal, positionals, rest, flags: before, toolbox: open } = verbCall;
    const [ref] = positionals;
    if (ref === undefined)
      throw new ToolError('usage', 'no tool named', { hint: 'wield call <tool>; wield list shows them' });
    const toolbox = open();
    const tool = await toolbox.find(ref).catch(() => undefined);
    if (tool === undefined) {
      // The call itself says why, in its own shape and to whoever watches calls.
      const asJson = before.has('json') || rest.includes('--json');
      const answer = asJson ? callForJson : callForPerson;
      return answer(verbCall, toolbox, ref, {}, toCallOptions(verbCall, before));
    }
    // Own flags are read first: `--help` helps also where the rest is wrong.
    const ownKind = (name: string): FlagKind | undefined =>
      OWN_FLAGS.has(name) ? kindOfFlag(call, name) : undefined;
    const flags = new Map([...before, ...readOwnFlags(tool, rest, ownKind)]);
    const json = flags.has('json');
    if (flags.has('help')) {
      printHelp(terminal, formatToolHelp(tool, `wield call ${tool.name}`), json);
      return 0;
    }
    const { input: fromFlags, given } = readCommandInput(tool, rest, ownKind);
    if (flags.has('cwd') && !before.has('cwd')) {
      throw new ToolError('usage', '--cwd must stand before the tool', {
        hint: `wield call --cwd ${flags.get('cwd')} ${ref}`,
      });
    }
    const input = await chooseInput(verbCall, tool, flags.get('input'), given ? fromFlags : undefined);
    const options = toCallOptions(verbCall, flags);
    if (flags.has('dry-run')) return dryRun({ ...verbCall, json }, toolbox, ref, input, options);
    if (json) return callForJson(verbCall, toolbox, ref, input, options);
    return callForPerson(verbCall, toolbox, ref, input, options);
  },
};

function toCallOptions({ signal }: VerbCall, flags: ReadonlyMap<string, string | true>): CallOptions {
  const timeout = flags.get('timeout');
  const timeoutMs = timeout === undefined ? undefined : parseDuration(String(timeout));
  if (timeout !== undefined && timeoutMs === undefined) {
    throw new ToolError('usage', `--timeout "${sanitize(String(timeout))}" is not a duration`, {
      hint: 'write 500ms, 30s, 5m or 1h',
    });
  }
  return {
    caller: PERSON,
    signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(flags.has('trust') ? { trust: true } : {}),
    ...(flags.has('full') ? { full: true } : {}),
  };
}

// CLI-8: flags, or --input, or JSON on standard input where there is no argument at all.
async function chooseInput(
  { terminal, signal }: VerbCall,
  tool: Tool,
  inputFlag: string | true | undefined,
  fromFlags: JsonObject | undefined,
): Promise<unknown> {
  if (inputFlag !== undefined) {
    if (fromFlags !== undefined) {
      throw new ToolError('usage', '--input and parameters as flags exclude each other', {
        hint: 'put everything into --input, or nothing',
      });
    }
    return parseJson(await readInput(String(inputFlag), terminal, signal), '--input');
  }
  if (fromFlags !== undefined) return fromFlags;
  const { properties } = tool.input.json;
  if (terminal.inIsTerminal || !isRecord(properties) || Object.keys(properties).length === 0) return {};
  const text = await readStdin(terminal, signal);
  return text.trim() === '' ? {} : parseJson(text, 'standard input');
}

async function readInput(source: string, terminal: Terminal, signal: AbortSignal): Promise<string> {
  if (source === '-') {
    const text = await readStdin(terminal, signal);
    return text.trim() === '' ? '{}' : text;
  }
  if (!source.startsWith('@')) return source;
  const path = source.slice(1);
  const reading = readHead(path, INPUT_BOUNDS.maxBytes);
  if ('fault' in reading) {
    throw new ToolError('io', `cannot read ${path}: ${reading.message}`, { hint: 'check the path after @' });
  }
  if (!reading.complete) throw inputTooLarge(path);
  return reading.bytes.toString('utf8');
}

async function readStdin(terminal: Terminal, signal: AbortSignal): Promise<string> {
  const notice = setTimeout(() => {
    terminal.err(`reading JSON from standard input; Ctrl-D ends it, --input '{}' skips it\n`);
  }, 2000);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of addAbortSignal(signal, process.stdin) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > INPUT_BOUNDS.maxBytes) throw inputTooLarge('standard input');
      chunks.push(chunk);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new ToolError('cancelled', 'interrupted while reading standard input', {
      hint: `--input '{}' reads none`,
    });
  } finally {
    clearTimeout(notice);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function inputTooLarge(what: string): ToolError {
  return new ToolError('too_large', `${what} is larger than ${formatBytes(INPUT_BOUNDS.maxBytes)}`, {
    hint: 'let the tool read the file itself, and pass it the path',
  });
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
      // To ask for the stream makes a pipe non-blocking: a write that blocks would hold the exit of this process.
      const { fd } = from === 'stdout' ? process.stdout : process.stderr;
      await writeAsync(fd, chunk).catch(() => from === 'stdout' && closed.abort());
    },
    ...(terminal.errIsTerminal ? { onProgress: (progress) => status.show(progress) } : {}),
  });
  status.clear();
  if (closed.signal.aborted && options.signal?.aborted !== true) return 0;
  if (!streamed) terminal.out(result.content.map(partText).join(''));
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

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text === '' || part.text.endsWith('\n') ? part.text : `${part.text}\n`;
    case 'image':
    case 'audio':
      return `[${part.type} ${part.mimeType}, ${formatBytes(Math.floor(part.data.length * 0.75))}]\n`;
    case 'resource_link':
      return `[${part.name}: ${part.uri}]\n`;
    case 'resource':
      return part.resource.text ?? `[${part.resource.uri}]\n`;
  }
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
  const rows =
    plan.kind === 'process' ? processRows(plan) : [['would run', `${plan.tool.name}, code of this process`]];
  const policy = `${verdict.verdict.padEnd(8)} ${verdict.reason}`;
  for (const [name, value] of [...rows, ['policy', policy]])
    terminal.out(`  ${name!.padEnd(11)} ${sanitize(value!)}\n`);
  return 0;
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
