// The result of a program: its value, its logs, and which of its calls ran.

import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { type Output, textPart } from '../../core/result.js';
import { count } from '../../core/text.js';
import type { EngineCall } from '../protocol.js';
import type { JournalEvent } from './journal.js';
import type { WaitingForApproval } from './program.js';
import type { SuspendedProgram } from './suspended.js';

/** A program with everything that happened so far. */
export interface ProgramState extends Pick<SuspendedProgram, 'id' | 'principal' | 'seed' | 'started'> {
  readonly events: readonly JournalEvent[];
  readonly logs: readonly string[];
}

export function toOutput({ events, logs, seed, started }: ProgramState, value?: Json, error?: ToolError): Output {
  const printed = logs.length === 0 ? [] : [`console:\n${logs.join('\n')}`];
  const text = [...(value === undefined ? [] : [toText(value)]), ...printed].join('\n\n');
  const structured = {
    ...(value === undefined ? {} : { value }),
    // For the decision what to do after a failure.
    calls: toRan(events),
    ...(logs.length === 0 ? {} : { logs: [...logs] }),
    program: { seed, started },
  };
  return { content: [textPart(text)], structured, ...(error === undefined ? {} : { error }) };
}

/** Returns a value as a person or model reads it. */
export function toText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns all calls of a program. */
export function callsOf(events: readonly JournalEvent[]): EngineCall[] {
  return events.flatMap((event) => ('call' in event ? [event.call] : []));
}

/** Returns the calls that have no result. */
export function pendingOf(events: readonly JournalEvent[]): EngineCall[] {
  const settled = new Set(events.map((event) => ('result' in event ? event.result : 0)));
  return callsOf(events).filter(({ id }) => !settled.has(id));
}

function toRan(events: readonly JournalEvent[]): Json {
  const results = new Map(
    events.flatMap((event) => ('result' in event ? [[event.result, event.outcome] as const] : [])),
  );
  return callsOf(events).map(({ id, name }) => {
    const outcome = results.get(id);
    return { tool: name, ran: outcome === undefined ? 'no' : 'error' in outcome ? outcome.error.code : 'ok' };
  });
}

/** Returns the id of the approval that a call waits for. */
export function approvalOf({ error }: WaitingForApproval): string | undefined {
  return error?.data?.id === undefined ? undefined : String(error.data.id);
}

/** The error of a program that waits for approvals: how to give them, and how to go on. */
export function suspendedError(
  { id, principal }: Pick<ProgramState, 'id' | 'principal'>,
  waiting: readonly WaitingForApproval[],
): ToolError {
  const approvals = waiting.map((one) => ({ tool: one.call.name, id: approvalOf(one) ?? null }));
  const tools = [...new Set(approvals.map(({ tool }) => tool))].join(', ');
  const more = waiting.length > 1 ? ' --all-like-this' : '';
  const next = principal.startsWith('person ')
    ? `run: wield run --resume ${id}`
    : `call run_code with {"resume":"${id}"}`;
  return new ToolError(
    'needs_approval',
    `the program is suspended as ${id} until you approve ${count(waiting.length, 'call')} of ${tools}`,
    {
      hint: `a person can approve with: wield approvals approve ${approvals[0]!.id}${more}; then ${next}`,
      data: { resume: id, approvals },
    },
  );
}
