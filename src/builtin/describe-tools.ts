// The built-in tools `skill-list` and `skill-describe`: what tools and skills there are, for a caller that may know.

import { normalizeTags } from '../core/name.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { Caller } from '../core/toolbox.js';
import { toTool } from '../formats/module/define.js';
import { type BuiltinFunction, toBuiltin } from './builtin.js';

export interface DescribeToolsOptions {
  /** Every tool that is listed for this kind of caller, hidden ones too. */
  readonly list: (caller: Caller, snapshot: Snapshot) => readonly Tool[];
  /** Throws where there is none that this kind of caller may know of. */
  readonly find: (name: string, caller: Caller, snapshot: Snapshot) => Tool;
}

const LINE = 200;
const GROUP = 'skills';

/** Both tools, in order of their names (RES-21). */
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
    // A model is not told of hidden tools, however it asks (RES-20).
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
      description: 'List the tools and skills there are, a line each.',
      group: GROUP,
      readOnly: true,
      inputSchema: {
        type: 'object',
        properties: {
          tags: {
            type: 'array',
            items: { type: 'string' },
            description: 'Only those with all of these tags',
          },
          includeHidden: { type: 'boolean', description: 'Hidden ones too, where the caller may see them' },
        },
      },
      execute: listAll,
    }),
  ].map(toBuiltin);
}
