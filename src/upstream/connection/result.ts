// Validates the result of a tool call: known content types, structured content within limits.

import { isToolError, ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject, toJson } from '../../core/json.js';
import { type Output, type Part, textOf } from '../../core/result.js';
import { formatBytes, quoteOutside } from '../../core/text.js';

const BOUNDS = { maxDepth: 64, maxBytes: 16 * 1024 * 1024 };
const PROTOCOL_META = /^io\.modelcontextprotocol\//;

/** Converts the result of a server to an Output. Throws `invalid_output`. */
export function toOutput(tool: string, result: unknown): Output {
  const { content = [], structuredContent, isError, _meta } = readResult(tool, result);
  if (!Array.isArray(content)) throw invalidResult(tool, 'content must be an array');
  const parts = content.map((part, at) => readPart(tool, part, at));
  return {
    content: parts,
    ...(structuredContent === undefined ? {} : { structured: structuredContent }),
    ...(isError === true ? { error: toolFailed(tool, parts) } : {}),
    ...toRemoteMeta(_meta),
  };
}

function readResult(tool: string, value: unknown): Readonly<Record<string, Json | undefined>> {
  let result: Json;
  try {
    // What else a server sends is not read.
    const { content, structuredContent, isError, _meta, resultType } = isRecord(value) ? value : {};
    const fields = { content, structuredContent, isError, _meta, resultType };
    result = toJson(isRecord(value) ? fields : value, BOUNDS);
  } catch (error) {
    throw invalidResult(tool, `it ${describeJsonFault(error, BOUNDS.maxBytes)}`);
  }
  if (!isRecord(result)) throw invalidResult(tool, 'it must be an object');
  const { resultType } = result;
  if (resultType !== undefined && resultType !== 'complete')
    throw invalidResult(tool, `unknown resultType "${quoteOutside(String(resultType), 40)}"`);
  return result as Readonly<Record<string, Json>>;
}

// Parts keep all their fields if the ones of their type are valid.
function readPart(tool: string, part: Json, at: number): Part {
  const invalid = (problem: string): ToolError => invalidResult(tool, `content part ${at + 1} ${problem}`);
  if (!isRecord(part)) throw invalid('must be an object');
  const isText = (field: unknown): boolean => typeof field === 'string';
  switch (part.type) {
    case 'text':
      if (!isText(part.text)) throw invalid('has no text');
      break;
    case 'image':
    case 'audio':
      if (!isText(part.data) || !isText(part.mimeType)) throw invalid('has no data or mimeType');
      break;
    case 'resource_link':
      if (!isText(part.uri) || !isText(part.name)) throw invalid('has no uri or name');
      break;
    case 'resource': {
      const { resource } = part;
      const isValid =
        isRecord(resource) &&
        isText(resource.uri) &&
        (resource.mimeType === undefined || isText(resource.mimeType)) &&
        (isText(resource.text) || isText(resource.blob));
      if (!isValid) throw invalid('has no valid resource');
      break;
    }
    default:
      throw invalid(`has the unknown type "${quoteOutside(String(part.type), 40)}"`);
  }
  return part as unknown as Part;
}

/** Returns the `_meta` of a result for an Output. Keys reserved by the protocol apply to one connection only. */
export function toRemoteMeta(meta: unknown): Pick<Output, 'meta'> {
  if (!isRecord(meta)) return {};
  const kept = Object.entries(meta as JsonObject).filter(([key]) => !PROTOCOL_META.test(key));
  return kept.length === 0 ? {} : { meta: { remote: Object.fromEntries(kept) } };
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
  return fault.path === '' ? fault.got : `is invalid: ${quoteOutside(fault.path)} ${fault.got}`;
}
