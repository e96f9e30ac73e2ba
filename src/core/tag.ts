// Reserved tags: those that begin with `meta-` belong to built-in tools, so that a rule can rely on them (RES-31).

import type { Problem } from './problem.js';
import type { Tool } from './tool.js';

/** The tag of every built-in tool. */
export const BUILTIN_TAG = 'meta-internal';

export function isReservedTag(tag: string): boolean {
  return tag.startsWith('meta-');
}

/** Removes reserved tags from a tool and reports them; returns the tool itself if it has none. */
export function withoutReservedTags(
  tool: Tool,
  path: () => string,
): { readonly tool: Tool; readonly problem?: Problem } {
  const claimed = tool.traits.tags.filter(isReservedTag);
  if (claimed.length === 0) return { tool };
  const tags = tool.traits.tags.filter((tag) => !isReservedTag(tag));
  return {
    // Copies descriptors, because tools from an index parse schema and action on first access.
    tool: Object.defineProperties({} as Tool, {
      ...Object.getOwnPropertyDescriptors(tool),
      traits: { value: Object.freeze({ ...tool.traits, tags }), enumerable: true },
    }),
    problem: {
      severity: 'warning',
      path: path(),
      message: `the tool "${tool.name}" has reserved tags: ${claimed.map((tag) => `#${tag}`).join(', ')}`,
      hint: 'use tags that do not begin with meta-',
    },
  };
}
