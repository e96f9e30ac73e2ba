// Built-in tools: functions of wield with a JSON Schema, which get the caller and the snapshot of their call.

import type { ToolContext } from '../../core/context.js';
import { BUILTIN_TAG } from '../../core/name.js';
import { IN_CODE, type Origin } from '../../core/origin.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { type CallInternals, type FunctionAction, NO_TRAITS, type Tool, type Traits } from '../../core/tool.js';
import { createJsonSchema } from '../../schema/json.js';

export interface BuiltinDefinition<Input> extends Pick<Tool, 'name' | 'description'> {
  /** No parameters by default. */
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema | undefined;
  readonly traits?: Partial<Traits>;
  readonly run: (input: Input, context: ToolContext, internals: CallInternals) => unknown;
}

const ORIGIN: Origin = { ...IN_CODE, format: 'builtin', builtin: true };

export function defineBuiltin<Input>(definition: BuiltinDefinition<Input>): Tool {
  const { name, description, inputSchema = NO_PARAMETERS, outputSchema, traits, run } = definition;
  return {
    name,
    description,
    input: createJsonSchema(inputSchema, { closed: true, inspected: true }),
    output: outputSchema && createJsonSchema(outputSchema, { inspected: true }),
    action: { kind: 'function', run: run as FunctionAction['run'], builtin: true },
    origin: ORIGIN,
    traits: { ...NO_TRAITS, ...traits, tags: [BUILTIN_TAG] },
  };
}
