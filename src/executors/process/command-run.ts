// Runs a declared command: its resolvers, itself, and what its declaration does to the output.

import type { OutputHint } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import type { RunContext } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { CommandPlan, ProcessPlan, ResolverStep, Slot } from '../../core/plan.js';
import { type Output, textOf, textPart } from '../../core/result.js';
import { cancelled } from '../../core/stopped.js';
import { quoteOutside } from '../../core/text.js';
import type { World } from '../../core/world.js';
import { assertAllowlisted } from '../../policy/commands.js';
import type { ProcessOutcome } from '../../process/request.js';
import { runProcess } from '../../process/spawn.js';
import { settleArguments } from './command-plan.js';
import { toError, toOutput } from './output.js';
import { runPlan } from './run-plan.js';
import { createTemporaryFiles } from './temporary.js';

// TJS-20: a resolver answers quickly or not at all.
const RESOLVER_TIMEOUT_MS = 10_000;

export async function runCommand(plan: ProcessPlan, context: RunContext, world: World): Promise<Output> {
  const command = plan.command!;
  const { slots, notes } = await resolveSlots(plan, command, context, world);
  const temporary = createTemporaryFiles();
  try {
    const settled = settleArguments({
      command,
      slots,
      workdir: context.workdir,
      temporaryFile: temporary.write,
    });
    // TJS-15: the check stands here, where it starts, and not only where it was planned.
    assertAllowlisted(command.allowlist, command.execution.binary, command.subcommand);
    const final = { ...plan, argv: settled.argv, stdin: settled.stdin, cwd: settled.directory ?? plan.cwd };
    // Output that is still to be changed can neither be passed on nor put away as it comes.
    const outcome = await runPlan(final, changesOutput(command) ? withoutStream(context) : context, world);
    const output = toOutput(final, outcome);
    const shaped =
      toError(final, outcome) === undefined
        ? await shape(final, command, output, outcome, context, world, notes)
        : output;
    return notes.length === 0 ? shaped : { ...shaped, meta: { ...shaped.meta, resolvers: notes } };
  } finally {
    temporary.remove();
  }
}

/** What became of a resolver, where it did not simply answer. */
interface ResolverNote {
  readonly param: string;
  readonly outcome: 'kept';
  readonly reason: string;
}

// TJS-18: a resolver that does not answer leaves the value as it was, and the record says so.
async function resolveSlots(plan: ProcessPlan, command: CommandPlan, context: RunContext, world: World) {
  const slots: Slot[] = [...command.slots];
  const notes: ResolverNote[] = [];
  for (const step of command.resolvers) {
    const { text, reason } = await runStep(step, plan, command, '', context, world);
    if (text !== undefined) slots[step.slot] = { ...slots[step.slot]!, value: text };
    else if (step.onFailure === 'reject') {
      throw new ToolError('invalid_input', `${step.param} was refused: ${reason}`, {
        hint: 'change the value; the tool checks it before it runs',
        data: { param: step.param },
      });
    } else notes.push({ param: step.param, outcome: 'kept', reason: reason! });
  }
  return { slots, notes };
}

async function runStep(
  step: ResolverStep,
  plan: ProcessPlan,
  command: CommandPlan,
  stdin: string,
  context: RunContext,
  world: World,
): Promise<{ readonly text?: string; readonly reason?: string }> {
  if (step.skipped !== null) return { reason: step.skipped };
  if (step.pair !== null) assertAllowlisted(command.allowlist, step.pair.binary, step.pair.subcommand);
  if (step.argv.some((text) => text.includes('\0'))) return { reason: 'a NUL character in an argument' };
  let outcome: ProcessOutcome;
  try {
    outcome = await runProcess(
      {
        argv: [...plan.launcher, ...step.argv],
        cwd: plan.cwd,
        environment: plan.environment,
        stdin,
        timeoutMs: Math.min(RESOLVER_TIMEOUT_MS, plan.timeoutMs),
        outputBytes: plan.limits.outputBytes,
        signal: context.signal,
      },
      world,
    );
  } catch (error) {
    return { reason: (error as Error).message };
  }
  if (outcome.ending === 'cancelled') throw cancelled(plan.tool.name);
  const said = outcome.stderr.toString('utf8').trim() || outcome.stdout.toString('utf8').trim();
  if (outcome.ending !== 'exit') return { reason: `its resolver did not end (${outcome.ending})` };
  if (outcome.exitCode !== 0)
    return { reason: `its resolver failed${said === '' ? '' : `: ${quoteOutside(said, 200)}`}` };
  const text = outcome.stdout.toString('utf8').trim();
  return text === '' && !step.emptyIsResult ? { reason: 'its resolver gave nothing' } : { text };
}

function changesOutput({ execution, postProcess }: CommandPlan): boolean {
  return postProcess !== null || execution.maxOutputLines !== undefined || execution.hints.length > 0;
}

function withoutStream({ stream: _, spill: __, ...context }: RunContext): RunContext {
  return context;
}

// In this order: what the output becomes, what is said about it, how much of it is shown.
async function shape(
  plan: ProcessPlan,
  command: CommandPlan,
  output: Output,
  outcome: ProcessOutcome,
  context: RunContext,
  world: World,
  notes: ResolverNote[],
): Promise<Output> {
  if (!changesOutput(command)) return output;
  const input: JsonObject = isRecord(plan.input) ? (plan.input as JsonObject) : {};
  let text = textOf(output);
  let changed = false;
  if (command.postProcess !== null) {
    const processed = await runStep(command.postProcess, plan, command, text, context, world);
    if (processed.text !== undefined) {
      text = processed.text;
      changed = true;
    } else notes.push({ param: 'output', outcome: 'kept', reason: processed.reason! });
  }
  const hints = command.execution.hints.filter((hint) =>
    applies(hint, text, outcome.exitCode, command, input),
  );
  const limited = limitLines(text, command);
  if (limited !== text) changed = true;
  const lines = hints.map(({ hint }) => `hint: ${fillHint(hint, command, input)}`);
  const content = [textPart([limited, ...lines].join(lines.length > 0 ? '\n' : ''))];
  // What was changed is text of ours; the bytes of the process are no longer behind it.
  const { structured: _, streams: __, ...rest } = output;
  return changed ? { ...rest, content } : { ...rest, content, ...structuredOf(output) };
}

function structuredOf({ structured }: Output): Pick<Output, 'structured'> {
  return structured === undefined ? {} : { structured };
}

function effectiveValue(name: string, command: CommandPlan, input: JsonObject): Json | undefined {
  return command.slots.find((slot) => slot.mapping.param === name)?.value ?? input[name];
}

function applies(
  hint: OutputHint,
  text: string,
  exitCode: number | null,
  command: CommandPlan,
  input: JsonObject,
): boolean {
  if (hint.match !== undefined && !text.includes(hint.match)) return false;
  if (hint.exitCode === 'nonzero' && exitCode === 0) return false;
  if (typeof hint.exitCode === 'number' && exitCode !== hint.exitCode) return false;
  if (hint.notEmpty && text.trim() === '') return false;
  return Object.entries(hint.whenArg).every(
    ([name, value]) => effectiveValue(name, command, input) === value,
  );
}

function fillHint(hint: string, command: CommandPlan, input: JsonObject): string {
  return hint.replace(/\{([A-Za-z_][\w-]*)\}/g, (match, name: string) => {
    const value = effectiveValue(name, command, input);
    return value === undefined || value === null
      ? match
      : typeof value === 'string'
        ? value
        : JSON.stringify(value);
  });
}

function limitLines(text: string, { execution }: CommandPlan): string {
  const { maxOutputLines, truncationHint } = execution;
  const lines = text.replace(/\n$/, '').split('\n');
  if (maxOutputLines === undefined || lines.length <= maxOutputLines) return text;
  const kept = lines.slice(0, maxOutputLines);
  const numbered = /^\s*(\d+)\t/.exec(kept[kept.length - 1] ?? '');
  const facts: Readonly<Record<string, number>> = {
    kept: kept.length,
    total: lines.length,
    omitted: lines.length - kept.length,
    next_start: (numbered ? Number(numbered[1]) : kept.length) + 1,
  };
  const notice =
    truncationHint ?? 'truncated: {kept} of {total} lines shown, {omitted} left out; ask for less at a time';
  return `${kept.join('\n')}\n[${notice.replace(/\{(\w+)\}/g, (match, name: string) => String(facts[name] ?? match))}]\n`;
}
