// What a server answers to a call, read as untrusted: parts that we know, structured content within bounds.

import { ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject, toJson } from '../../core/json.js';
import { type Output, type Part, textOf } from '../../core/result.js';
import { quoteOutside } from '../../core/text.js';

const BOUNDS = { maxDepth: 64, maxBytes: 16 * 1024 * 1024 };
const OWN_META = /^io\.modelcontextprotocol\//;

/** A result as a server sent it, made an Output. Throws `invalid_output` where it is none. */
export function toOutput(tool: string, result: unknown): Output {
  const answer = readAnswer(tool, result);
  const { content = [], structuredContent, isError, _meta } = answer;
  if (!Array.isArray(content)) throw badResult(tool, 'its content is no list of parts');
  const parts = content.map((part, at) => readPart(tool, part, at));
  const meta = isRecord(_meta) ? withoutOwn(_meta as JsonObject) : {};
  return {
    content: parts,
    ...(structuredContent === undefined ? {} : { structured: structuredContent }),
    ...(isError === true ? { error: failed(tool, parts) } : {}),
    ...(Object.keys(meta).length === 0 ? {} : { meta: { remote: meta } }),
  };
}

interface Answer {
  readonly content?: Json;
  readonly structuredContent?: Json;
  readonly isError?: Json;
  readonly _meta?: Json;
  readonly [field: string]: Json | undefined;
}

function readAnswer(tool: string, result: unknown): Answer {
  let answer: Json;
  try {
    answer = toJson(result, BOUNDS);
  } catch (error) {
    const { message } = error as ToolError;
    throw badResult(tool, message.replace(/^input at (\S+)/, 'what stands at $1').replace(/^input/, 'it'));
  }
  if (!isRecord(answer)) throw badResult(tool, 'it is no object');
  const { resultType } = answer;
  if (resultType !== undefined && resultType !== 'complete')
    throw badResult(tool, `it is of the kind "${quoteOutside(String(resultType), 40)}"`);
  return answer;
}

// Every part with all that it carries, as long as it is what its type says.
function readPart(tool: string, part: Json, at: number): Part {
  const refuse = (problem: string): ToolError => badResult(tool, `part ${at + 1} of its content ${problem}`);
  if (!isRecord(part)) throw refuse('is no object');
  const isText = (field: unknown): boolean => typeof field === 'string';
  const optional = (field: unknown): boolean => field === undefined || isText(field);
  switch (part.type) {
    case 'text':
      if (!isText(part.text)) throw refuse('has no text');
      break;
    case 'image':
    case 'audio':
      if (!isText(part.data) || !isText(part.mimeType)) throw refuse('has no data or no type');
      break;
    case 'resource_link':
      if (!isText(part.uri) || !isText(part.name)) throw refuse('has no address or no name');
      break;
    case 'resource': {
      const { resource } = part;
      const isWhole =
        isRecord(resource) &&
        isText(resource.uri) &&
        optional(resource.mimeType) &&
        (isText(resource.text) || isText(resource.blob));
      if (!isWhole) throw refuse('has no resource in it');
      break;
    }
    default:
      throw refuse(`is of an unknown type "${quoteOutside(String(part.type), 40)}"`);
  }
  return part as unknown as Part;
}

// What the protocol keeps for itself between two neighbours means nothing to the next one.
function withoutOwn(meta: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !OWN_META.test(key)));
}

function failed(tool: string, parts: readonly Part[]): ToolError {
  const said = quoteOutside(textOf({ content: parts }), 200);
  return new ToolError('tool_failed', said === '' ? `${tool} failed` : `${tool} failed: ${said}`, {
    hint: 'its output says why; change the input, or tell whoever runs its server',
  });
}

function badResult(tool: string, problem: string): ToolError {
  return new ToolError('invalid_output', `the server's answer to ${tool} cannot be used: ${problem}`, {
    hint: 'this is for the author of the server',
  });
}
