// The built-in tools `skill-list` and `skill-describe`.

import { normalizeTags } from '../core/name.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { Caller } from '../core/toolbox.js';
import { toTool } from '../formats/module/define.js';
import { type BuiltinFunction, toBuiltin } from './builtin.js';

export interface DescribeToolsOptions {
  /** Returns all tools that this kind of caller may know of, including hidden ones. */
  readonly list: (caller: Caller, snapshot: Snapshot) => readonly Tool[];
  /** Finds a tool. Throws if this kind of caller may not know of it. */
  readonly find: (name: string, caller: Caller, snapshot: Snapshot) => Tool;
}

const LINE = 200;
const GROUP = 'skills';

/** Creates both tools, sorted by name (RES-21). */
export function createDescribeTools({ list, find }: DescribeToolsOptions): Tool[] {
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
  return [
    toTool({
      name: 'skill-describe',
      description: 'Describe one tool or skill: what it is for, its input, tags and origin.',
      group: GROUP,
      readOnly: true,
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Name of the tool or skill' } },
        required: ['name'],
      },
      execute: describe,
    }),
    toTool({
      name: 'skill-list',
      description: 'List the available tools and skills, one per line.',
      group: GROUP,
      readOnly: true,
      inputSchema: {
        type: 'object',
        properties: {
          tags: {
            type: 'array',
            items: { type: 'string' },
            description: 'Only tools with all of these tags',
          },
          includeHidden: { type: 'boolean', description: 'Include hidden tools, if the caller may see them' },
        },
      },
      execute: listAll,
    }),
  ].map(toBuiltin);
}
