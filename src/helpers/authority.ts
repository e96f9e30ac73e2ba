// Which skill governs a tool, asked of a toolbox (RES-16).

import type { Skill } from '../core/skill.js';
import type { Tool } from '../core/tool.js';
import type { Toolbox } from '../core/toolbox.js';

/** The main skill that governs a tool; null where there is none. Throws what `find` throws for a name. */
export function findAuthority(toolbox: Pick<Toolbox, 'catalog'>, tool: Tool | string): Promise<Skill | null> {
  return toolbox.catalog.authority(tool);
}
