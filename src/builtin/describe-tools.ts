// The built-in tools `skill-list` and `skill-describe` (RES-21).

import type { Caller } from '../core/caller.js';
import { normalizeTags } from '../core/name.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { defineBuiltin } from './builtin.js';

export interface DescribeToolsOptions {
  /** Returns all tools that this kind of caller may know of, including hidden ones. */
  readonly list: (caller: Caller, snapshot: Snapshot) => readonly Tool[];
  /** Finds a tool. Throws if this kind of caller may not know of it. */
  readonly find: (name: string, caller: Caller, snapshot: Snapshot) => Tool;
}

const LINE = 200;
const TRAITS = { group: 'skills', readOnly: true };

/** Creates both tools, sorted by name. */
export function createDescribeTools({ list, find }: DescribeToolsOptions): Tool[] {
  return [
    defineBuiltin<{ name: string }>({
      name: 'skill-describe',
      description: 'Describe one tool or skill: what it is for, its input, tags and origin.',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Name of the tool or skill' } },
        required: ['name'],
      },
      traits: TRAITS,
      run({ name }, _context, { caller, snapshot }) {
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
      },
    }),
    defineBuiltin<{ tags?: string[]; includeHidden?: boolean }>({
      name: 'skill-list',
      description: 'List the available tools and skills, one per line.',
      inputSchema: {
        type: 'object',
        properties: {
          tags: { type: 'array', items: { type: 'string' }, description: 'Only tools with all of these tags' },
          includeHidden: { type: 'boolean', description: 'Include hidden tools, if the caller may see them' },
        },
      },
      traits: TRAITS,
      run({ tags = [], includeHidden = false }, _context, { caller, snapshot }) {
        const wanted = normalizeTags(tags);
        // Hidden tools are never shown to a model (RES-20).
        const hidden = includeHidden && caller.kind !== 'model';
        const isWanted = ({ traits }: Tool): boolean =>
          (hidden || !traits.hidden) && wanted.every((tag) => traits.tags.includes(tag));
        const toLine = ({ name, description, traits }: Tool) => ({
          name,
          description: quoteOutside(description, LINE),
          tags: traits.tags,
          ...(traits.hidden ? { hidden: true } : {}),
        });
        return { tools: list(caller, snapshot).filter(isWanted).map(toLine) };
      },
    }),
  ];
}
