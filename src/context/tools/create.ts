// Creates the context tools: documents of the workdir as ordinary tools.

import type { ToolContext } from '../../core/context.js';
import type { Json } from '../../core/json.js';
import { BUILTIN_TAG } from '../../core/tag.js';
import { NO_TRAITS, type Origin, type Tool } from '../../core/tool.js';
import { toTool } from '../../formats/module/define.js';
import type { QueryOptions } from '../query/run.js';
import { type ContextDefinition, DEFINITIONS } from './definitions.js';
import { CONTEXT_GROUP } from './names.js';

// As botholomew names them.
const ALIASES = { logical_path: 'path', output_logical_path: 'output_path' };

const ORIGIN: Origin = {
  format: 'builtin',
  uri: null,
  directory: null,
  source: null,
  digest: null,
  server: null,
  owner: 'program',
};

/** Creates all context tools, for a toolbox that has a store and can start processes. */
export function createContextTools(options: QueryOptions): Tool[] {
  return Object.entries(DEFINITIONS).map(([name, definition]) => createTool(name, definition, options));
}

function createTool(name: string, definition: ContextDefinition, options: QueryOptions): Tool {
  const { description, properties, required, traits, examples = [], output, positional, load } = definition;
  const aliases = Object.hasOwn(properties, 'path') ? ALIASES : undefined;
  let loaded: ReturnType<typeof load> | undefined;
  const execute = async (input: never, context: ToolContext): Promise<unknown> => {
    loaded ??= load(options);
    return (await loaded)(input, context);
  };
  // Created on first access, since most commands use none of them.
  let created: Tool | undefined;
  const create = (): Tool => {
    created ??= toTool({
      name,
      description,
      inputSchema: { type: 'object', properties, ...(required === undefined ? {} : { required }) },
      outputSchema: output,
      execute,
    });
    return created;
  };
  return {
    name,
    description,
    get input() {
      return create().input;
    },
    get output() {
      return output && create().output;
    },
    action: { kind: 'function', run: execute as (input: Json, context: ToolContext) => unknown },
    origin: ORIGIN,
    traits: { ...NO_TRAITS, ...traits, examples, group: CONTEXT_GROUP, tags: [BUILTIN_TAG], positional, aliases },
  };
}
