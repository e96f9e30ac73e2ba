// The result of a program: its value, its logs, and which of its calls ran.

import { approveCommand } from '../../core/approval.js';
import { reviveError, ToolError } from '../../core/error.js';
import { showValue } from '../../core/json.js';
import { type Output, textPart } from '../../core/result.js';
import { count, quoteOutside } from '../../core/text.js';
import type { EngineCall } from '../protocol.js';
import type { Answer, RanCall } from './answers.js';
import type { JournalEvent } from './journal.js';
import type { WaitingForApproval } from './program.js';
import type { SuspendedProgram } from './suspended.js';

/** A program with everything that happened so far. */
export interface ProgramState extends Pick<SuspendedProgram, 'id' | 'principal' | 'source' | 'seed' | 'started'> {
  readonly events: readonly JournalEvent[];
  readonly logs: readonly string[];
}

export const NOTHING = '(the program returned nothing)';

export function toAnswer(
  { events, logs, seed, started }: ProgramState,
  { notes = [], ...end }: Partial<Pick<Answer, 'value' | 'text' | 'error' | 'notes'>>,
): Answer {
  return { ...end, notes, calls: toRan(events), logs: [...logs], seed, started };
}

/** Returns the output of a program; `ended` is set if its answer is given again. */
export function toOutput(answer: Answer, ended?: number): Output {
  const { value, error, notes, calls, logs, seed, started } = answer;
  const shown = toText(answer);
  const text = [
    ...(shown === undefined ? [] : [shown]),
    ...(logs.length === 0 ? [] : [`console:\n${logs.join('\n')}`]),
    ...notes,
  ].join('\n\n');
  const structured = {
    ...(value === undefined ? {} : { value }),
    calls: [...calls],
    ...(logs.length === 0 ? {} : { logs: [...logs] }),
    program: { seed, started, ...(ended === undefined ? {} : { ended }) },
  };
  return {
    content: [textPart(text)],
    structured,
    ...(error && { error: reviveError(error) }),
  };
}

/** Says that an answer was given before, or lost: nothing ran. */
export function givenAgain(ended: number): string {
  return `(the program ended at ${new Date(ended).toISOString()}; this is its answer, and nothing was run again)`;
}

/** Says which older programs no longer wait. */
export function describeRemoved(ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [`(too many programs were waiting: ${ids.join(', ')} cannot be resumed any more)`];
}

/** Returns the value of a program as a person or model reads it. */
export function toText({ value, text }: Pick<Answer, 'value' | 'text'>): string | undefined {
  return value === undefined ? text : showValue(value);
}

export function callsOf(events: readonly JournalEvent[]): EngineCall[] {
  return events.flatMap((event) => ('call' in event ? [event.call] : []));
}

/** Returns the calls that have no result. */
export function pendingOf(events: readonly JournalEvent[]): EngineCall[] {
  const settled = new Set(events.map((event) => ('result' in event ? event.result : 0)));
  return callsOf(events).filter(({ id }) => !settled.has(id));
}

// A program can write a name of any length.
const MAX_NAME = 200;

function toRan(events: readonly JournalEvent[]): RanCall[] {
  const results = new Map(
    events.flatMap((event) => ('result' in event ? [[event.result, event.outcome] as const] : [])),
  );
  return callsOf(events).map(({ id, name }) => {
    const outcome = results.get(id);
    return {
      tool: quoteOutside(name, MAX_NAME),
      ran: outcome === undefined ? 'no' : 'error' in outcome ? outcome.error.code : 'ok',
    };
  });
}

// Of calls that did not succeed.
const MAX_DESCRIBED = 20;

/** Returns which calls ran, for the decision what to do after a failure: `calls: a ok (3), b({"c":1}) not run`. */
export function describeCalls(events: readonly JournalEvent[]): string[] {
  const ran = toRan(events);
  const counts = new Map<string, number>();
  callsOf(events).forEach(({ name, input }, at) => {
    const how = ran[at]!.ran;
    const said = how === 'no' ? 'not run' : how === 'cancelled' ? 'cancelled, may have run' : how;
    const given = how === 'ok' ? '' : `(${quoteOutside(JSON.stringify(input), 80)})`;
    const key = `${quoteOutside(name, 80)}${given} ${said}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  });
  const parts = [...counts].map(([key, times]) => (times === 1 ? key : `${key} (${times})`));
  const more = parts.length > MAX_DESCRIBED ? [`and ${parts.length - MAX_DESCRIBED} others`] : [];
  return parts.length === 0 ? [] : [`calls: ${[...parts.slice(0, MAX_DESCRIBED), ...more].join(', ')}`];
}

/** Returns the id of the approval that a call waits for. */
export function approvalOf({ error }: WaitingForApproval): string | undefined {
  return error?.data?.id === undefined ? undefined : String(error.data.id);
}

// It may need the address of a fleet.
function commandOf(waiting: WaitingForApproval): string {
  return String(waiting.error?.data?.command ?? approveCommand(approvalOf(waiting) ?? ''));
}

function reasonOf({ error }: WaitingForApproval): string | undefined {
  return typeof error?.data?.reason === 'string' ? error.data.reason : undefined;
}

// Of different calls; data has all.
const MAX_REASONS = 3;

/** The error of a program that waits for approvals: why and how to give them, and how to go on. */
export function suspendedError(
  { id, principal }: Pick<ProgramState, 'id' | 'principal'>,
  waiting: readonly WaitingForApproval[],
): ToolError {
  const approvals = waiting.map((one) => ({
    tool: one.call.name,
    id: approvalOf(one) ?? null,
    reason: reasonOf(one) ?? null,
  }));
  const reasons = [...new Set(approvals.flatMap(({ reason }) => reason ?? []))];
  const why = reasons.length === 0 ? '' : `: ${reasons.slice(0, MAX_REASONS).join('; ')}`;
  const tools = [...new Set(approvals.map(({ tool }) => tool))].join(', ');
  const more = waiting.length > 1 ? ' --all-like-this' : '';
  const next = principal.startsWith('person ')
    ? `run: wield run --resume ${id}`
    : `call run_code with {"resume":"${id}"}`;
  return new ToolError(
    'needs_approval',
    `the program is suspended as ${id} until you approve ${count(waiting.length, 'call')} of ${tools}${why}`,
    {
      hint: `a person can approve with: ${commandOf(waiting[0]!)}${more}; then ${next}`,
      data: { resume: id, approvals },
    },
  );
}
