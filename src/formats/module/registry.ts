// Tools defined in code, by name.

import { ToolError } from '../../core/error.js';
import type { Tool } from '../../core/tool.js';
import { type ToolDefinition, toTool } from './define.js';

/** Returns tools by name. Throws `conflict` if two have the same name. */
export function toRegistry(definitions: readonly ToolDefinition[]): Map<string, Tool> {
  const registry = new Map<string, Tool>();
  for (const definition of definitions) {
    const tool = toTool(definition);
    if (registry.has(tool.name)) {
      throw new ToolError('conflict', `two tools are named "${tool.name}"`, { hint: 'rename one of them' });
    }
    registry.set(tool.name, tool);
  }
  return registry;
}
