// Searches the tools of a toolbox, with one index per kind of caller.

import type { Catalog } from '../catalog/catalog.js';
import { readSettled } from '../catalog/catalog.js';
import type { ToolSearch } from '../catalog/search/tool-search.js';
import type { Caller } from '../core/caller.js';
import type { CascadeResolver } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { toFaces } from '../policy/view.js';
import { splitDenied } from './denied.js';

/** Returns the visible tools that match a query, best first. */
export type SearchTools = (
  query: string,
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
      const shown = caller.kind === 'model' ? toFaces(allowed, snapshot.settings.view) : allowed;
      return search({ tools: shown, skills }, query, limit);
    });
  };
}
