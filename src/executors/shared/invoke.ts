// Runs a function tool and turns what it returns or throws into an Output.

import { ERROR_CODES, type ErrorCode, isToolError, ToolError } from '../../core/error.js';
import { copyJson, isRecord, type Json } from '../../core/json.js';
import { findPartFault, isFailedOutput, type Output, type Part, textPart } from '../../core/result.js';
import type { FunctionAction } from '../../core/tool.js';
import { type CallPart, createContext, type FunctionEnvironment } from './tool-context.js';

// Captured, because in a tool host a module may replace them.
const { stringify, parse } = JSON;

const FAILED_HINT = 'change the input, or fix the tool';

/** Runs a function to its end. Never throws. Synchronous if the function is, which saves a third of an in-process call. */
export function invoke(
  run: FunctionAction['run'],
  input: Json,
  call: CallPart,
  environment: FunctionEnvironment,
): Output | Promise<Output> {
  const { name } = environment;
  try {
    // The input of a plan is frozen; the function gets a copy that it may change.
    const result = run(copyJson(input), createContext(call, environment));
    return isThenable(result) ? awaitOutput(result, name) : toOutput(result, name);
  } catch (thrown) {
    return toFailedOutput(thrown, name);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

async function awaitOutput(result: PromiseLike<unknown>, name: string): Promise<Output> {
  try {
    return toOutput(await result, name);
  } catch (thrown) {
    return toFailedOutput(thrown, name);
  }
}

function toFailedOutput(thrown: unknown, name: string): Output {
  if (isToolError(thrown)) return { content: [textPart('')], error: thrown };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return {
    content: [textPart(message)],
    error: new ToolError('tool_failed', `${name} failed: ${message}`, { hint: FAILED_HINT, cause: thrown }),
  };
}

function toOutput(result: unknown, name: string): Output {
  if (isFailedOutput(result)) return toFailure(result, name);
  if (result === undefined) return { content: [textPart('')] };
  if (typeof result === 'string') return { content: [textPart(result)], structured: result };
  if (isRecord(result) && isParts(result.content)) {
    const { content, structured, error } = result;
    const fault = findPartFault(content);
    if (fault !== undefined) throw new ToolError('tool_failed', `${name} returned ${fault}`, { hint: FAILED_HINT });
    return {
      content,
      structured: structured as Json | undefined,
      error: isToolError(error) ? error : undefined,
    };
  }
  const text = stringify(result);
  if (text === undefined) throw new TypeError(`returned a ${typeof result}, which is not JSON`);
  return { content: [textPart(text)], structured: parse(text) as Json };
}

function isParts(value: unknown): value is readonly Part[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((part) => isRecord(part) && typeof part.type === 'string')
  );
}

// What is not JSON is left out, as the failure itself is what matters.
function toPlain(result: Readonly<Record<string, unknown>>): Json | undefined {
  try {
    return parse(stringify(result)) as Json;
  } catch {
    return undefined;
  }
}

// MOD-13
function toFailure(result: Readonly<Record<string, unknown>>, name: string): Output {
  const { error_type: type, message: given, next_action_hint: hint } = result;
  const message = typeof given === 'string' ? given : `${name} failed`;
  const known = typeof type === 'string' && Object.hasOwn(ERROR_CODES, type);
  return {
    content: [textPart(message)],
    structured: toPlain(result),
    error: new ToolError(known ? (type as ErrorCode) : 'tool_failed', message, {
      hint: typeof hint === 'string' ? hint : FAILED_HINT,
      data: known || typeof type !== 'string' ? undefined : { error_type: type },
    }),
  };
}
