// What the built-in tools `skill-list` and `skill-describe` do.

import type { Caller } from '../core/caller.js';
import { normalizeTags } from '../core/name.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { BuiltinFunction } from './builtin.js';

export interface DescribeToolsOptions {
  /** Returns all tools that this kind of caller may know of, including hidden ones. */
  readonly list: (caller: Caller, snapshot: Snapshot) => readonly Tool[];
  /** Finds a tool. Throws if this kind of caller may not know of it. */
  readonly find: (name: string, caller: Caller, snapshot: Snapshot) => Tool;
}

const LINE = 200;

export function createDescribeFunctions({ list, find }: DescribeToolsOptions) {
  const describe: BuiltinFunction<{ name: string }> = ({ name }, _context, internals) => {
    const { caller, snapshot } = internals!;
    const { description, input, output, origin, traits } = find(name, caller, snapshot);
    const { format, uri, server, owner } = origin;
    return {
      name,
      description,
      input: input.json,
      ...(output === undefined ? {} : { output: output.json }),
      tags: traits.tags,
      hidden: traits.hidden,
      origin: { format, uri, server, owner },
    };
  };
  const listAll: BuiltinFunction<{ tags?: string[]; includeHidden?: boolean }> = (
    { tags = [], includeHidden = false },
    _context,
    internals,
  ) => {
    const { caller, snapshot } = internals!;
    const wanted = normalizeTags(tags);
    // Hidden tools are never shown to a model (RES-20).
    const hidden = includeHidden && caller.kind !== 'model';
    return {
      tools: list(caller, snapshot)
        .filter(({ traits }) => hidden || !traits.hidden)
        .filter(({ traits }) => wanted.every((tag) => traits.tags.includes(tag)))
        .map(({ name, description, traits }) => ({
          name,
          description: quoteOutside(description, LINE),
          tags: traits.tags,
          ...(traits.hidden ? { hidden: true } : {}),
        })),
    };
  };
  return { describe, listAll };
}
