// Translates a result into the protocol's: an error is text that a model can act on, never structured content.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { errorText } from '../adapters/shared/content.js';
import type { ToolResult } from '../core/result.js';

/** The protocol's form of a result; `sendsStructured` says whether structured content is asked for, or not in the text. */
export function toCallToolResult(result: ToolResult, sendsStructured: boolean): CallToolResult {
  const content = result.content as CallToolResult['content'];
  if (result.error) {
    // What the tool itself said comes after; a call that never ran said nothing.
    const said = content.filter((part) => part.type !== 'text' || part.text !== '');
    return {
      content: [{ type: 'text', text: errorText(result.error) }, ...said],
      isError: true,
      _meta: { 'wield/error': result.error },
    };
  }
  const notes = toNotes(result);
  return {
    content,
    // The text has the same JSON already, so it is sent twice only where the protocol demands it.
    ...(sendsStructured && result.structured !== undefined
      ? { structuredContent: result.structured as NonNullable<CallToolResult['structuredContent']> }
      : {}),
    ...(Object.keys(notes).length === 0 ? {} : { _meta: notes }),
  };
}

function toNotes({ meta }: ToolResult): Record<string, unknown> {
  return {
    ...meta.remote,
    ...(meta.repaired === undefined ? {} : { 'wield/repaired': meta.repaired }),
    ...(meta.truncated === undefined ? {} : { 'wield/truncated': meta.truncation ?? true }),
  };
}
