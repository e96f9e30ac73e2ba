// Search over the tools of a catalog: which of their texts count how much, and an index that follows the catalog.

import { isRecord } from '../../core/json.js';
import type { Skill } from '../../core/skill.js';
import type { Tool } from '../../core/tool.js';
import { type AddText, createSearchIndex, type SearchIndex } from './search.js';

// A tool as search sees it: its name counts most, then its description and its parameters. `about` is what the skill or
// server that it belongs to says of itself.
function tellTexts({ name, description, input, traits, origin }: Tool, about: string, add: AddText): void {
  add(name, 2.5, true);
  add(description, 1);
  const { properties } = input.json;
  if (isRecord(properties)) {
    for (const parameter of Object.keys(properties)) {
      add(parameter, 1);
      const schema = properties[parameter];
      if (isRecord(schema) && typeof schema.description === 'string') add(schema.description, 0.25);
    }
  }
  if (traits.group !== undefined) add(traits.group, 0.5);
  for (const tag of traits.tags) add(tag, 0.5);
  if (origin.server !== null) add(origin.server, 0.5);
  add(about, 0.5);
}

interface Searched {
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
}

/** Search over the visible tools of a catalog; the index is made again only when something in it changed. */
export function createToolSearch(list: () => Searched): (query: string, limit: number) => Tool[] {
  let known: (Searched & { readonly visible: readonly Tool[]; readonly index: SearchIndex }) | undefined;
  return (query, limit) => {
    const { tools, skills } = list();
    if (known === undefined || !isSame(tools, known.tools) || !isSame(skills, known.skills)) {
      const visible = tools.filter((tool) => !tool.traits.hidden);
      const about = new Map(skills.map((skill) => [skill.directory, skill.description]));
      const index = createSearchIndex(visible, (tool, add) =>
        tellTexts(tool, about.get(tool.origin.directory ?? '') ?? '', add),
      );
      known = { tools, skills, visible, index };
    }
    const { visible, index } = known;
    return index.search(query, limit).map((hit) => visible[hit.at]!);
  };
}

function isSame<T>(some: readonly T[], others: readonly T[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}
