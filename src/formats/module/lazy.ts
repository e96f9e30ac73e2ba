// Tools whose schemas are created on first access, and whose code is loaded by their first call.

import type { ToolContext } from '../../core/context.js';
import type { Origin } from '../../core/origin.js';
import { type CallInternals, type FunctionAction, NO_TRAITS, type Tool, type Traits } from '../../core/tool.js';
import { type ToolDefinition, toTool } from './define.js';

export interface LazyDefinition extends Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'outputSchema'> {
  readonly traits?: Partial<Traits>;
  /** Whether the function gets the internals of its call. */
  readonly internal?: boolean;
  readonly load: () => Promise<(input: never, context: ToolContext, internals?: CallInternals) => unknown>;
}

const ORIGIN: Origin = {
  format: 'builtin',
  uri: null,
  directory: null,
  source: null,
  digest: null,
  server: null,
  owner: 'program',
  builtin: true,
};

/** Creates a built-in tool; most commands use none of them. */
export function toLazyTool({ name, description, inputSchema, outputSchema, ...more }: LazyDefinition): Tool {
  const { traits, internal = false, load } = more;
  let loaded: ReturnType<typeof load> | undefined;
  const run: FunctionAction['run'] = async (...given) => {
    loaded ??= load();
    return ((await loaded) as FunctionAction['run'])(...given);
  };
  let created: Tool | undefined;
  const create = (): Tool => {
    created ??= toTool({ name, description, inputSchema, outputSchema, execute: run as ToolDefinition['execute'] });
    return created;
  };
  return {
    name,
    description,
    get input() {
      return create().input;
    },
    get output() {
      return outputSchema && create().output;
    },
    action: { kind: 'function', run, ...(internal ? { builtin: true } : {}) },
    origin: ORIGIN,
    traits: { ...NO_TRAITS, ...traits },
  };
}
