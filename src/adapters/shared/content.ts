// Converts a result to what models can be shown: text, common image formats, and a note for everything else.

import { formatError } from '../../core/error.js';
import type { Part, ToolResult } from '../../core/result.js';
import { formatBytes } from '../../core/text.js';

export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

type Content = Pick<ToolResult, 'content' | 'error'>;

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Returns the parts in order and without empty ones; an error comes first. */
export function toModelParts({ content, error }: Content): ModelPart[] {
  const parts: ModelPart[] = error === undefined ? [] : [{ type: 'text', text: formatError(error) }];
  for (const part of content) {
    const converted = toModelPart(part);
    if (converted.type !== 'text' || converted.text !== '') parts.push(converted);
  }
  return parts;
}

/** Returns all parts as one text, for providers that accept nothing else. */
export function toModelText(result: Content): string {
  return toModelParts(result)
    .map((part) => (part.type === 'text' ? part.text : note('an image', part.mimeType, part.data)))
    .join('\n');
}

function toModelPart(part: Part): ModelPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return IMAGES.has(part.mimeType) ? part : { type: 'text', text: note('an image', part.mimeType, part.data) };
    case 'audio':
      return { type: 'text', text: note('audio', part.mimeType, part.data) };
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
