// Creates the context tools: documents of the workdir as ordinary tools.

import { BUILTIN_TAG } from '../../core/name.js';
import type { Tool } from '../../core/tool.js';
import { toLazyTool } from '../../formats/module/lazy.js';
import type { QueryOptions } from '../query/run.js';
import { DEFINITIONS } from './definitions.js';
import { CONTEXT_GROUP } from './names.js';

// As botholomew names them.
const ALIASES = { logical_path: 'path', output_logical_path: 'output_path' };

/** Creates all context tools, for a toolbox that has a store and can start processes. */
export function createContextTools(options: QueryOptions): Tool[] {
  return Object.entries(DEFINITIONS).map(([name, definition]) => {
    const { description, properties, required, traits, examples = [], output, positional, load } = definition;
    const aliases = Object.hasOwn(properties, 'path') ? ALIASES : undefined;
    return toLazyTool({
      name,
      description,
      inputSchema: { type: 'object', properties, ...(required === undefined ? {} : { required }) },
      outputSchema: output,
      traits: { ...traits, examples, group: CONTEXT_GROUP, tags: [BUILTIN_TAG], positional, aliases },
      load: () => load(options),
    });
  });
}
