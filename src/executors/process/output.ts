// Reads the outcome of a process: text, structured output, or a failure with both streams.

import { StringDecoder } from 'node:string_decoder';
import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { cancelled } from '../../core/stopped.js';
import { formatBytes, formatDuration } from '../../core/text.js';
import type { ProcessOutcome } from '../../process/request.js';

/** The output of a process: its text, structured output, or a failure with both streams. */
export function toOutput(plan: ProcessPlan, outcome: ProcessOutcome): Output {
  const stdout = decode(outcome.stdout, outcome.exceeded || outcome.spilled !== undefined);
  const stderr = decode(outcome.stderr, outcome.exceeded);
  const error = toError(plan, outcome);
  const text = error === undefined ? successText(stdout, stderr) : failureText(stdout, stderr);
  const whole = !outcome.exceeded && outcome.spilled === undefined;
  const structured = error === undefined && whole ? toStructured(plan, stdout) : undefined;
  const truncation = outcome.exceeded ? toTruncation(plan, outcome) : undefined;
  return {
    content: truncation === undefined ? [textPart(text)] : [textPart(text), truncation.notice],
    ...(structured === undefined ? {} : { structured }),
    ...(error === undefined ? {} : { error }),
    streams: { stdout: outcome.stdout, stderr: stderr.trim() === '' ? '' : stderr },
    ...(outcome.spilled === undefined ? {} : { spilled: outcome.spilled }),
    meta: {
      // The status of a process that the cap ended says nothing about the tool.
      ...(outcome.exitCode === null || outcome.ending === 'capped' ? {} : { exitCode: outcome.exitCode }),
      ...truncation?.meta,
    },
  };
}

// EXE-4: what was cut is announced, with counts.
function toTruncation(plan: ProcessPlan, outcome: ProcessOutcome) {
  const { keptBytes } = outcome;
  const kept = formatBytes(keptBytes);
  const notice =
    outcome.ending === 'capped'
      ? `the tool was stopped after ${kept} of output, the limit`
      : `only the first ${kept} of the output were kept, the limit`;
  return {
    notice: textPart(`\n[truncated: ${notice}]`),
    meta: { truncated: true, truncation: { keptBytes, limitBytes: plan.limits.outputBytes } },
  };
}

/** Why a run counts as failed; undefined where it does not. */
export function toError(plan: ProcessPlan, outcome: ProcessOutcome): ToolError | undefined {
  const { name } = plan.tool;
  if (outcome.ending === 'timeout') {
    return new ToolError(
      'timeout',
      `${name} did not end within ${formatDuration(plan.timeoutMs)} and was stopped`,
      {
        hint: 'give it longer with --timeout or @timeout, or let it do less in one call',
        data: { timeoutMs: plan.timeoutMs },
      },
    );
  }
  if (outcome.ending === 'cancelled') return cancelled(name);
  if (outcome.ending === 'capped' || isSuccess(plan, outcome.exitCode)) return undefined;
  const how =
    outcome.exitCode === null ? `was ended by ${outcome.signal}` : `exited with status ${outcome.exitCode}`;
  return new ToolError('tool_failed', `${name} ${how}`, {
    hint: 'its output says more; change the input, or mend the tool',
    data: { exitCode: outcome.exitCode, signal: outcome.signal },
  });
}

// TJS-24: a status that the declaration names is an answer, not a failure.
function isSuccess({ command }: ProcessPlan, exitCode: number | null): boolean {
  return (
    exitCode === 0 || (exitCode !== null && command?.execution.successExitCodes.includes(exitCode) === true)
  );
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
  // Where output was cut, half a character at the end is the cut's doing and not the tool's.
  return cut ? new StringDecoder('utf8').write(bytes) : bytes.toString('utf8');
}

function toStructured(plan: ProcessPlan, stdout: string): Json | undefined {
  const json = parseValue(stdout);
  // A script that says it returns text gives its text; quoting it as JSON is nobody's idea of a script.
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
