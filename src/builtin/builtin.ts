// What makes a tool a built-in one: where it comes from, and the tag that no other tool can have.

import { BUILTIN_TAG } from '../core/tag.js';
import type { CallerKind, Tool } from '../core/tool.js';

/** The tool as a built-in one. With `asksCaller` its function is told who calls. */
export function toBuiltin(tool: Tool, { asksCaller = false } = {}): Tool {
  const { action } = tool;
  return {
    ...tool,
    ...(asksCaller && action.kind === 'function' ? { action: { ...action, asksCaller } } : {}),
    origin: { ...tool.origin, format: 'builtin' },
    traits: { ...tool.traits, tags: [...tool.traits.tags, BUILTIN_TAG] },
  };
}

export type AskingFunction<Input> = (input: Input, context: unknown, caller?: CallerKind) => unknown;
