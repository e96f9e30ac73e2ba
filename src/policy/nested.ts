// What a tool may call in turn: the `allowed-tools` that it carries, read once (SKL-4).

import { isToolError } from '../core/error.js';
import type { AllowList } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';
import type { Tool } from '../core/tool.js';

const known = new WeakMap<readonly string[], AllowList>();

/** The lists that hold for calls of a tool, given those that hold for the call of it (RUN-11). */
export function listsWithin(tool: Tool, outer: readonly AllowList[]): readonly AllowList[] {
  const { allowedTools } = tool.traits;
  if (allowedTools === undefined) return outer;
  let list = known.get(allowedTools);
  if (list === undefined) {
    list = readList(tool.name, allowedTools);
    known.set(allowedTools, list);
  }
  return [...outer, list];
}

function readList(name: string, texts: readonly string[]): AllowList {
  const place = { file: null, line: null };
  const of = `allowed-tools of ${name}`;
  try {
    return { of, rules: parseSelectors(texts).map((selector) => ({ selector, ...place })), ...place };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return { of, rules: [], fault: error.message, ...place };
  }
}
