// A result as a model reads it: errors as text to act on, pictures where they can be shown, a line for the rest.

import { formatError } from '../../core/model-text.js';
import type { Part, ToolResult } from '../../core/result.js';
import { formatBytes } from '../../core/text.js';

export type ShownPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** What a model is shown of a result, in order and without empty parts; an error stands first. */
export function shownParts({ content, error }: Pick<ToolResult, 'content' | 'error'>): ShownPart[] {
  const parts: ShownPart[] = error === undefined ? [] : [{ type: 'text', text: formatError(error) }];
  for (const part of content) {
    const shown = toShown(part);
    if (shown.type !== 'text' || shown.text !== '') parts.push(shown);
  }
  return parts;
}

/** The same as one text, for providers that take nothing else. */
export function shownText(result: Pick<ToolResult, 'content' | 'error'>): string {
  return shownParts(result)
    .map((part) => (part.type === 'text' ? part.text : note('a picture', part.mimeType, part.data)))
    .join('\n');
}

function toShown(part: Part): ShownPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return IMAGES.has(part.mimeType)
        ? part
        : { type: 'text', text: note('a picture', part.mimeType, part.data) };
    case 'audio':
      return { type: 'text', text: note('a sound', part.mimeType, part.data) };
    case 'resource_link':
      return { type: 'text', text: `${part.name}: ${part.uri}` };
    case 'resource': {
      const { text, blob = '', uri, mimeType = 'unknown type' } = part.resource;
      return { type: 'text', text: text ?? `${uri} ${note('a file', mimeType, blob)}` };
    }
  }
}

function note(what: string, mimeType: string, base64: string): string {
  return `[${what}, ${mimeType}, ${formatBytes(Math.floor((base64.length * 3) / 4))}: cannot be shown here]`;
}
