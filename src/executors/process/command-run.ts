// Runs a declared command: its resolvers, the command, and the changes to its output.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemReason, ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { CommandPlan, ResolverStep, Slot } from '../../core/plan.js';
import { type Output, textOf, textPart } from '../../core/result.js';
import { quoteOutside } from '../../core/text.js';
import { cancelled } from '../../core/time-limit.js';
import { removeTree } from '../../files/remove.js';
import { openEgress, planEgress } from '../../net/egress/plan.js';
import { assertAllowlisted } from '../../policy/commands.js';
import type { ProcessOutcome } from '../../process/request.js';
import { exposeIn, prepareSandbox } from '../../process/sandbox/prepare.js';
import { isVisible as isVisibleIn } from '../../process/sandbox/rules.js';
import { runProcess } from '../../process/spawn.js';
import { containSlots, toArguments } from './arguments.js';
import { appendSideRead, applies, fillHint, limitLines, type SeenFiles } from './command-output.js';
import { settleArguments } from './command-plan.js';
import { assertNotDenied, assertText, denyUnknown, needsDenyCommand } from './deny.js';
import type { SkillScripts } from './integrity.js';
import { pinSkillScript } from './pinned.js';
import { launcherOf, type RunPlanOptions, runPlan, toError, toOutput, withSandboxReport } from './run.js';

// TJS-20
const RESOLVER_TIMEOUT_MS = 10_000;

export interface RunCommandOptions extends RunPlanOptions {
  /** Scripts of the skill that resolvers run. */
  readonly scripts: SkillScripts;
  /** Files that were appended to output. */
  readonly seen: SeenFiles;
}

interface CommandRun extends RunCommandOptions {
  readonly command: CommandPlan;
  /** Resolvers that failed, for the metadata of the result. */
  readonly notes: { readonly param: string; readonly outcome: 'kept'; readonly reason: string }[];
}

export async function runCommand(options: RunCommandOptions): Promise<Output> {
  const { plan, scope, world } = options;
  const command = plan.command!;
  const run: CommandRun = { ...options, command, notes: [] };
  const { workdir } = scope.snapshot;
  if (plan.sandbox !== undefined) prepareSandbox(plan.sandbox);
  const resolved = await resolveSlots(run);
  // Before paths become absolute (TJS-19).
  toArguments(command.execution, resolved);
  const { slots, directory } = containSlots(resolved, {
    workdir,
    roots: command.roots,
    isFinal: () => true,
  });
  await assertAllowed(run, slots, directory);
  const temporary = createTemporaryFiles();
  try {
    const settled = settleArguments(command, slots, temporary.write);
    // TJS-15: checked again right before the start.
    assertAllowlisted(command.allowlist, command.execution.binary, command.subcommand);
    const { argv, stdin, variables } = settled;
    const environment = { ...plan.environment, ...variables };
    const sandbox = plan.sandbox && exposeIn(plan.sandbox, temporary.paths);
    const final = { ...plan, argv, stdin, environment, cwd: directory ?? plan.cwd, sandbox };
    // Output that is changed afterwards can be neither streamed nor spilled.
    const isKept = changesOutput(command) && scope.onBackground === undefined;
    const own = isKept ? { ...scope, stream: undefined, spill: undefined } : scope;
    const outcome = await runPlan({ ...options, plan: final, scope: own });
    const output = toOutput(final, outcome);
    const shaped =
      toError(final, outcome) === undefined ? await shape({ ...run, plan: final }, output, outcome, slots) : output;
    const noted = run.notes.length === 0 ? shaped : { ...shaped, meta: { ...shaped.meta, resolvers: run.notes } };
    return await withSandboxReport(noted, final, outcome, world);
  } finally {
    temporary.remove();
  }
}

// TJS-18: if a resolver fails, the original value is used and the result notes it.
async function resolveSlots(run: CommandRun): Promise<Slot[]> {
  const slots: Slot[] = [...run.command.slots];
  for (const step of run.command.resolvers) {
    const { text, reason } = await runStep(step, '', run);
    if (text !== undefined) slots[step.slot] = { ...slots[step.slot]!, value: text };
    else if (step.onFailure === 'reject') {
      throw new ToolError('invalid_input', `${step.param} was rejected: ${reason}`, {
        hint: 'change the value; the tool checks it before it runs',
        data: { param: step.param },
      });
    } else run.notes.push({ param: step.param, outcome: 'kept', reason: reason! });
  }
  return slots;
}

// TJS-26: right before the command, on the values that it gets. What cannot be checked does not run.
async function assertAllowed(run: CommandRun, slots: readonly Slot[], directory: string | undefined): Promise<void> {
  if (slots.every(({ mapping }) => mapping.deny === undefined)) return;
  const { plan, command } = run;
  assertNotDenied(plan.input, slots);
  const cwd = directory ?? plan.cwd;
  for (const step of command.denials) {
    const slot = slots[step.slot]!;
    if (!needsDenyCommand(slot)) continue;
    const argv = step.argv.map((text, index) => (step.directoryAt?.includes(index) ? cwd : text));
    const { text, reason } = await runStep({ ...step, argv }, '', { ...run, plan: { ...plan, cwd } });
    if (text === undefined) throw denyUnknown(step.param, reason!);
    assertText(slot.mapping.deny!.pattern, step.param, text);
  }
}

/** Runs a resolver. Returns its output, or why there is none. */
async function runStep(
  step: ResolverStep,
  stdin: string,
  { plan, command, scripts, scope, world, findRoute }: CommandRun,
): Promise<{ readonly text?: string; readonly reason?: string }> {
  if (step.skipped !== null) return { reason: step.skipped };
  if (step.pair !== null) assertAllowlisted(command.allowlist, step.pair.binary, step.pair.subcommand);
  if (step.argv.some((text) => text.includes('\0'))) return { reason: 'an argument contains NUL' };
  let outcome: ProcessOutcome;
  const pinned = step.pair === null ? pinSkillScript(plan.tool, step.argv, scripts, world) : undefined;
  try {
    outcome = await runProcess(
      {
        argv: [...launcherOf(plan, pinned), ...(pinned?.argv ?? step.argv)],
        descriptor: pinned?.descriptor,
        filter: plan.sandbox?.filter,
        egress: await openEgress(planEgress(plan.tool.name, plan.sandbox), findRoute),
        cwd: plan.cwd,
        environment: plan.environment,
        stdin,
        timeoutMs: Math.min(RESOLVER_TIMEOUT_MS, plan.timeoutMs),
        outputBytes: plan.limits.outputBytes,
        signal: scope.controller.signal,
      },
      world,
    );
  } catch (error) {
    return { reason: systemReason(error) };
  } finally {
    pinned?.close();
  }
  if (outcome.ending === 'cancelled') throw cancelled(plan.tool.name);
  const stdout = outcome.stdout.toString('utf8').trim();
  if (outcome.ending !== 'exit') return { reason: `its resolver did not end (${outcome.ending})` };
  if (outcome.exitCode !== 0) {
    const output = outcome.stderr.toString('utf8').trim() || stdout;
    return { reason: `its resolver failed${output === '' ? '' : `: ${quoteOutside(output, 200)}`}` };
  }
  return stdout === '' && !step.emptyIsResult ? { reason: 'its resolver returned nothing' } : { text: stdout };
}

function changesOutput({ execution, postProcess }: CommandPlan): boolean {
  return (
    postProcess !== null ||
    execution.maxOutputLines !== undefined ||
    execution.hints.length > 0 ||
    execution.sideRead !== undefined
  );
}

// Applies postProcess, hints, the line limit and sideRead, in this order.
async function shape(
  run: CommandRun,
  output: Output,
  outcome: ProcessOutcome,
  slots: readonly Slot[],
): Promise<Output> {
  const { plan, command, notes, scope, seen } = run;
  if (!changesOutput(command)) return output;
  const input: JsonObject = isRecord(plan.input) ? (plan.input as JsonObject) : {};
  let text = textOf(output);
  let changed = false;
  if (command.postProcess !== null) {
    const processed = await runStep(command.postProcess, text, run);
    if (processed.text !== undefined) {
      text = processed.text;
      changed = true;
    } else notes.push({ param: 'output', outcome: 'kept', reason: processed.reason! });
  }
  const hints = command.execution.hints.filter((hint) => applies(hint, text, outcome.exitCode, command, input));
  const limited = limitLines(text, command);
  if (limited !== text) changed = true;
  const lines = hints.map(({ hint }) => `hint: ${fillHint(hint, command, input)}`);
  const hinted = [limited, ...lines].join(lines.length > 0 ? '\n' : '');
  const { sideRead } = command.execution;
  // EXE-70: nothing is read for a process that it could not read itself.
  const isVisible = (path: string): boolean => plan.sandbox === undefined || isVisibleIn(plan.sandbox.rules, path);
  const session = scope.caller.session;
  const whole =
    sideRead === undefined
      ? hinted
      : appendSideRead(hinted, sideRead, { slots, base: plan.cwd, roots: command.roots, session, seen, isVisible });
  if (whole !== hinted) changed = true;
  const content = [textPart(whole)];
  // Changed text no longer matches the bytes of the process.
  const { structured: _, streams: __, ...rest } = output;
  return { ...rest, content, structured: changed ? undefined : output.structured };
}

function createTemporaryFiles() {
  let directory: string | undefined;
  const paths: string[] = [];
  return {
    /** The files written so far. */
    paths,
    /** Writes a value and returns the path of its file. */
    write(text: string): string {
      directory ??= mkdtempSync(resolve('/', tmpdir(), 'wield-'));
      const path = join(directory, String(paths.length + 1));
      writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
      paths.push(path);
      return path;
    },
    remove(): void {
      if (directory !== undefined) removeTree(directory);
    },
  };
}
