// The span of each call: that of the request it was made by, or one of its own.

import { toContents } from '../core/contents.js';
import { memoize } from '../core/memoize.js';
import { cutText } from '../core/redact.js';
import type { ToolResult } from '../core/result.js';
import { type Attributes, type CallSpan, Operation, type Span, type Telemetry } from '../core/telemetry.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { DoorOptions } from '../core/toolbox.js';
import { inputOf } from './prepare.js';
import type { Call } from './scope.js';

const MAX_NAME = 200;
// Of arguments and results; there may be thousands of spans in memory.
const MAX_CONTENT = 4096;
const METHODS = {
  resource: 'resources/read',
  subscription: 'resources/subscribe',
  prompt: 'prompts/get',
  completion: 'completion/complete',
} as const satisfies Record<NonNullable<DoorOptions['as']>, string>;

/** Starts the span of a call, if anything is traced (OBS-5). That of a request is the span of its call, too. */
export function startCallSpan(telemetry: Telemetry, call: Call): CallSpan | undefined {
  return call.options.operation ?? openSpan(telemetry, call);
}

/** Ends the span of a call. */
export function endCallSpan(span: CallSpan, telemetry: Telemetry, call: Call, result: ToolResult): void {
  if (span instanceof Operation) endInRequest(span, telemetry, call, result);
  else endSpan(span, telemetry, call, result);
}

function endInRequest(operation: Operation, telemetry: Telemetry, call: Call, result: ToolResult): void {
  if (operation.isEnded) {
    // A task, or a call that waited for answers of its client, goes on after its request was answered.
    const span = openSpan(telemetry, call, operation.startedAt);
    if (span !== undefined) endSpan(span, telemetry, call, result);
    return;
  }
  const { tool, options } = call;
  if (tool !== undefined && options.as === undefined && tool.name !== operation.target) operation.target = nameOf(tool);
  if (result.error !== undefined) operation.fail(result.error.code);
  if (operation.isRecorded) operation.add(describeEnd(telemetry, call, result));
}

function openSpan(telemetry: Telemetry, call: Call, startedAt?: number): Span | undefined {
  const { options, nesting, event } = call;
  return telemetry.start({
    name: options.as === undefined ? 'execute_tool' : METHODS[options.as],
    kind: 'internal',
    attributes: () => toAttributes(call, quoteOutside(event.ref, MAX_NAME)),
    parent: options.operation?.trace ?? options.trace ?? nesting.trace,
    startedAt,
  });
}

function endSpan(span: Span, telemetry: Telemetry, call: Call, result: ToolResult): void {
  if (!span.isRecorded) return;
  const { tool, event } = call;
  const { as } = call.options;
  const failure = result.error?.code;
  const parts = [
    toAttributes(call, tool === undefined ? quoteOutside(event.ref, MAX_NAME) : nameOf(tool)),
    describeEnd(telemetry, call, result),
    { 'error.type': failure },
  ];
  // An unknown name can be anything, and names of spans should be few.
  const target = tool === undefined ? '' : ` ${nameOf(tool)}`;
  span.end(as === undefined ? `execute_tool${target}` : METHODS[as], parts, failure);
}

// Names of tools of upstream servers are of others. Few tools are called often.
const nameOf = memoize((tool: Tool): string => quoteOutside(tool.name, MAX_NAME));

function toAttributes({ options }: Call, name: string): Attributes {
  return options.as === undefined
    ? { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }
    : { 'mcp.method.name': METHODS[options.as] };
}

function describeEnd(telemetry: Telemetry, call: Call, result: ToolResult): Attributes {
  const { caller, snapshot, approvalMs, verdict, plan } = call;
  const contents = telemetry.recordsContents ? toContents(inputOf(call), result, snapshot.secrets) : undefined;
  return {
    'wield.door': caller.door,
    'wield.verdict': verdict?.verdict,
    'wield.rule': verdict?.rule == null ? undefined : quoteOutside(verdict.rule, MAX_NAME),
    'wield.sandbox': plan !== undefined && 'sandbox' in plan ? plan.sandbox?.backend : undefined,
    'wield.approval.wait': approvalMs === undefined ? undefined : approvalMs / 1000,
    ...(contents && {
      'gen_ai.tool.call.arguments':
        contents.input === undefined ? undefined : cutText(JSON.stringify(contents.input), MAX_CONTENT),
      'gen_ai.tool.call.result': cutText(contents.output, MAX_CONTENT),
    }),
  };
}
