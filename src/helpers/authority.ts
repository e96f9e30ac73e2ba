// Finds the skill that governs a tool (RES-16).

import type { Skill } from '../core/skill.js';
import type { Tool } from '../core/tool.js';
import type { Toolbox } from '../core/toolbox.js';

/** Returns the main skill that governs a tool, or null. For a name, throws what `find` throws. */
export function findAuthority(toolbox: Pick<Toolbox, 'catalog'>, tool: Tool | string): Promise<Skill | null> {
  return toolbox.catalog.authority(tool);
}
