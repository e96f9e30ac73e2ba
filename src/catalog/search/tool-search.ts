// Search over the tools of a catalog: field weights, and an index that is rebuilt when the catalog changes.

import { isRecord } from '../../core/json.js';
import { isSkillDirectory, type Skill } from '../../core/skill.js';
import type { Tool } from '../../core/tool.js';
import { type AddText, createSearchIndex, type SearchIndex } from './search.js';

/** Weights of the fields of a tool; decision 0023 has how they were chosen. @public for bench/search-weights.mjs */
export const WEIGHTS = {
  name: 2.5,
  description: 1,
  parameter: 1,
  parameterDescription: 0.25,
  server: 0.5,
  about: 0.5,
};

// `about` is the description of the skill that the tool belongs to.
function addTexts(
  { name, description, input, traits, origin }: Tool,
  about: string,
  weights: typeof WEIGHTS,
  add: AddText,
): void {
  add(name, weights.name, true);
  add(description, weights.description);
  const { properties } = input.json;
  if (isRecord(properties)) {
    for (const parameter of Object.keys(properties)) {
      add(parameter, weights.parameter);
      const schema = properties[parameter];
      if (isRecord(schema) && typeof schema.description === 'string')
        add(schema.description, weights.parameterDescription);
    }
  }
  if (traits.group !== undefined) add(traits.group, weights.server);
  for (const tag of traits.tags) add(tag, weights.server);
  if (origin.server !== null) add(origin.server, weights.server);
  add(about, weights.about);
}

interface SearchableListing {
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
}

export type ToolSearch = (listing: SearchableListing, query: string, limit: number) => Tool[];

/** Creates a search over the visible tools of a catalog. The index is rebuilt only when tools or skills changed. */
export function createToolSearch(weights = WEIGHTS): ToolSearch {
  let known: (SearchableListing & { readonly visible: readonly Tool[]; readonly index: SearchIndex }) | undefined;
  return ({ tools, skills }, query, limit) => {
    if (known === undefined || !isSameList(tools, known.tools) || !isSameList(skills, known.skills)) {
      const visible = tools.filter((tool) => !tool.traits.hidden);
      const about = new Map(skills.filter(isSkillDirectory).map((skill) => [skill.directory, skill.description]));
      const index = createSearchIndex(visible, (tool, add) =>
        addTexts(tool, about.get(tool.origin.directory ?? '') ?? '', weights, add),
      );
      known = { tools, skills, visible, index };
    }
    const { visible, index } = known;
    return index.search(query, limit).map((hit) => visible[hit.at]!);
  };
}

function isSameList<T>(some: readonly T[], others: readonly T[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}
