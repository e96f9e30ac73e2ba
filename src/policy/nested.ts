// The `allowed-tools` lists of nested calls, each parsed once (SKL-4).

import { isToolError } from '../core/error.js';
import type { AllowList } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';

const known = new WeakMap<readonly string[], AllowList>();

/** Returns the lists for calls that a tool makes: its own, and those of the calls around it (RUN-11). */
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
