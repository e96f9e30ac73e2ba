// The built-in tools `skill-list` and `skill-describe` (RES-21).

import { normalizeTags } from '../core/name.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { defineBuiltin } from '../formats/module/builtin.js';
import type { GetParts } from './builtin.js';
import { mayName } from './visibility.js';

const LINE = 200;
const TRAITS = { group: 'skills', readOnly: true };

/** Creates both tools, sorted by name. */
export function createDescribeTools(parts: GetParts): Tool[] {
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
      run({ name }, _context, { caller: { kind }, snapshot }) {
        const { catalog, cascade } = parts();
        const { description, input, output, origin, traits } = catalog.find(name, {
          snapshot,
          visibleOnly: kind === 'model',
          mayName: (tool, skills) => mayName(cascade, tool, kind, snapshot, skills),
          namedOnly: true,
        });
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
      run({ tags = [], includeHidden = false }, _context, { caller: { kind }, snapshot }) {
        const { catalog, cascade } = parts();
        const wanted = normalizeTags(tags);
        // Hidden tools are never shown to a model (RES-20).
        const hidden = includeHidden && kind !== 'model';
        const isWanted = ({ traits }: Tool): boolean =>
          (hidden || !traits.hidden) && wanted.every((tag) => traits.tags.includes(tag));
        const { tools, skills } = catalog.list(snapshot);
        const found = tools.filter((tool) => mayName(cascade, tool, kind, snapshot, skills) && isWanted(tool));
        const toLine = ({ name, description, traits }: Tool) => ({
          name,
          description: quoteOutside(description, LINE),
          tags: traits.tags,
          ...(traits.hidden ? { hidden: true } : {}),
        });
        return { tools: found.map(toLine) };
      },
    }),
  ];
}
