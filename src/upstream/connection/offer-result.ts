// Validates what a server returns for a resource, a prompt or a completion.

import { isToolError, ToolError } from '../../core/error.js';
import { isRecord, type Json, toJson } from '../../core/json.js';
import { findPartFault, type Output, type Part } from '../../core/result.js';
import type { RemoteAction } from '../../core/tool.js';
import { toRemoteMeta } from './result.js';

const BOUNDS = { maxDepth: 64, maxBytes: 16 * 1024 * 1024 };
const ROLES: readonly unknown[] = ['user', 'assistant'];
const MAX_COMPLETIONS = 100;

/** Requests whose result is data. */
export type OfferMethod = Exclude<RemoteAction['method'], undefined | 'resources/subscribe'>;

/** Converts a result to an Output: contents as parts, messages and completions as structured output. */
export function toOfferOutput(method: OfferMethod, name: string, result: unknown): Output {
  const invalid = (problem: string): ToolError =>
    new ToolError('invalid_output', `the server returned an invalid result for ${name}: ${problem}`, {
      hint: 'report this to the author of the server',
    });
  let value: Json;
  try {
    value = toJson(result, BOUNDS);
  } catch (error) {
    throw invalid(isToolError(error) ? error.message : 'it is not JSON');
  }
  if (!isRecord(value)) throw invalid('it must be an object');
  const meta = toRemoteMeta(value._meta);
  if (method === 'resources/read') return { content: readContents(value.contents, invalid), ...meta };
  if (method === 'prompts/get') return { content: [], structured: readMessages(value, invalid), ...meta };
  const { values, total, hasMore } = isRecord(value.completion) ? value.completion : {};
  if (!Array.isArray(values) || !values.every((one) => typeof one === 'string')) throw invalid('no completion values');
  return { content: [], structured: { values: values.slice(0, MAX_COMPLETIONS), ...pick({ total, hasMore }) } };
}

type Invalid = (problem: string) => ToolError;

function readContents(contents: unknown, invalid: Invalid): readonly Part[] {
  if (!Array.isArray(contents)) throw invalid('contents must be an array');
  const parts = contents.map((resource) => ({ type: 'resource', resource }));
  const fault = findPartFault(parts);
  if (fault !== undefined) throw invalid(fault);
  return parts as readonly Part[];
}

function readMessages({ description, messages }: Record<string, unknown>, invalid: Invalid): Json {
  if (!Array.isArray(messages)) throw invalid('messages must be an array');
  for (const [at, message] of messages.entries()) {
    if (!isRecord(message) || !ROLES.includes(message.role)) throw invalid(`message ${at + 1} has no role`);
    const fault = findPartFault([message.content]);
    if (fault !== undefined) throw invalid(`message ${at + 1}: ${fault}`);
  }
  return { ...(typeof description === 'string' ? { description } : {}), messages: messages as Json[] };
}

function pick(fields: Record<string, unknown>): Record<string, Json> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<string, Json>;
}
