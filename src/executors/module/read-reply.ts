// Checks messages from a tool host: module code in the same process can write anything to the channel.

import { CLIENT_CAPABILITIES } from '../../core/client-request.js';
import { ERROR_CODES, type ErrorCode, ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { findPartFault, type Output, type Part, textPart } from '../../core/result.js';
import type { Question, Reply } from './protocol.js';

type Unchanged = Exclude<Reply, Question | { readonly type: 'result' }>;

/** A reply whose fields have the expected types. */
export type CheckedReply =
  | Unchanged
  | Question
  | { readonly type: 'result'; readonly id: number; readonly output: Output };

/** Returns undefined if it is not a reply. */
export function readReply(value: unknown): CheckedReply | undefined {
  if (!isRecord(value) || typeof value.id !== 'number') return undefined;
  const { type, id, question } = value;
  switch (type) {
    case 'result':
      return { type, id, output: readOutput(value) };
    case 'progress':
      return isProgress(value.progress) ? (value as unknown as Unchanged) : undefined;
    case 'log':
      return typeof value.message === 'string' ? (value as unknown as Unchanged) : undefined;
    case 'described':
    case 'cancelling':
      return value as unknown as Unchanged;
    case 'call':
    case 'client':
    case 'elicit':
    case 'remote-tools':
    case 'store': {
      const valid =
        typeof question === 'number' &&
        (type !== 'call' || typeof value.ref === 'string') &&
        (type !== 'client' || isClientRequest(value.request));
      return valid ? (value as unknown as Question) : undefined;
    }
    default:
      return undefined;
  }
}

function isClientRequest(value: unknown): boolean {
  return isRecord(value) && CLIENT_CAPABILITIES.some((one) => one === value.capability) && isRecord(value.params);
}

function isProgress(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { done, total, message } = value;
  return (
    typeof done === 'number' &&
    (total === undefined || typeof total === 'number') &&
    (message === undefined || typeof message === 'string')
  );
}

function readOutput({ content, structured, error }: Readonly<Record<string, unknown>>): Output {
  const fault = Array.isArray(content) ? findPartFault(content) : 'content must be an array';
  if (fault !== undefined)
    return { content: [textPart('')], error: new ToolError('tool_failed', fault, { hint: 'fix the tool' }) };
  return {
    content: (content as Part[]).length > 0 ? (content as Part[]) : [textPart('')],
    structured: structured as Json | undefined,
    error: error === undefined || error === null ? undefined : toError(error),
  };
}

function toError(value: unknown): ToolError {
  const { code, message, hint, data } = isRecord(value) ? value : {};
  const known = typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
  return new ToolError(known ? (code as ErrorCode) : 'tool_failed', String(message), {
    hint: typeof hint === 'string' ? hint : 'fix the tool',
    data: isRecord(data) ? (data as ToolError['data']) : undefined,
  });
}
