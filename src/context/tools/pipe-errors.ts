// Errors of context_pipe.

import { type ErrorCode, ToolError } from '../../core/error.js';
import { type ToolResult, textOf } from '../../core/result.js';
import { formatBytes, quoteOutside } from '../../core/text.js';

const MAX_MESSAGE_BYTES = 2048;
// Collected in memory until the tool has succeeded.
export const MAX_PAYLOAD_BYTES = 512 * 1024 * 1024;

export function existingDocument(path: string): ToolError {
  return new ToolError('path_conflict', `${quoteOutside(path)} already exists, so the tool was not called`, {
    hint: 'read it with context_read, or pipe again with on_conflict: "overwrite"',
    data: { path },
  });
}

export function tooMuchOutput(name: string): ToolError {
  const limit = formatBytes(MAX_PAYLOAD_BYTES);
  return new ToolError('too_large', `${name} was cancelled: its output exceeds ${limit}; nothing was stored`, {
    hint: 'request less output at once',
    data: { tool: name },
  });
}

export function innerError(name: string, { error, content }: ToolResult): ToolError {
  const { code, message, hint } = error!;
  const output = textOf({ content }).trim();
  const text = output === '' || message.includes(output) ? message : `${message}\n${output}`;
  return new ToolError('inner_tool_error', capBytes(text), {
    hint: hint ?? `call ${name} again with other input`,
    data: { tool: name, code },
  });
}

// Nothing ran, so the error is the one of a direct call.
export function sameError({ error }: ToolResult): ToolError {
  const { code, message, hint, data } = error!;
  return new ToolError(code as ErrorCode, message, { hint, data });
}

function capBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_MESSAGE_BYTES) return text;
  // Leaves space for the ellipsis, and splits no character.
  let end = MAX_MESSAGE_BYTES - 3;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}…`;
}
