// Reserved tags: those that begin with `meta-` belong to built-in tools, so that a rule can rely on them (RES-31).

import type { Problem } from './problem.js';
import type { Tool } from './tool.js';

/** The tag of every built-in tool. */
export const BUILTIN_TAG = 'meta-internal';

export function isReservedTag(tag: string): boolean {
  return tag.startsWith('meta-');
}

/** The tool without the reserved tags that it claims, and what is said of that; the tool itself where it claims none. */
export function withoutReservedTags(
  tool: Tool,
  path: () => string,
): { readonly tool: Tool; readonly problem?: Problem } {
  const claimed = tool.traits.tags.filter(isReservedTag);
  if (claimed.length === 0) return { tool };
  const tags = tool.traits.tags.filter((tag) => !isReservedTag(tag));
  return {
    // By descriptors: of a tool from an index, schema and action are still to be read.
    tool: Object.defineProperties({} as Tool, {
      ...Object.getOwnPropertyDescriptors(tool),
      traits: { value: Object.freeze({ ...tool.traits, tags }), enumerable: true },
    }),
    problem: {
      severity: 'warning',
      path: path(),
      message: `the tool "${tool.name}" claims ${claimed.map((tag) => `#${tag}`).join(', ')}, which only built-in tools have`,
      hint: 'use tags that do not begin with meta-',
    },
  };
}
