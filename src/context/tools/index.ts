// The context tools: documents of the workdir as ordinary tools; what each does is loaded when it is called.

import type { ToolContext } from '../../core/context.js';
import type { Json } from '../../core/json.js';
import { LinePatchSchema } from '../../core/line-patch.js';
import type { JsonSchema } from '../../core/schema.js';
import { NO_TRAITS, type Origin, type Tool } from '../../core/tool.js';
import { type ToolDefinition, toTool } from '../../formats/module/define.js';
import type { QueryOptions } from '../query/run.js';

export const CONTEXT_GROUP = 'context';
const TAGS = ['meta-internal'];
const ORIGIN: Origin = {
  format: 'builtin',
  uri: null,
  directory: null,
  source: null,
  digest: null,
  server: null,
  owner: 'program',
};
export const CONTEXT_PIPE = 'context_pipe';
export const CONTEXT_QUERY = 'context_query';
// The inner tool has a limit of its own; this one only has to be longer than any.
const PIPE_TIMEOUT_MS = 24 * 3_600_000;

const PATH = { type: 'string', description: 'Path of the document, as in notes/today.md' };
const BELOW = { type: 'string', description: 'Only this path and what lies below it' };
const VERSION = { type: 'integer', minimum: 1, description: 'A version that context_versions shows' };
const ON_CONFLICT = {
  enum: ['error', 'overwrite'],
  default: 'error',
  description: 'What happens where the path is taken',
};

interface Definition {
  readonly description: string;
  readonly properties: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly traits?: Pick<ToolDefinition, 'readOnly' | 'idempotent' | 'destructive' | 'timeoutMs'>;
  readonly examples?: readonly Json[];
  readonly output?: JsonSchema;
  readonly positional?: readonly string[];
  readonly load: (options: QueryOptions) => Promise<(input: never, context: ToolContext) => unknown>;
}

const LOOKS = { readOnly: true, idempotent: true } as const;

const DEFINITIONS: Readonly<Record<string, Definition>> = {
  context_write: {
    description: 'Write a document. Fails where the path is taken, unless on_conflict is "overwrite".',
    properties: {
      path: PATH,
      content: { type: 'string', description: 'The text' },
      on_conflict: ON_CONFLICT,
    },
    required: ['path', 'content'],
    load: async () => (await import('./write.js')).write,
  },
  context_read: {
    description: 'Read a document, or some of its lines.',
    properties: {
      path: PATH,
      offset: { type: 'integer', minimum: 1, description: 'First line, from 1' },
      limit: { type: 'integer', minimum: 1, description: 'How many lines' },
      version: VERSION,
    },
    required: ['path'],
    traits: LOOKS,
    load: async () => (await import('./look.js')).read,
  },
  context_edit: {
    description: 'Change lines of a document: all patches or none. Line numbers are those before any change.',
    properties: { path: PATH, patches: { type: 'array', minItems: 1, items: LinePatchSchema as Json } },
    required: ['path', 'patches'],
    load: async () => (await import('./write.js')).edit,
  },
  context_tree: {
    description: 'Show which documents there are, as a tree.',
    properties: {
      path: BELOW,
      max_depth: { type: 'integer', minimum: 1, description: 'How many levels; deeper ones are counted' },
    },
    traits: LOOKS,
    positional: ['path'],
    load: async () => (await import('./tree.js')).tree,
  },
  context_list: {
    description: 'List documents with size, kind, version and time.',
    properties: { path: BELOW },
    traits: LOOKS,
    positional: ['path'],
    load: async () => (await import('./look.js')).list,
  },
  context_exists: {
    description: 'Tell whether there is a document at a path.',
    properties: { path: PATH },
    required: ['path'],
    traits: LOOKS,
    load: async () => (await import('./look.js')).exists,
  },
  context_copy: {
    description: 'Copy a document to another path.',
    properties: {
      from: { type: 'string', description: 'Path of the document' },
      to: { type: 'string', description: 'Path of the copy' },
      on_conflict: ON_CONFLICT,
    },
    required: ['from', 'to'],
    load: async () => (await import('./write.js')).copy,
  },
  context_delete: {
    description: 'Delete a document. Its versions stay, and context_restore brings it back.',
    properties: { path: PATH },
    required: ['path'],
    load: async () => (await import('./write.js')).remove,
  },
  context_restore: {
    description: 'Bring back a deleted document, or an earlier version of one, as a new version.',
    properties: { path: PATH, version: VERSION },
    required: ['path'],
    load: async () => (await import('./write.js')).restore,
  },
  context_versions: {
    description: 'List the versions of a document, newest first.',
    properties: { path: PATH },
    required: ['path'],
    traits: LOOKS,
    load: async () => (await import('./look.js')).versions,
  },
  context_search: {
    description: 'Find passages in documents by words, best first.',
    properties: {
      query: { type: 'string', description: 'Words to look for' },
      path: BELOW,
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 10, description: 'How many documents' },
    },
    required: ['query'],
    traits: LOOKS,
    load: async () => (await import('./look.js')).search,
  },
  [CONTEXT_PIPE]: {
    description:
      'Call another tool and store its whole output as a document, without showing it. ' +
      'Then use context_search or context_query on the path.',
    properties: {
      tool_name: { type: 'string', description: 'Name of the tool to call' },
      tool_input: { type: 'object', default: {}, description: 'Its input' },
      path: { type: 'string', description: 'Path of the document to write' },
      on_conflict: ON_CONFLICT,
    },
    required: ['tool_name', 'path'],
    traits: { timeoutMs: PIPE_TIMEOUT_MS },
    positional: ['tool_name', 'path'],
    output: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        bytes_written: { type: 'integer' },
        preview: { type: 'string', maxLength: 200 },
      },
      required: ['path', 'bytes_written', 'preview'],
    },
    load: async () => (await import('./pipe.js')).pipe,
  },
  [CONTEXT_QUERY]: {
    description: [
      'Reduce a JSON document with a JSONata expression, without reading it. $ is the root:',
      'filter $[amount > 100], pluck $.{ "id": id, "subject": subject }, dedup $distinct(email),',
      'sort and slice $^(>created)[[0..9]], sum $sum(amount), count by day ${ $substring(ts,0,10): $count($) }.',
      'The expression "?" gives the syntax.',
    ].join(' '),
    properties: {
      path: { type: 'string', description: 'Path of a JSON document, or the id of a large result, r_…' },
      expression: { type: 'string', default: '', description: 'JSONata; "?" explains it' },
      output_path: { type: 'string', description: 'Write the result to this path instead of showing it' },
      on_conflict: ON_CONFLICT,
    },
    required: ['path'],
    examples: [{ path: 'inbox.json', expression: '$sum(amount)' }],
    positional: ['path', 'expression'],
    load: async (options) => {
      const { createQuery } = await import('./query.js');
      return createQuery(options);
    },
  },
};

/** All of them, for a toolbox that has a store and can start processes. */
export function createContextTools(options: QueryOptions): Tool[] {
  return Object.entries(DEFINITIONS).map(([name, definition]) => createTool(name, definition, options));
}

function createTool(name: string, definition: Definition, options: QueryOptions): Tool {
  const { description, properties, required, traits, examples = [], output, positional, load } = definition;
  let loaded: ReturnType<typeof load> | undefined;
  const execute = async (input: never, context: ToolContext): Promise<unknown> => {
    loaded ??= load(options);
    return (await loaded)(input, context);
  };
  // Checked and frozen when it is first looked at: most commands look at none of them.
  let made: Tool | undefined;
  const make = (): Tool => {
    made ??= toTool({
      name,
      description,
      inputSchema: { type: 'object', properties, ...(required === undefined ? {} : { required }) },
      ...(output === undefined ? {} : { outputSchema: output }),
      execute,
    });
    return made;
  };
  const tool = {
    name,
    description,
    get input() {
      return make().input;
    },
    action: { kind: 'function', run: execute as (input: Json, context: ToolContext) => unknown },
    origin: ORIGIN,
    traits: {
      ...NO_TRAITS,
      ...traits,
      examples,
      group: CONTEXT_GROUP,
      tags: TAGS,
      ...(positional && { positional }),
    },
  } as const;
  if (output === undefined) return tool;
  return Object.defineProperty(tool, 'output', { enumerable: true, get: () => make().output });
}
