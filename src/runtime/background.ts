// Records a process that goes on after its call, as a call inside that one: from its start to its end (BGR-8).

import { inBackground } from '../core/async.js';
import type { EndEvent } from '../core/event.js';
import { type BackgroundRun, NO_OUTPUT, type Output, type ToolResult } from '../core/result.js';
import type { CallParts } from './parts.js';
import { type Call, nextCallId } from './scope.js';
import { shapeFailure } from './shape.js';
import { endCallSpan, startCallSpan } from './telemetry.js';

export function recordBackground({ observers, workspace }: CallParts, outer: Call, { ended }: BackgroundRun): void {
  const { recorder } = observers;
  const { plan, tool, verdict, approval, snapshot } = outer;
  const { world } = workspace;
  const event = { ...outer.event, call: nextCallId(), parent: outer.id, depth: outer.event.depth + 1 };
  const known = { tool, plan, verdict, approval, input: plan!.input };
  const startedAt = world.monotonic();
  const { telemetry } = observers;
  const options = { ...outer.options, operation: undefined, trace: outer.span?.trace ?? outer.options.trace };
  const call: Call = { ...outer, event, options };
  const span = telemetry?.isOn ? startCallSpan(telemetry, call) : undefined;
  recorder?.begin(event, snapshot);
  observers.emit?.({ type: 'start', ...event });
  try {
    recorder?.start({ ...event, ...known }, snapshot);
  } catch (error) {
    // The call that started it is recorded.
    world.debug(`the start of a process in the background was not recorded: ${(error as Error).message}`);
  }
  // Nothing asynchronous here: the toolbox waits for the end of the process, and then closes the recorder.
  const recorded = ended.then(({ output, reason }) => {
    const result = toResult({ tool, snapshot, repairs: [], startedAt }, output, world.monotonic());
    const end: EndEvent = { type: 'end', ...event, ...known, verdict: verdict && { ...verdict, reason }, result };
    recorder?.record(end, snapshot);
    telemetry?.count({ ...end, byUser: snapshot.settings.metrics.users });
    if (span !== undefined) endCallSpan(span, telemetry!, call, result);
    observers.emit?.(end);
  });
  inBackground(recorded, world.debug);
}

function toResult(call: Parameters<typeof shapeFailure>[0], output: Output, now: number): ToolResult {
  const content = output.content.length > 0 ? output.content : [NO_OUTPUT];
  if (output.error === undefined)
    return { ok: true, content, meta: { durationMs: now - call.startedAt, ...output.meta } };
  const failed = shapeFailure(call, output.error, now);
  return { ...failed, content, meta: { ...failed.meta, ...output.meta } };
}
