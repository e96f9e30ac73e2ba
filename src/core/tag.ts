// Tags with a meaning: those that begin with `meta-` belong to built-in tools (RES-31), and those of workers say where a tool runs (FLT-7).

import type { Problem } from './problem.js';
import type { Tool } from './tool.js';

/** The tag of every built-in tool. */
export const BUILTIN_TAG = 'meta-internal';

/** The form of the tag of a worker, for messages. */
export const WORKER_TAG_FORM = 'word of lower-case letters, digits and -';

const WORKER_TAG = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** Parses the tag of a worker: `gpu`. */
export function parseWorkerTag(text: string): string | undefined {
  const tag = text.trim();
  return WORKER_TAG.test(tag) ? tag : undefined;
}

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
