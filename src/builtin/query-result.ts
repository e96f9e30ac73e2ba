// The built-in tool `query_result`: reduces a stored result by an expression, words or lines (CTX-4).

import type { QueryOptions } from '../context/query/run.js';
import { BUILTIN_TAG } from '../core/name.js';
import type { Tool } from '../core/tool.js';
import { toLazyTool } from '../formats/module/lazy.js';

export const QUERY_RESULT = 'query_result';

export function createQueryResultTool(options: QueryOptions): Tool {
  return toLazyTool({
    name: QUERY_RESULT,
    description: 'Get what you need of a large result: query JSON, search for words, or read lines.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'r_…' },
        query: { type: 'string', description: 'JSONata, as in $sum(amount); "?" shows the syntax' },
        search: { type: 'string', description: 'Words to find' },
        lines: { type: 'string', description: '"10" or "10-20"' },
      },
      required: ['id'],
    },
    traits: { readOnly: true, idempotent: true, tags: [BUILTIN_TAG], positional: ['id', 'query'] },
    internal: true,
    load: async () => {
      const { createQueryResult } = await import('./query-stored.js');
      return createQueryResult(options);
    },
  });
}
