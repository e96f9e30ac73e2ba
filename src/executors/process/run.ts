// Runs the process of a plan, whose script is pinned, and says what its output means.

import { StringDecoder } from 'node:string_decoder';
import { ToolError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import type { Json } from '../../core/json.js';
import { parseOutput } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import type { World } from '../../core/snapshot.js';
import { toStoreError } from '../../core/store.js';
import { formatBytes, formatDuration } from '../../core/text.js';
import { cancelled } from '../../core/time-limit.js';
import type { ScriptAction } from '../../core/tool.js';
import { openEgress, planEgress } from '../../net/egress/plan.js';
import type { FindRoute } from '../../net/route.js';
import type { ProcessOutcome } from '../../process/request.js';
import { launcherWith } from '../../process/sandbox/egress.js';
import { prepareSandbox } from '../../process/sandbox/prepare.js';
import type { RefusedHost } from '../../process/sandbox/refusal.js';
import { reportSandbox } from '../../process/sandbox/report.js';
import { runProcess } from '../../process/spawn.js';
import { suggestVariables } from './missing-variables.js';
import { type Pinned, pinScript } from './pinned.js';
import { createProgressFilter, type ProgressFilter } from './progress-lines.js';

export async function runScript(options: RunScriptOptions): Promise<Output> {
  const { plan, action, world, beforeRun } = options;
  const pinned = await pinScript(plan, action, world);
  try {
    beforeRun?.();
    if (plan.sandbox !== undefined) prepareSandbox(plan.sandbox);
    const outcome = await runPlan(options, pinned);
    const output = await withSandboxReport(toOutput(plan, outcome), plan, outcome, world);
    return output.error?.code === 'tool_failed' ? withSuggestion(output, outcome, { plan, action, world }) : output;
  } finally {
    pinned.close();
  }
}

/** Adds what the sandbox of a process did to its output (EXE-10). */
export async function withSandboxReport(
  output: Output,
  plan: ProcessPlan,
  { stderr, stdout, hosts }: PlanOutcome,
  world: World,
): Promise<Output> {
  if (plan.sandbox === undefined) return output;
  const text = { stderr: stderr.toString('utf8'), stdout: stdout.toString('utf8') };
  return reportSandbox(output, plan, { ...text, hosts }, world);
}

// SCR-28: a script of another author may expect the whole environment.
function withSuggestion(
  output: Output,
  { stderr }: ProcessOutcome,
  { plan, action, world }: Pick<RunScriptOptions, 'plan' | 'action' | 'world'>,
): Output {
  const hint = suggestVariables(action, plan, stderr.toString('utf8'), world);
  const { code, message, data } = output.error!;
  return hint === undefined ? output : { ...output, error: new ToolError(code, message, { hint, data }) };
}

export interface RunPlanOptions {
  readonly plan: ProcessPlan;
  readonly scope: CallScope;
  readonly world: World;
  readonly findRoute: FindRoute | undefined;
}

export interface RunScriptOptions extends RunPlanOptions {
  readonly action: ScriptAction;
  /** Called before the process is started. */
  readonly beforeRun: (() => void) | undefined;
}

// SCR-23 requires 5 s; timers are often late.
const HEARTBEAT_MS = 4500;
// When the interpreter of a process in the background has read its script, if it wrote nothing before.
const READ_MS = 500;

/**
 * Runs the process of a plan to its end. Progress lines are removed from stderr. Throws `integrity` if a pinned script
 * was replaced; its process is then ended, and its output dropped.
 */
export async function runPlan(
  { plan, scope, world, findRoute }: RunPlanOptions,
  pinned?: Pinned,
): Promise<PlanOutcome> {
  const report: CallScope['progress'] = (progress) => {
    heartbeat?.refresh();
    scope.progress(progress);
  };
  let filter: ProgressFilter | undefined;
  const heartbeat = scope.options.onProgress
    ? setInterval(() => scope.progress({ message: `${plan.tool.name} is still running` }), HEARTBEAT_MS)
    : undefined;
  const { stream, spill } = scope;
  const watch = watchPinned(pinned, scope);
  let verifying: NodeJS.Timeout | undefined;
  const { onBackground } = scope;
  const onStarted = (pid: number): void => {
    // Later, its author may have changed it.
    verifying = setTimeout(watch.verify, READ_MS);
    onBackground?.(pid);
  };
  try {
    const egress = await openEgress(planEgress(plan.tool.name, plan.sandbox), findRoute);
    const ended = await runProcess(
      {
        argv: commandLine(plan, pinned),
        argv0: launcherOf(plan, pinned).length === 0 ? pinned?.argv0 : undefined,
        descriptor: pinned?.descriptor,
        filter: plan.sandbox?.filter,
        egress,
        cwd: plan.cwd,
        environment: plan.environment,
        stdin: plan.stdin,
        timeoutMs: scope.timeoutMs ?? plan.timeoutMs,
        outputBytes: plan.limits.outputBytes,
        signal: scope.controller.signal,
        onBackground: onBackground && onStarted,
        onFirstOutput: watch.verify,
        filterStderr(chunk) {
          filter ??= createProgressFilter(report);
          return filter.pass(chunk);
        },
        onOutput: stream && ((chunk, from) => (watch.isFailed() ? undefined : stream(chunk, from))),
        spill,
      },
      world,
    );
    const outcome = { ...ended, hosts: egress?.takeRefused() };
    watch.verify();
    watch.assert();
    const rest = filter?.rest();
    if (rest === undefined || rest.length === 0) return outcome;
    await stream?.(rest, 'stderr');
    return { ...outcome, stderr: Buffer.concat([outcome.stderr, rest]) };
  } finally {
    clearInterval(heartbeat);
    clearTimeout(verifying);
  }
}

// Replaces the name of the program by its absolute path.
function commandLine(plan: ProcessPlan, pinned: Pinned | undefined): string[] {
  const { binary, argv } = plan;
  const launcher = launcherOf(plan, pinned);
  return pinned === undefined ? [...launcher, binary, ...argv.slice(1)] : [...launcher, ...pinned.argv];
}

/** The end of a run, and the hosts that its sandbox refused. */
export interface PlanOutcome extends ProcessOutcome {
  readonly hosts?: readonly RefusedHost[] | undefined;
}

/** Returns what comes before the command line: limits and the sandbox. */
export function launcherOf({ launcher, sandbox }: ProcessPlan, pinned: Pinned | undefined): readonly string[] {
  if (sandbox === undefined) return launcher;
  // Landlock also judges the reading of a descriptor by path.
  const isReopened = sandbox.backend === 'landlock' && pinned?.descriptor !== undefined;
  const own = isReopened ? [...sandbox.launcher.slice(0, -1), ...SOURCE_RULE, '--'] : sandbox.launcher;
  return launcherWith({ ...sandbox, launcher: own }, launcher);
}

const SOURCE_RULE = ['--landlock-rule', 'path-beneath:execute,read-file:/proc/self/fd/3'];

// Verifies a pinned script once: at its first output, when it has been read, or at its end.
function watchPinned(pinned: Pinned | undefined, scope: CallScope) {
  let verified = pinned?.verify === undefined;
  let failure: unknown;
  return {
    isFailed: (): boolean => failure !== undefined,
    verify(): void {
      if (verified) return;
      verified = true;
      try {
        pinned!.verify!();
      } catch (error) {
        failure = error;
        scope.controller.abort();
      }
    },
    assert(): void {
      if (failure !== undefined) throw failure;
    },
  };
}

/** Returns the text and structured output of a process, or a failure with both streams. */
export function toOutput(plan: ProcessPlan, outcome: ProcessOutcome): Output {
  const isCut = outcome.exceeded || outcome.fault !== undefined;
  const stdout = decode(outcome.stdout, isCut || outcome.spilled !== undefined);
  const stderr = decode(outcome.stderr, outcome.exceeded);
  const error = toError(plan, outcome);
  const text = error === undefined ? successText(stdout, stderr) : failureText(stdout, stderr);
  const whole = !isCut && outcome.spilled === undefined;
  const structured = error === undefined && whole ? toStructured(plan, stdout) : undefined;
  const truncation = isCut ? toTruncation(plan, outcome) : undefined;
  return {
    content: truncation === undefined ? [textPart(text)] : [textPart(text), truncation.notice],
    structured,
    error,
    streams: { stdout: outcome.stdout, stderr: stderr.trim() === '' ? '' : stderr },
    spilled: outcome.spilled,
    meta: {
      // The exit status of a process that was ended by the cap is meaningless.
      exitCode: outcome.ending === 'capped' ? undefined : (outcome.exitCode ?? undefined),
      ...truncation?.meta,
    },
  };
}

// EXE-4: truncation is announced, with counts.
function toTruncation(plan: ProcessPlan, outcome: ProcessOutcome) {
  const { keptBytes } = outcome;
  const kept = formatBytes(keptBytes);
  const notice =
    outcome.ending === 'capped'
      ? `the tool was stopped after ${kept} of output, the limit`
      : `only the first ${kept} of the output was kept${outcome.exceeded ? ', the limit' : ''}`;
  return {
    notice: textPart(`\n[truncated: ${notice}]`),
    meta: { truncated: true, truncation: { keptBytes, limitBytes: plan.limits.outputBytes } },
  };
}

/** Returns why a run failed; undefined if it succeeded. */
export function toError(plan: ProcessPlan, outcome: ProcessOutcome): ToolError | undefined {
  const { name } = plan.tool;
  if (outcome.ending === 'timeout') {
    return new ToolError('timeout', `${name} did not end within ${formatDuration(plan.timeoutMs)} and was stopped`, {
      hint: 'raise the limit with --timeout or @timeout, or do less in one call',
      data: { timeoutMs: plan.timeoutMs },
    });
  }
  if (outcome.ending === 'cancelled') return cancelled(name);
  if (outcome.ending === 'capped' || isSuccess(plan, outcome.exitCode))
    return outcome.fault === undefined ? undefined : toStoreError(name, outcome.fault);
  const how = outcome.exitCode === null ? `was ended by ${outcome.signal}` : `exited with status ${outcome.exitCode}`;
  return new ToolError('tool_failed', `${name} ${how}`, {
    hint: 'see its output; change the input, or fix the tool',
    data: { exitCode: outcome.exitCode, signal: outcome.signal },
  });
}

// TJS-24: the declaration can list other exit statuses that are no failure.
function isSuccess({ command }: ProcessPlan, exitCode: number | null): boolean {
  return exitCode === 0 || (exitCode !== null && command?.execution.successExitCodes.includes(exitCode) === true);
}

// SCR-12
function successText(stdout: string, stderr: string): string {
  if (stderr.trim() === '') return stdout;
  return `${stdout}${lineEnd(stdout)}[stderr]\n${stderr}`;
}

// SCR-13
function failureText(stdout: string, stderr: string): string {
  const parts: string[] = [];
  if (stderr.trim() !== '') parts.push(`[stderr]\n${stderr}${lineEnd(stderr)}`);
  if (stdout !== '') parts.push(`[stdout]\n${stdout}`);
  return parts.join('');
}

function lineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? '' : '\n';
}

function decode(bytes: Buffer, cut: boolean): string {
  // Drops an incomplete character at the end of truncated output.
  return cut ? new StringDecoder('utf8').write(bytes) : bytes.toString('utf8');
}

function toStructured(plan: ProcessPlan, stdout: string): Json | undefined {
  const json = parseValue(stdout);
  // A script declared to return a string may print it without JSON quotes.
  const wantsText = plan.tool.output?.json.type === 'string';
  return wantsText && typeof json !== 'string' ? stdout.replace(/\r?\n$/, '') : json;
}

function parseValue(stdout: string): Json | undefined {
  const text = stdout.trim();
  return /^[[{"\-0-9tfn]/.test(text) ? parseOutput(text) : undefined;
}
