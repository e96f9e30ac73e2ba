// The built-in tools `skill-list` and `skill-describe` (RES-21).

import { BUILTIN_TAG } from '../core/name.js';
import type { Tool } from '../core/tool.js';
import { toLazyTool } from '../formats/module/lazy.js';
import type { DescribeToolsOptions } from './describe-functions.js';

const TRAITS = { group: 'skills', readOnly: true, tags: [BUILTIN_TAG] };

/** Creates both tools, sorted by name. */
export function createDescribeTools(options: DescribeToolsOptions): Tool[] {
  const functions = async () => (await import('./describe-functions.js')).createDescribeFunctions(options);
  return [
    toLazyTool({
      name: 'skill-describe',
      description: 'Describe one tool or skill: what it is for, its input, tags and origin.',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Name of the tool or skill' } },
        required: ['name'],
      },
      traits: TRAITS,
      internal: true,
      load: async () => (await functions()).describe,
    }),
    toLazyTool({
      name: 'skill-list',
      description: 'List the available tools and skills, one per line.',
      inputSchema: {
        type: 'object',
        properties: {
          tags: { type: 'array', items: { type: 'string' }, description: 'Only tools with all of these tags' },
          includeHidden: { type: 'boolean', description: 'Include hidden tools, if the caller may see them' },
        },
      },
      traits: TRAITS,
      internal: true,
      load: async () => (await functions()).listAll,
    }),
  ];
}
