// Selects operations by the configuration.

import { compileGlob } from '../../core/glob.js';
import type { HttpSettings } from '../../core/http.js';
import type { Node } from './document.js';

export interface Filtered {
  readonly method: string;
  readonly path: string;
  readonly node: Node;
}

/** `include` and `exclude` are globs of tool names, of `METHOD /path`, or of tags. */
export function createFilter({ include, exclude }: HttpSettings): (name: string, operation: Filtered) => boolean {
  const toMatcher = (patterns: readonly string[]) => {
    const globs = patterns.map((pattern) => compileGlob(pattern));
    return (texts: readonly string[]): boolean => globs.some((glob) => texts.some((text) => glob.matches(text)));
  };
  const isIncluded = include && toMatcher(include);
  const isExcluded = exclude && toMatcher(exclude);
  return (name, { method, path, node }) => {
    const tags = Array.isArray(node.tags) ? node.tags.map(String) : [];
    const id = typeof node.operationId === 'string' ? [node.operationId] : [];
    const texts = [name, ...id, `${method.toUpperCase()} ${path}`, ...tags];
    return isIncluded?.(texts) !== false && isExcluded?.(texts) !== true;
  };
}
