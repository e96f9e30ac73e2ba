// Turns the output of an executor, or an error, into the result of a call: validated and redacted.

import { type ErrorValue, ToolError, toToolError } from '../core/error.js';
import { describeOutputFaults } from '../core/faults.js';
import { redactKnown, redactValue } from '../core/redact.js';
import { type Output, type Repair, type ResultMeta, type ToolResult, textPart } from '../core/result.js';
import type { Snapshot } from '../core/snapshot.js';
import { formatBytes, sanitize } from '../core/text.js';
import type { Tool } from '../core/tool.js';

export interface ShapeContext {
  readonly durationMs: number;
  readonly repairs: readonly Repair[];
  /** Its secrets must not appear in messages (ERR-5). */
  readonly snapshot: Pick<Snapshot, 'secrets'>;
}

/** Returns the result of a run; `invalid_output` if the structured output does not match its schema (TOOL-22). */
export async function shapeOutput(tool: Tool, output: Output, context: ShapeContext): Promise<ToolResult> {
  const error = output.error ?? (await findOutputFault(tool, output));
  const { structured } = output;
  return {
    ok: error === undefined,
    content: output.content.length > 0 ? output.content : [textPart('')],
    ...(structured === undefined || error !== undefined ? {} : { structured }),
    ...(error === undefined ? {} : { error: toErrorValue(error, context.snapshot) }),
    meta: toMeta(context, output.meta),
  };
}

/** Returns the result of a call that did not run. */
export function shapeFailure(thrown: unknown, context: ShapeContext): ToolResult {
  const error = toErrorValue(toToolError(thrown), context.snapshot);
  return { ok: false, content: [textPart('')], error, meta: toMeta(context) };
}

async function findOutputFault(tool: Tool, output: Output): Promise<ToolError | undefined> {
  if (tool.output === undefined || output.meta?.truncated === true) return undefined;
  const { handle } = output.meta ?? {};
  if (output.structured === undefined && handle?.kind === 'json') {
    return new ToolError('too_large', `${tool.name} returned ${formatBytes(handle.size)}, too much to validate`, {
      hint: `it is stored as ${handle.id}; for the author: return less, or remove the output schema`,
    });
  }
  if (output.structured === undefined) {
    return new ToolError('invalid_output', `${tool.name} has an output schema, but its output is not JSON`, {
      hint: 'for the author of the tool: print one JSON value, or remove the output schema',
    });
  }
  const check = await tool.output.check(output.structured);
  if (check.ok) return undefined;
  return describeOutputFaults(tool.name, check.faults);
}

function toMeta(context: ShapeContext, meta: Output['meta'] = {}): ResultMeta {
  return {
    durationMs: context.durationMs,
    ...meta,
    ...(context.repairs.length > 0 ? { repaired: context.repairs } : {}),
  };
}

function toErrorValue(error: ToolError, { secrets }: Pick<Snapshot, 'secrets'>): ErrorValue {
  const clean = (text: string): string => redactKnown(sanitize(text), secrets);
  const { code, message, hint, data } = error;
  return {
    code,
    message: clean(message),
    ...(hint === undefined ? {} : { hint: clean(hint) }),
    ...(data === undefined ? {} : { data: redactValue(data, secrets) }),
  };
}
