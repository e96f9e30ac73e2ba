// Converts a ToolResult to the protocol's CallToolResult.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { formatError } from '../core/model-text.js';
import { isFailedOutput, type ToolResult } from '../core/result.js';

/**
 * `withStructured` decides whether structured content is sent beside the text, which usually contains the same JSON.
 * What a failed tool returned besides its message is in `_meta` otherwise (MOD-13).
 */
export function toCallToolResult(result: ToolResult, withStructured: boolean): CallToolResult {
  // A tool that returned nothing has an empty text; on the wire that is no content.
  const content = (result.content as CallToolResult['content']).filter(
    (part) => part.type !== 'text' || part.text !== '',
  );
  if (result.error) {
    const text = formatError(result.error);
    // The message of a failed tool may quote its output, which is not sent twice.
    const isQuoted = (part: (typeof content)[number]): boolean =>
      part.type === 'text' && text.includes(part.text.trim());
    return {
      content: [{ type: 'text', text }, ...content.filter((part) => !isQuoted(part))],
      ...structuredOf(result, withStructured),
      isError: true,
      _meta: {
        'wield/error': result.error,
        ...(!withStructured && isFailedOutput(result.structured) ? { 'wield/structured': result.structured } : {}),
      },
    };
  }
  const meta = toMeta(result);
  return {
    content,
    ...structuredOf(result, withStructured),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  };
}

function structuredOf({ structured }: ToolResult, withStructured: boolean): Pick<CallToolResult, 'structuredContent'> {
  if (!withStructured || structured === undefined) return {};
  return { structuredContent: structured as NonNullable<CallToolResult['structuredContent']> };
}

function toMeta({ meta }: ToolResult): Record<string, unknown> {
  return {
    ...meta.remote,
    ...(meta.repaired === undefined ? {} : { 'wield/repaired': meta.repaired }),
    ...(meta.truncated === undefined ? {} : { 'wield/truncated': meta.truncation ?? true }),
  };
}
