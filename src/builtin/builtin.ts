// Defines built-in tools, whose functions get the caller and the snapshot of their call.

import type { ToolContext } from '../core/context.js';
import { BUILTIN_TAG } from '../core/name.js';
import type { CallInternals, Tool } from '../core/tool.js';
import { type BuiltinTool, toBuiltin } from '../formats/module/builtin.js';

export interface BuiltinDefinition<Input> extends Omit<BuiltinTool, 'run' | 'internal'> {
  readonly run: (input: Input, context: ToolContext, internals: CallInternals) => unknown;
}

export function defineBuiltin<Input>({ traits, ...definition }: BuiltinDefinition<Input>): Tool {
  return toBuiltin({ ...definition, traits: { ...traits, tags: [BUILTIN_TAG] }, internal: true });
}
