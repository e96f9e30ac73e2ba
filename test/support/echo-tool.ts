// A tool that gives its input back, and a schema with one parameter of each type.

import { defineTool, type ToolDefinition } from '../../src/index.js';

export const TYPED = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    flag: { type: 'boolean' },
    list: { type: 'array', items: { type: 'integer' } },
    object: { type: 'object', properties: { inner: { type: 'integer' } } },
    either: { type: ['string', 'number'] },
    nothing: { type: ['null', 'integer'] },
  },
} as const;

/** A tool with the given schema; without one it takes no parameters. */
export function echo(inputSchema: ToolDefinition['inputSchema'], name = 'echo'): ToolDefinition {
  return defineTool({
    name,
    description: 'Gives its input back.',
    ...(inputSchema === undefined ? {} : { inputSchema }),
    execute: (input: unknown) => ({ got: input }),
  });
}
