// Formats results and errors as text for a terminal.

import type { ErrorValue } from '../core/error.js';
import type { Part, ToolResult } from '../core/result.js';
import { formatBytes, sanitize } from '../core/text.js';

/** The version of the shapes that `--json` prints (CLI-3). */
export const JSON_SCHEMA = 1;

/** Formats the content of a result; parts that are not text are described. Text that the error repeats is left out. */
export function contentText({ content, error }: ToolResult): string {
  const text = content.map(partText).join('');
  return error?.message.includes(text.trim()) ? '' : text;
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text === '' || part.text.endsWith('\n') ? part.text : `${part.text}\n`;
    case 'image':
    case 'audio':
      return `[${part.type} ${part.mimeType}, ${formatBytes(Buffer.byteLength(part.data, 'base64'))}]\n`;
    case 'resource_link':
      return `[${part.name}: ${part.uri}]\n`;
    case 'resource':
      return part.resource.text ?? `[${part.resource.uri}]\n`;
  }
}

/** Formats an error with its hint; the labels may be coloured. */
export function errorText(
  { message, hint }: ErrorValue,
  { error = 'error', hint: hintWord = 'hint' }: { readonly error?: string; readonly hint?: string } = {},
): string {
  const lines = `${error}  ${indentRest(sanitize(message), 7)}\n`;
  return hint ? `${lines}  ${hintWord}  ${indentRest(sanitize(hint), 8)}\n` : lines;
}

function indentRest(text: string, columns: number): string {
  return text.replace(/\n/g, `\n${' '.repeat(columns)}`);
}
