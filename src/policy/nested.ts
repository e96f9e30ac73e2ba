// What a tool may call in turn: the `allowed-tools` that hold for it, each read once (SKL-4).

import { isToolError } from '../core/error.js';
import type { AllowList } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';

const known = new WeakMap<readonly string[], AllowList>();

/** The lists that hold for calls of a tool, given what it may call and the lists that hold for the call of it (RUN-11). */
export function listsWithin(
  name: string,
  permissions: readonly (readonly string[])[],
  outer: readonly AllowList[],
): readonly AllowList[] {
  if (permissions.length === 0) return outer;
  return [...outer, ...permissions.map((texts) => listOf(name, texts))];
}

function listOf(name: string, texts: readonly string[]): AllowList {
  let list = known.get(texts);
  if (list === undefined) {
    list = readList(name, texts);
    known.set(texts, list);
  }
  return list;
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
