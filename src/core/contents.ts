// The input and output of a call without secrets, for the audit log and spans.

import type { Json } from './json.js';
import { cutText, findSensitiveValues, redactJson, redactText } from './redact.js';
import type { Part, ToolResult } from './result.js';

/** What a call was given and returned, redacted and cut. */
export interface Contents {
  readonly input?: Json | undefined;
  readonly output: string;
  /** The message of its error. */
  readonly message?: string | undefined;
}

const MAX_TEXT = 1000;
/** Limit of an input or output, in characters. */
const MAX_CONTENT = 16 * 1024;

/** Returns undefined for a value that is nested too deep. Values of sensitive names in the input are redacted in the output. */
export function toContents(
  input: Json | undefined,
  result: ToolResult,
  known: readonly string[],
): Contents | undefined {
  try {
    const secrets = [...known, ...findSensitiveValues(input), ...findSensitiveValues(result.structured)];
    // For a stored result the preview is recorded, not the note about the handle.
    const shown = result.content.map((part) => (part.type === 'text' ? bytesOf(part) : `[${part.type}]`));
    const text = result.meta.handle?.preview ?? shown.join('');
    return {
      input: input === undefined ? undefined : fitContent(redactJson(input, secrets, MAX_CONTENT)),
      output: redactText(text, secrets, MAX_CONTENT),
      message: result.error && redactText(result.error.message, secrets, MAX_TEXT),
    };
  } catch {
    return undefined;
  }
}

// An input that is too long is recorded as the start of its JSON text.
function fitContent(input: Json): Json {
  const text = JSON.stringify(input);
  return text.length <= MAX_CONTENT ? input : cutText(text, MAX_CONTENT);
}

/** Returns the text or data of a part; empty for one that is malformed, since parts come from other code. */
export function bytesOf(part: Part): string {
  const bytes = readBytes(part);
  return typeof bytes === 'string' ? bytes : '';
}

function readBytes(part: Part): string | undefined {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return part.data;
    case 'resource_link':
      return part.uri;
    case 'resource':
      return part.resource?.text ?? part.resource?.blob;
    default:
      return undefined;
  }
}
