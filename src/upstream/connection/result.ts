// Validates what a server returns for a call, a resource, a prompt or a completion.

import { isToolError, ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject, toJson } from '../../core/json.js';
import { findPartFault, findTypeFault, type Output, type Part, textOf } from '../../core/result.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import type { RemoteAction } from '../../core/tool.js';

const BOUNDS = { maxDepth: 64, maxBytes: 16 * 1024 * 1024 };
const PROTOCOL_META = /^io\.modelcontextprotocol\//;
const ROLES: readonly unknown[] = ['user', 'assistant'];
const MAX_COMPLETIONS = 100;

/** Requests whose result is data. */
export type DataMethod = Exclude<RemoteAction['method'], undefined | 'resources/subscribe'>;

type Result = Readonly<Record<string, Json | undefined>>;

/** Converts the result of a call to an Output. Throws `invalid_output`. */
export function toOutput(tool: string, value: unknown): Output {
  const wanted = isRecord(value) ? outputFieldsOf(value) : value;
  const { content = [], structuredContent, isError, _meta, resultType } = readResult(tool, wanted);
  if (resultType !== undefined && resultType !== 'complete')
    throw invalidResult(tool, `unknown resultType "${quoteOutside(String(resultType), 40)}"`);
  const parts = readParts(tool, 'content', content);
  return {
    content: parts,
    ...(structuredContent === undefined ? {} : { structured: structuredContent }),
    ...(isError === true ? { error: toolFailed(tool, parts) } : {}),
    ...toRemoteMeta(_meta),
  };
}

function outputFieldsOf({ content, structuredContent, isError, _meta, resultType }: Record<string, unknown>) {
  return { content, structuredContent, isError, _meta, resultType };
}

/** Converts other results: contents of a resource are parts, messages and completions are structured output. */
export function toDataOutput(method: DataMethod, name: string, value: unknown): Output {
  const { contents, description, messages, completion, _meta } = readResult(name, value);
  const meta = toRemoteMeta(_meta);
  if (method === 'resources/read') {
    if (!Array.isArray(contents)) throw invalidResult(name, 'contents must be an array');
    const parts = contents.map((resource) => ({ type: 'resource', resource }));
    return { content: readParts(name, 'contents', parts), ...meta };
  }
  if (method === 'prompts/get') {
    const structured = { ...(typeof description === 'string' ? { description } : {}), messages: messages! };
    assertMessages(name, messages);
    return { content: [], structured, ...meta };
  }
  const { values, total, hasMore } = isRecord(completion) ? completion : {};
  if (!Array.isArray(values) || !values.every((one) => typeof one === 'string'))
    throw invalidResult(name, 'no completion values');
  const counts = { ...(total === undefined ? {} : { total }), ...(hasMore === undefined ? {} : { hasMore }) };
  return { content: [], structured: { values: values.slice(0, MAX_COMPLETIONS), ...counts } as Json };
}

function readResult(name: string, value: unknown): Result {
  if (!isRecord(value)) throw invalidResult(name, 'it must be an object');
  try {
    return toJson(value, BOUNDS) as Result;
  } catch (error) {
    throw invalidResult(name, `it ${describeJsonFault(error, BOUNDS.maxBytes)}`);
  }
}

// Parts keep all their fields if the ones of their type are valid.
function readParts(name: string, member: string, parts: unknown): readonly Part[] {
  if (!Array.isArray(parts)) throw invalidResult(name, `${member} must be an array`);
  const fault = findTypeFault(parts);
  if (fault !== undefined) throw invalidResult(name, fault);
  return parts as readonly Part[];
}

function assertMessages(name: string, messages: unknown): void {
  if (!Array.isArray(messages)) throw invalidResult(name, 'messages must be an array');
  for (const [at, message] of messages.entries()) {
    if (!isRecord(message) || !ROLES.includes(message.role)) throw invalidResult(name, `message ${at + 1} has no role`);
    const fault = findPartFault([message.content]);
    if (fault !== undefined) throw invalidResult(name, `message ${at + 1}: ${fault}`);
  }
}

// Keys reserved by the protocol apply to one connection only.
function toRemoteMeta(meta: unknown): Pick<Output, 'meta'> {
  const own = Object.entries((isRecord(meta) ? meta : {}) as JsonObject).filter(([key]) => !PROTOCOL_META.test(key));
  return { meta: { remote: Object.fromEntries(own) } };
}

function toolFailed(tool: string, parts: readonly Part[]): ToolError {
  const text = textOf({ content: parts }).trim();
  // A longer text is in the output of the result.
  const isShort = text !== '' && quoteOutside(text, 200) === text;
  return new ToolError('tool_failed', isShort ? `${tool} failed: ${text}` : `${tool} failed`, {
    hint: 'see its output; change the input, or contact the operator of the server',
  });
}

function invalidResult(tool: string, problem: string): ToolError {
  return new ToolError('invalid_output', `the server returned an invalid result for ${tool}: ${problem}`, {
    hint: 'report this to the author of the server',
  });
}

/** Formats an error of `toJson` as a predicate, such as `is larger than 1 MiB` or `is invalid: /a is NaN`. */
export function describeJsonFault(error: unknown, maxBytes: number): string {
  if (!isToolError(error)) return 'is not JSON';
  if (error.code === 'too_large') return `is larger than ${formatBytes(maxBytes)}`;
  const { faults } = isRecord(error.data) ? error.data : {};
  const [fault] = (Array.isArray(faults) ? faults : []) as { readonly path: string; readonly got: string }[];
  if (fault === undefined) return 'is not JSON';
  return fault.path === '' ? `is ${fault.got}` : `is invalid: ${quoteOutside(fault.path)} is ${fault.got}`;
}
