// Search over the tools of a catalog: which of their texts count how much, and an index that follows the catalog.

import { isRecord } from '../core/json.js';
import type { Skill } from '../core/skill.js';
import type { Tool } from '../core/tool.js';
import { createSearchIndex, type SearchEntry, type SearchIndex } from './search.js';

/**
 * A tool as search sees it: its name counts most, then its description and its parameters. `about` is what the skill or
 * server that it belongs to says of itself.
 */
export function toSearchEntry(tool: Tool, about: string): SearchEntry {
  const { properties } = tool.input.json;
  const parameters = isRecord(properties) ? Object.entries(properties) : [];
  const { group = '', tags } = tool.traits;
  return {
    name: tool.name,
    fields: [
      { text: tool.name, weight: 2.5, ordered: true },
      { text: tool.description, weight: 1 },
      { text: parameters.map(([name]) => name).join(' '), weight: 1 },
      { text: parameters.map(([, schema]) => describe(schema)).join(' '), weight: 0.25 },
      { text: [group, ...tags, tool.origin.server ?? ''].join(' '), weight: 0.5 },
      { text: about, weight: 0.5 },
    ],
  };
}

function describe(schema: unknown): string {
  return isRecord(schema) && typeof schema.description === 'string' ? schema.description : '';
}

interface Searched {
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
}

/** Search over the visible tools of a catalog; the index is made again only when something in it changed. */
export function createToolSearch(list: () => Searched): (query: string, limit: number) => Tool[] {
  let known: (Searched & { readonly index: SearchIndex }) | undefined;
  return (query, limit) => {
    const listed = list();
    const tools = listed.tools.filter((tool) => !tool.traits.hidden);
    const { skills } = listed;
    if (known === undefined || !isSame(tools, known.tools) || !isSame(skills, known.skills)) {
      const about = new Map(skills.map((skill) => [skill.directory, skill.description]));
      const entries = tools.map((tool) => toSearchEntry(tool, about.get(tool.origin.directory ?? '') ?? ''));
      known = { tools, skills, index: createSearchIndex(entries) };
    }
    return known.index.search(query, limit).map((hit) => tools[hit.at]!);
  };
}

function isSame<T>(some: readonly T[], others: readonly T[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}
