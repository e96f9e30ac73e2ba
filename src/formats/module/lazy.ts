// Built-in tools, whose code is loaded by their first call.

import type { ToolContext } from '../../core/context.js';
import { IN_CODE, type Origin } from '../../core/origin.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { type CallInternals, type FunctionAction, NO_TRAITS, type Tool, type Traits } from '../../core/tool.js';
import { createJsonSchema } from '../../schema/json.js';

export interface LazyDefinition extends Pick<Tool, 'name' | 'description'> {
  /** No parameters by default. */
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema | undefined;
  readonly traits?: Partial<Traits>;
  /** Whether the function gets the internals of its call. */
  readonly internal?: boolean;
  readonly load: () => Promise<(input: never, context: ToolContext, internals?: CallInternals) => unknown>;
}

const ORIGIN: Origin = { ...IN_CODE, format: 'builtin', builtin: true };

/** Creates a built-in tool. */
export function toLazyTool(definition: LazyDefinition): Tool {
  const { name, description, inputSchema = NO_PARAMETERS, outputSchema, traits, internal = false, load } = definition;
  let loaded: ReturnType<typeof load> | undefined;
  const run: FunctionAction['run'] = async (...given) => {
    loaded ??= load();
    return ((await loaded) as FunctionAction['run'])(...given);
  };
  return {
    name,
    description,
    input: createJsonSchema(inputSchema, { closed: true, inspected: true }),
    output: outputSchema && createJsonSchema(outputSchema, { inspected: true }),
    action: { kind: 'function', run, ...(internal ? { builtin: true } : {}) },
    origin: ORIGIN,
    traits: { ...NO_TRAITS, ...traits },
  };
}
