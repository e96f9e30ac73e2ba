// The context tools: documents of the workdir as ordinary tools.

import type { ToolContext } from '../../core/context.js';
import type { Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Tool } from '../../core/tool.js';
import { defineBuiltin } from '../../formats/module/builtin.js';
import type { ToolDefinition } from '../../formats/module/define.js';
import { LinePatchSchema } from '../line-patch.js';
import type { QueryOptions } from '../query/run.js';
import { pipe } from './pipe.js';
import { createQuery } from './query.js';
import { exists, list, read, search, versions } from './read.js';
import { tree } from './tree.js';
import { copy, edit, remove, restore, write } from './write.js';

// Longer than any limit of the inner tool.
const PIPE_TIMEOUT_MS = 24 * 3_600_000;

const PATH = { type: 'string', description: 'Path of the document, as in notes/today.md' };
const BELOW = { type: 'string', description: 'Only this path and everything below it' };
const VERSION = { type: 'integer', minimum: 1, description: 'A version number from context_versions' };
const ON_CONFLICT = {
  enum: ['error', 'overwrite'],
  default: 'error',
  description: 'What to do if the path already exists',
};

interface ContextDefinition {
  readonly description: string;
  readonly properties: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly traits?: Pick<ToolDefinition, 'readOnly' | 'idempotent' | 'destructive' | 'timeoutMs'>;
  readonly examples?: readonly Json[];
  readonly output?: JsonSchema;
  readonly positional?: readonly string[];
  readonly run: (input: never, context: ToolContext) => unknown;
}

const READ_ONLY = { readOnly: true, idempotent: true } as const;

// As botholomew names them.
const ALIASES = { logical_path: 'path', output_logical_path: 'output_path' };

/** Creates all context tools, for a toolbox that has a store and can start processes. */
export function createContextTools(options: QueryOptions): Tool[] {
  return Object.entries(toDefinitions(options)).map(([name, definition]) => {
    const { description, properties, required, traits, examples = [], output, positional, run } = definition;
    const aliases = Object.hasOwn(properties, 'path') ? ALIASES : undefined;
    return defineBuiltin({
      name,
      description,
      inputSchema: { type: 'object', properties, ...(required === undefined ? {} : { required }) },
      outputSchema: output,
      traits: { ...traits, examples, group: 'context', positional, aliases },
      run,
    });
  });
}

const toDefinitions = (options: QueryOptions): Readonly<Record<string, ContextDefinition>> => ({
  context_write: {
    description: 'Write a document. Fails if the path already exists, unless on_conflict is "overwrite".',
    properties: { path: PATH, content: { type: 'string', description: 'The text' }, on_conflict: ON_CONFLICT },
    required: ['path', 'content'],
    run: write,
  },
  context_read: {
    description: 'Read a document, or some of its lines.',
    properties: {
      path: PATH,
      offset: { type: 'integer', minimum: 1, description: 'First line, counted from 1' },
      limit: { type: 'integer', minimum: 1, description: 'How many lines' },
      version: VERSION,
    },
    required: ['path'],
    traits: READ_ONLY,
    run: read,
  },
  context_edit: {
    description: 'Edit lines of a document: all patches or none. Line numbers refer to the unedited document.',
    properties: { path: PATH, patches: { type: 'array', minItems: 1, items: LinePatchSchema as unknown as Json } },
    required: ['path', 'patches'],
    run: edit,
  },
  context_tree: {
    description: 'Show all documents as a tree.',
    properties: {
      path: BELOW,
      max_depth: {
        type: 'integer',
        minimum: 1,
        description: 'How many levels to show; deeper documents are only counted',
      },
    },
    traits: READ_ONLY,
    positional: ['path'],
    run: tree,
  },
  context_list: {
    description: 'List documents with size, kind, version and time of the last change.',
    properties: { path: BELOW },
    traits: READ_ONLY,
    positional: ['path'],
    run: list,
  },
  context_exists: {
    description: 'Check whether a document exists.',
    properties: { path: PATH },
    required: ['path'],
    traits: READ_ONLY,
    run: exists,
  },
  context_copy: {
    description: 'Copy a document to another path.',
    properties: {
      from: { type: 'string', description: 'Path of the document' },
      to: { type: 'string', description: 'Path of the copy' },
      on_conflict: ON_CONFLICT,
    },
    required: ['from', 'to'],
    run: copy,
  },
  context_delete: {
    description: 'Delete a document. Its versions are kept, and context_restore restores it.',
    properties: { path: PATH },
    required: ['path'],
    run: remove,
  },
  context_restore: {
    description: 'Restore a deleted document, or an earlier version, as a new version.',
    properties: { path: PATH, version: VERSION },
    required: ['path'],
    run: restore,
  },
  context_versions: {
    description: 'List the versions of a document, newest first.',
    properties: { path: PATH },
    required: ['path'],
    traits: READ_ONLY,
    run: versions,
  },
  context_search: {
    description: 'Full-text search in documents, best matches first.',
    properties: {
      query: { type: 'string', description: 'Words to search for' },
      path: BELOW,
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 10, description: 'How many documents' },
    },
    required: ['query'],
    traits: READ_ONLY,
    run: search,
  },
  context_pipe: {
    description:
      'Call another tool and store its complete output as a document instead of returning it. ' +
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
    run: pipe,
  },
  context_query: {
    description: [
      'Reduce a JSON document with a JSONata expression, without reading all of it. $ is the root:',
      'filter $[amount > 100], pluck $.{ "id": id, "subject": subject }, dedup $distinct(email),',
      'sort and slice $^(>created)[[0..9]], sum $sum(amount), count by day ${ $substring(ts,0,10): $count($) }.',
      'The expression "?" returns a syntax reference.',
    ].join(' '),
    properties: {
      path: { type: 'string', description: 'Path of a JSON document, or the id of a large result, r_…' },
      expression: { type: 'string', default: '', description: 'JSONata; "?" returns a syntax reference' },
      output_path: { type: 'string', description: 'Write the result to this path instead of returning it' },
      max_input_bytes: { type: 'integer', minimum: 1, description: 'Refuse a larger document' },
      on_conflict: ON_CONFLICT,
    },
    required: ['path'],
    examples: [{ path: 'inbox.json', expression: '$sum(amount)' }],
    positional: ['path', 'expression'],
    run: createQuery(options),
  },
});
