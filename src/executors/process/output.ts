// What the exit status and the output of a process mean: text, a value, or a failure.

import { StringDecoder } from 'node:string_decoder';
import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { toStoreError } from '../../core/store.js';
import { formatBytes, formatDuration } from '../../core/text.js';
import { cancelled } from '../../core/time-limit.js';
import type { ProcessOutcome } from '../../process/request.js';

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
  if (!/^[[{"\-0-9tfn]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
