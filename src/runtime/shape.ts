// Shapes what an executor gave into the one result: output check, redaction, one form for success and failure.

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

/** The result of a run. A structured output that does not fit the schema becomes `invalid_output` (TOOL-22). */
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

/** The result of a call that never ran. */
export function shapeFailure(thrown: unknown, context: ShapeContext): ToolResult {
  const error = toErrorValue(toToolError(thrown), context.snapshot);
  return { ok: false, content: [textPart('')], error, meta: toMeta(context) };
}

async function findOutputFault(tool: Tool, output: Output): Promise<ToolError | undefined> {
  if (tool.output === undefined || output.meta?.truncated === true) return undefined;
  const { handle } = output.meta ?? {};
  if (output.structured === undefined && handle?.kind === 'json') {
    return new ToolError('too_large', `${tool.name} gave ${formatBytes(handle.size)}, too much to check`, {
      hint: `it is stored as ${handle.id}; for the author: return less, or drop the output schema`,
    });
  }
  if (output.structured === undefined) {
    return new ToolError('invalid_output', `${tool.name} says what it returns, and its output is not JSON`, {
      hint: 'this is for the author of the tool: print one JSON value, or drop the output schema',
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
