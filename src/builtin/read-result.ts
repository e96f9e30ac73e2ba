// The built-in tool `read_result`: reads a stored result by page, lines or bytes (CTX-2).

import { BUILTIN_TAG } from '../core/name.js';
import type { Tool } from '../core/tool.js';
import { toLazyTool } from '../formats/module/lazy.js';

export const READ_RESULT = 'read_result';

export function createReadResultTool(): Tool {
  return toLazyTool({
    name: READ_RESULT,
    description: 'Read a large result by page, lines, or offset in bytes.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'r_…' },
        page: {
          type: 'integer',
          minimum: 1,
          description: 'From 1; page 1 of JSON is its shape',
        },
        lines: {
          type: 'string',
          pattern: '^[1-9][0-9]{0,9}(-[1-9][0-9]{0,9})?$',
          description: '"10" or "10-20"',
        },
        offset: { type: 'integer', minimum: 0, description: 'First byte, from 0' },
        limit: { type: 'integer', minimum: 1, description: 'Number of bytes' },
      },
      required: ['id'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        size: { type: 'integer' },
        kind: { enum: ['text', 'json', 'binary'] },
        page: { type: 'integer' },
        pages: { type: 'integer' },
        lines: { type: 'string' },
        offset: { type: 'integer' },
        bytes: { type: 'integer' },
        next_offset: { type: 'integer' },
      },
      required: ['id', 'size', 'kind'],
    },
    traits: { readOnly: true, idempotent: true, tags: [BUILTIN_TAG] },
    internal: true,
    load: async () => (await import('./read-stored.js')).createReadResult(),
  });
}
