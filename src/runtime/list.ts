// Lists the tools of a toolbox for a caller, and surveys the whole catalog.

import { type Catalog, readSettled } from '../catalog/catalog.js';
import type { ToolSearch } from '../catalog/search/tool-search.js';
import type { References } from '../catalog/skill-references.js';
import { type Caller, CODE } from '../core/caller.js';
import { memoize } from '../core/memoize.js';
import { readRemote } from '../core/name.js';
import type { CascadeResolver, Narrowing, Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { DeniedTool, ListOptions, Survey } from '../core/toolbox.js';
import { findDenial } from '../policy/decide.js';
import { toRules } from '../policy/rules.js';
import { withAliases } from '../policy/view.js';
import type { CallParts } from './parts.js';

export async function listTools(
  { catalog, cascade }: Pick<CallParts, 'catalog' | 'cascade'>,
  snapshot: Snapshot,
  { hidden = false, caller = CODE, offer = [], knownOnly = false }: ListOptions = {},
): Promise<readonly Tool[]> {
  const read = () => catalog.list(snapshot, offer);
  const listing = knownOnly ? read() : await readSettled(catalog, snapshot, read);
  const isModel = caller.kind === 'model';
  const all = isModel ? [...listing.tools, ...listing.forModels] : listing.tools;
  const isVisible = (tool: Tool): boolean => {
    const { traits } = tool;
    if (!hidden && traits.hidden && !(caller.apps === true && traits.app === true)) return false;
    return !isModel || (traits.ofSkill !== true && !isPlainText(tool));
  };
  const narrowingOf = above(cascade, listing.skills, snapshot);
  const { tools: visible } = splitDenied(all.filter(isVisible), caller, snapshot, narrowingOf);
  if (!isModel) return visible;
  const { results, view } = snapshot.settings;
  return withAliases(results.schemas ? visible : visible.map(withoutOutput), view);
}

// Returns the same object for the same tool, so that an unchanged listing is recognised.
const withoutOutput = memoize(
  (tool: Tool): Tool => (tool.output === undefined ? tool : { ...tool, output: undefined }),
);

/** Lists the tools of upstream servers that a caller may know of. */
export async function listRemoteTools(
  parts: Pick<CallParts, 'catalog' | 'cascade'>,
  snapshot: Snapshot,
  caller: Caller,
) {
  return (await listTools(parts, snapshot, { caller })).flatMap((tool) => {
    const remote = readRemote(tool);
    return remote === undefined ? [] : [{ ...remote, description: tool.description }];
  });
}

export interface SurveyParts {
  readonly catalog: Catalog;
  readonly cascade: CascadeResolver;
  readonly references: References | undefined;
}

/** Returns everything in the catalog, with the problems of the configuration, the files and what they refer to. */
export function surveyCatalog(
  { catalog, cascade, references }: SurveyParts,
  snapshot: Snapshot,
  caller: Caller,
): Survey {
  const { tools, shadowed, otherFiles, problems, skills, unlisted } = catalog.list(snapshot);
  const narrowingOf = above(cascade, skills, snapshot);
  // A main skill that is also on the search path was reported there.
  const inherited = cascade
    .problems(tools, skills, snapshot)
    .filter(({ path, message }) => !problems.some((one) => one.path === path && one.message === message));
  return {
    ...splitDenied(tools, caller, snapshot, narrowingOf),
    shadowed,
    otherFiles,
    skills,
    unlisted: splitDenied(unlisted, caller, snapshot, narrowingOf).tools,
    problems: [...snapshot.problems, ...problems, ...inherited, ...(references?.problems(skills, snapshot) ?? [])],
  };
}

function above(cascade: CascadeResolver, skills: readonly Skill[], snapshot: Snapshot) {
  return (tool: Tool): readonly Narrowing[] => cascade.narrowingAbove(tool, skills, snapshot);
}

// SKL-3: a model is told of a text without parameters as a skill; one tool for each would cost more tokens.
function isPlainText(tool: Tool): boolean {
  return tool.traits.text === true && Object.keys(tool.input.json.properties ?? {}).length === 0;
}

interface SplitTools {
  readonly tools: readonly Tool[];
  readonly denied: readonly DeniedTool[];
}

/** `narrowingOf` returns what the skills above a tool restrict (RES-44). */
export function splitDenied(
  all: readonly Tool[],
  caller: Caller,
  snapshot: Snapshot,
  narrowingOf: (tool: Tool) => readonly Narrowing[],
): SplitTools {
  const tools: Tool[] = [];
  const denied: DeniedTool[] = [];
  const rules = toRules(snapshot);
  for (const tool of all) {
    const narrowing = narrowingOf(tool);
    const verdict = findDenial(tool, caller, narrowing.length === 0 ? rules : toRules(snapshot, { narrowing }));
    if (verdict === undefined) tools.push(tool);
    else denied.push({ tool, verdict });
  }
  return { tools, denied };
}

/** Returns the visible tools that match a query, best first; for several queries, the best of each in turn. */
export type SearchTools = (
  query: string | readonly string[],
  limit: number,
  caller: Caller,
  snapshot: Snapshot,
) => Promise<readonly Tool[]>;

export function createSearch(catalog: Catalog, cascade: CascadeResolver): SearchTools {
  // Callers of one kind see the same tools, so the index of a kind rarely changes.
  const searches = new Map<Caller['kind'], ToolSearch>();
  return async (query, limit, caller, snapshot) => {
    const { createToolSearch } = await import('../catalog/search/tool-search.js');
    const search = searches.get(caller.kind) ?? createToolSearch();
    searches.set(caller.kind, search);
    return readSettled(catalog, snapshot, () => {
      const { tools, skills } = catalog.list(snapshot);
      const narrowingOf = (tool: Tool) => cascade.narrowingAbove(tool, skills, snapshot);
      const allowed = splitDenied(tools, caller, snapshot, narrowingOf).tools;
      const shown = caller.kind === 'model' ? withAliases(allowed, snapshot.settings.view) : allowed;
      return search({ tools: shown, skills }, query, limit);
    });
  };
}
