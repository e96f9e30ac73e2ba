// Executes a plan through its middleware.

import { Cancellation } from '../core/cancellation.js';
import type { Output } from '../core/result.js';
import type { Narrowing } from '../core/skill.js';
import type { Asking, ExecuteOptions, Run } from './execution.js';
import type { CallParts } from './parts.js';

interface ExecuteWithOptions {
  readonly narrowing: readonly Narrowing[];
  readonly asking: Asking | undefined;
  readonly runPlan: (parts: CallParts, execution: ExecuteOptions, run: Run) => Output | Promise<Output>;
}

/** Returns the output of a plan that ran inside its middleware. */
export async function executeWith(
  parts: CallParts,
  execution: ExecuteOptions,
  { narrowing, asking, runPlan }: ExecuteWithOptions,
): Promise<Output> {
  const { plan, snapshot, caller, cancellation, nesting, nest } = execution;
  let raw: Output | undefined;
  const output = await parts.middleware.run({
    plan,
    snapshot,
    caller,
    depth: nesting.depth,
    narrowing,
    signal: cancellation.signal,
    monotonic: parts.workspace.world.monotonic,
    execute: async ({ signal, begin, streams }) => {
      const own = new Cancellation();
      const release = own.follow(signal);
      try {
        raw = await runPlan(parts, execution, { cancellation: own, asking, begin, streams });
      } finally {
        release();
      }
      const { streams: _, ...plain } = raw;
      return plain;
    },
    delegate: (inner, input, until) =>
      nest({ placed: nesting.placed, named: 'by-caller' }, inner, input, {
        until,
        elicit: asking?.door,
        client: asking?.client,
      }),
  });
  if (output === undefined) return runPlan(parts, execution, { cancellation, asking });
  // The raw bytes belong to a text only if no middleware replaced it (EXE-7).
  return raw?.streams !== undefined && raw.content === output.content ? { ...output, streams: raw.streams } : output;
}
