// The built-in tool `capabilities_refresh`: writes an inventory of what the tools can do, by theme.

import { BUILTIN_TAG } from '../core/name.js';
import type { Tool } from '../core/tool.js';
import { toLazyTool } from '../formats/module/lazy.js';
import type { CapabilitiesOptions } from './refresh-capabilities.js';

export function createCapabilitiesTool(options: CapabilitiesOptions): Tool {
  return toLazyTool({
    name: 'capabilities_refresh',
    description: 'Update the inventory of what the tools here can do, by theme, for the next run.',
    inputSchema: {
      type: 'object',
      properties: { dry_run: { type: 'boolean', description: 'Show the inventory without writing it' } },
    },
    traits: { group: 'capabilities', tags: [BUILTIN_TAG], idempotent: true },
    internal: true,
    load: async () => (await import('./refresh-capabilities.js')).createRefresh(options),
  });
}
