// Marks tools as built-in ones.

import { BUILTIN_TAG } from '../core/name.js';
import type { CallInternals, Tool } from '../core/tool.js';

/** Returns the tool as a built-in one, whose function gets the caller and the snapshot. */
export function toBuiltin(tool: Tool): Tool {
  const builtin = toInternal(tool);
  return { ...builtin, traits: { ...tool.traits, tags: [...tool.traits.tags, BUILTIN_TAG] } };
}

/** The same without the tag of built-in tools. */
function toInternal(tool: Tool): Tool {
  const { action, origin } = tool;
  return {
    ...tool,
    action: action.kind === 'function' ? { ...action, builtin: true } : action,
    origin: { ...origin, format: 'builtin' },
  };
}

/** A function that gets the internals of its call. */
export type BuiltinFunction<Input> = (input: Input, context: unknown, internals?: CallInternals) => unknown;
