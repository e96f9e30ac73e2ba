// Built-in tools, whose code is loaded by their first call.

import type { ToolContext } from '../../core/context.js';
import { IN_CODE, type Origin } from '../../core/origin.js';
import { type CallInternals, type FunctionAction, NO_TRAITS, type Tool, type Traits } from '../../core/tool.js';
import { type ToolDefinition, toTool } from './define.js';

export interface LazyDefinition extends Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'outputSchema'> {
  readonly traits?: Partial<Traits>;
  /** Whether the function gets the internals of its call. */
  readonly internal?: boolean;
  readonly load: () => Promise<(input: never, context: ToolContext, internals?: CallInternals) => unknown>;
}

const ORIGIN: Origin = { ...IN_CODE, format: 'builtin', builtin: true };

/** Creates a built-in tool. */
export function toLazyTool({ traits, internal = false, load, ...definition }: LazyDefinition): Tool {
  let loaded: ReturnType<typeof load> | undefined;
  const run: FunctionAction['run'] = async (...given) => {
    loaded ??= load();
    return ((await loaded) as FunctionAction['run'])(...given);
  };
  return {
    ...toTool({ ...definition, execute: run as ToolDefinition['execute'] }),
    action: { kind: 'function', run, ...(internal ? { builtin: true } : {}) },
    origin: ORIGIN,
    traits: { ...NO_TRAITS, ...traits },
  };
}
