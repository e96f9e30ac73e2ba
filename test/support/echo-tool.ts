// A tool that returns its input, and a schema with one parameter of each type.

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

/** Creates a tool with this schema, by default without parameters. */
export function echo(inputSchema: ToolDefinition['inputSchema'], name = 'echo'): ToolDefinition {
  return defineTool({
    name,
    description: 'Gives its input back.',
    ...(inputSchema === undefined ? {} : { inputSchema }),
    execute: (input: unknown) => ({ got: input }),
  });
}
