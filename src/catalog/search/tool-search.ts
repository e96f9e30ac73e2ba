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

// Levels of nested parameters that are searched; a schema that refers to itself has no end.
const MAX_DEPTH = 3;

// `about` is the description of the skill that the tool belongs to.
function addTexts(
  { name, description, input, traits, origin }: Tool,
  about: string,
  weights: typeof WEIGHTS,
  add: AddText,
): void {
  add(name, weights.name, true);
  add(description, weights.description);
  addParameters(input.json, weights.parameter, weights.parameterDescription, add);
  if (traits.group !== undefined) add(traits.group, weights.server);
  for (const tag of traits.tags) add(tag, weights.server);
  if (origin.server !== null) add(origin.server, weights.server);
  add(about, weights.about);
}

// Names of nested parameters, choices and descriptions have the weight `inner`.
function addParameters(schema: unknown, outer: number, inner: number, add: AddText, depth = 0): void {
  if (!isRecord(schema) || depth > MAX_DEPTH) return;
  const { properties, items } = schema;
  addParameters(items, outer, inner, add, depth + 1);
  if (!isRecord(properties)) return;
  for (const [name, parameter] of Object.entries(properties)) {
    add(name, outer);
    if (!isRecord(parameter)) continue;
    const { description, enum: choices } = parameter;
    if (typeof description === 'string') add(description, inner);
    if (Array.isArray(choices)) for (const choice of choices) if (typeof choice === 'string') add(choice, inner);
    addParameters(parameter, inner, inner, add, depth + 1);
  }
}

// Names of tools that belong together usually begin with the same word.
function familyOf({ name, traits, origin }: Tool): string {
  return origin.server ?? traits.group ?? /[\p{L}\p{N}]+/u.exec(name)?.[0].toLowerCase() ?? name;
}

interface SearchableListing {
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
}

export type ToolSearch = (listing: SearchableListing, query: string | readonly string[], limit: number) => Tool[];

/** Creates a search over the visible tools of a catalog. The index is rebuilt only when tools or skills changed. */
export function createToolSearch(weights = WEIGHTS): ToolSearch {
  let known: (SearchableListing & { readonly visible: readonly Tool[]; readonly index: SearchIndex }) | undefined;
  return ({ tools, skills }, query, limit) => {
    if (known === undefined || !isSameList(tools, known.tools) || !isSameList(skills, known.skills)) {
      const visible = tools.filter((tool) => !tool.traits.hidden);
      const about = new Map(skills.filter(isSkillDirectory).map((skill) => [skill.directory, skill.description]));
      const index = createSearchIndex(
        visible,
        (tool, add) => addTexts(tool, about.get(tool.origin.directory ?? '') ?? '', weights, add),
        familyOf,
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
