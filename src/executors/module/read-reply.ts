// Checks messages from a tool host: module code in the same process can write anything to the channel.

import { CLIENT_CAPABILITIES } from '../../core/client-request.js';
import { ERROR_CODES, type ErrorCode, ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import { findPartFault, type Output, type Part, textPart } from '../../core/result.js';
import { matches, number, object, oneOf, optional, type Shape, string, table, tagged } from '../../core/shape.js';
import type { Reply } from './protocol.js';

type Unchanged = Exclude<Reply, { readonly type: 'result' }>;

/** A reply whose fields have the expected types. */
export type CheckedReply = Unchanged | { readonly type: 'result'; readonly id: number; readonly output: Output };

const KEEP = { unknown: 'keep' } as const;
type Fields = Readonly<Record<string, Shape<unknown>>>;
const reply = (fields: Fields = {}) => object({ type: string, id: number, ...fields }, KEEP);
const question = (fields: Fields = {}) => reply({ question: number, ...fields });

const REPLY = tagged('type', {
  result: reply(),
  described: reply(),
  cancelling: reply(),
  progress: reply({ progress: object({ done: number, total: optional(number), message: optional(string) }, KEEP) }),
  log: reply({ message: string }),
  call: question({ ref: string }),
  client: question({ request: object({ capability: oneOf(...CLIENT_CAPABILITIES), params: table }, KEEP) }),
  elicit: question(),
  'remote-tools': question(),
  store: question(),
});

/** Returns undefined if it is not a reply. */
export function readReply(value: unknown): CheckedReply | undefined {
  if (!matches(REPLY, value)) return undefined;
  if (value.type === 'result') return { type: 'result', id: value.id, output: readOutput({ ...value }) };
  return value as unknown as Unchanged;
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
