// The span of each call: that of the request it was made by, or one of its own.

import { toContents } from '../core/contents.js';
import type { EndEvent } from '../core/event.js';
import { cutText } from '../core/redact.js';
import type { Attributes, Span, Telemetry } from '../core/telemetry.js';
import { quoteOutside } from '../core/text.js';
import type { DoorOptions } from '../core/toolbox.js';
import type { Call, CallSpan } from './scope.js';

const MAX_NAME = 200;
// Of arguments and results; there may be thousands of spans in memory.
const MAX_CONTENT = 4096;
const METHODS = {
  resource: 'resources/read',
  subscription: 'resources/subscribe',
  prompt: 'prompts/get',
  completion: 'completion/complete',
} as const satisfies Record<NonNullable<DoorOptions['as']>, string>;

/** Starts the span of a call, if anything is traced (OBS-5). */
export function startCallSpan(telemetry: Telemetry, call: Call): CallSpan | undefined {
  const { options, nesting, event } = call;
  const { operation } = options;
  const began = performance.now();
  const parent = operation?.trace ?? options.trace ?? nesting.trace;
  const open = (since?: number): Span | undefined =>
    telemetry.start({
      name: options.as === undefined ? 'execute_tool' : METHODS[options.as],
      kind: 'internal',
      attributes: toAttributes(call, quoteOutside(event.ref, MAX_NAME)),
      parent,
      startedAt: since,
    });
  const own = operation === undefined ? open() : undefined;
  if (operation === undefined && own === undefined) return undefined;
  return {
    trace: operation === undefined ? own!.trace : operation.trace,
    end(ended) {
      const name = ended.tool === undefined ? undefined : quoteOutside(ended.tool.name, MAX_NAME);
      if (operation !== undefined && !operation.isEnded) {
        if (name !== undefined && options.as === undefined) operation.setTarget('gen_ai.tool.name', name);
        describeEnd(operation.attributes, telemetry, call, ended);
        return;
      }
      // A task, or a call that waited for answers of its client, goes on after its request was answered.
      const span = own ?? open(began);
      const attributes = toAttributes(call, name ?? quoteOutside(ended.ref, MAX_NAME));
      describeEnd(attributes, telemetry, call, ended);
      // An unknown name can be anything, and names of spans should be few.
      const target = name === undefined ? '' : ` ${name}`;
      span?.end(options.as === undefined ? `execute_tool${target}` : METHODS[options.as], attributes);
    },
  };
}

function toAttributes({ options }: Call, name: string): Attributes {
  return options.as === undefined
    ? { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }
    : { 'mcp.method.name': METHODS[options.as] };
}

function describeEnd(into: Attributes, telemetry: Telemetry, call: Call, ended: EndEvent): void {
  const { caller, snapshot, approvalMs } = call;
  const { result, verdict, plan, input } = ended;
  into['wield.door'] = caller.door;
  if (verdict !== undefined) into['wield.verdict'] = verdict.verdict;
  if (verdict?.rule != null) into['wield.rule'] = quoteOutside(verdict.rule, MAX_NAME);
  if (plan !== undefined && 'sandbox' in plan && plan.sandbox !== undefined)
    into['wield.sandbox'] = plan.sandbox.backend;
  if (approvalMs !== undefined) into['wield.approval.wait'] = approvalMs / 1000;
  if (result.error !== undefined) into['error.type'] = result.error.code;
  const contents = telemetry.recordsContents ? toContents(input, result, snapshot.secrets) : undefined;
  if (contents === undefined) return;
  if (contents.input !== undefined)
    into['gen_ai.tool.call.arguments'] = cutText(JSON.stringify(contents.input), MAX_CONTENT);
  into['gen_ai.tool.call.result'] = cutText(contents.output, MAX_CONTENT);
}
