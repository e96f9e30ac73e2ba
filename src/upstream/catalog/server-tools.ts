// The tools of a server that its entry selects, in their current and approved form.

import type { Problem } from '../../core/problem.js';
import { matchSelectorTool, parseSelectors, type Selector } from '../../core/selector.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { OfferKind } from '../remote-tool.js';
import type { ListedTool, Listing } from './listing-file.js';
import { toOfferedName } from './name.js';
import { toProblems } from './problems.js';
import { type ApprovedDefinition, type StoredTool, type ToolPlace, toTool } from './to-tool.js';

/** A resource, template or prompt of a server. */
export interface ServerOffer {
  readonly kind: OfferKind;
  /** Its URI, template or name at the server. */
  readonly id: string;
  readonly tool: Tool;
  /** As it was approved, if it changed. */
  readonly shown: Tool;
}

export interface ServerTools {
  readonly server: ServerEntry;
  readonly listing: Listing;
  /** Tools, resources, templates and prompts, each with its tool. */
  readonly all: readonly Tool[];
  readonly offers: readonly ServerOffer[];
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
  /** The same tools; changed ones as they were approved. */
  readonly shown: readonly Tool[];
  readonly problems: readonly Problem[];
}

export function toServerTools(listing: Listing, place: ToolPlace): ServerTools {
  const { server } = place;
  const isSelected = createFilter(server);
  const selected = listing.tools.filter(({ head }) => isSelected(head));
  const tools = selected.map((tool) => toTool(tool.whole, tool.head, place));
  const shown = selected.map((tool, at) => {
    if (tool.head.changed === undefined) return tools[at]!;
    const before = toApproved(tool);
    return toTool(() => before, before, place);
  });
  const isTool = (_: Tool, at: number): boolean => selected[at]!.head.offers === undefined;
  // The first of two tools with one name is the one that is listed.
  const byName = new Map(
    tools
      .filter(isTool)
      .toReversed()
      .map((tool) => [tool.name, tool]),
  );
  const offers = selected.flatMap(({ head }, at) =>
    head.offers === undefined ? [] : [{ kind: head.offers, id: head.remoteName, tool: tools[at]!, shown: shown[at]! }],
  );
  return {
    server,
    listing,
    all: tools,
    tools: tools.filter(isTool),
    byName,
    shown: shown.filter(isTool),
    offers,
    problems: toProblems(listing, server),
  };
}

/** Whether a stored listing belongs to a server: every tool has the name that it would get. */
export function isOf(listing: Listing, server: ServerEntry): boolean {
  return listing.tools.every(
    ({ head }) => head.name === toOfferedName(server, { name: head.remoteName, offers: head.offers }),
  );
}

/** Adds the approved definition of a changed tool. */
export function withApproved(tool: StoredTool, approved: ApprovedDefinition | undefined): StoredTool {
  const { approved: _, changed: __, ...now } = tool;
  return approved === undefined ? now : { ...now, approved, changed: true };
}

// Replaces all of the current definition, including fields that the approved one does not have.
function toApproved({ whole }: ListedTool): StoredTool {
  const { output: _, described: __, approved, ...now } = whole();
  return { ...now, ...approved };
}

type Filtered = Pick<ListedTool['head'], 'name' | 'remoteName'> & Partial<Pick<ListedTool['head'], 'offers'>>;

/** Returns whether an entry selects a tool or resource: by its name at the server, or its name in the catalog. */
export function createFilter({ allow, deny = [] }: ServerEntry): (head: Filtered) => boolean {
  const allowing = allow === undefined ? undefined : parseSelectors(allow);
  const denying = parseSelectors(deny);
  return ({ name, remoteName, offers }) => {
    const matches = (selector: Selector): boolean =>
      matchSelectorTool(selector, { name }) || matchSelectorTool(selector, { name: remoteName });
    if (denying.some(matches)) return false;
    return allowing === undefined || offers === 'instructions' || allowing.some(matches);
  };
}
