// Defines built-in tools, whose functions get the caller and the snapshot of their call.

import type { ToolContext } from '../core/context.js';
import { BUILTIN_TAG } from '../core/name.js';
import type { CallInternals, Tool } from '../core/tool.js';
import { type LazyDefinition, toLazyTool } from '../formats/module/lazy.js';

export interface BuiltinDefinition<Input> extends Omit<LazyDefinition, 'load' | 'internal'> {
  readonly run: (input: Input, context: ToolContext, internals: CallInternals) => unknown;
}

export function defineBuiltin<Input>({ run, traits, ...definition }: BuiltinDefinition<Input>): Tool {
  return toLazyTool({
    ...definition,
    traits: { ...traits, tags: [BUILTIN_TAG] },
    internal: true,
    load: async () => run as Awaited<ReturnType<LazyDefinition['load']>>,
  });
}
