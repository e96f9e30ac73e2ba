// What a server offers of what it listed: the tools that its entry chooses, as they are and as they were approved.

import type { Problem } from '../../core/problem.js';
import { matchSelectorTool, parseSelectors, type Selector } from '../../core/selector.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { ListedTool, Listing } from './listing-file.js';
import { toToolName } from './name.js';
import { toProblems } from './problems.js';
import { type Approved, type KeptTool, type ToolPlace, toTool } from './to-tool.js';

/** What a server gives, made of its listing once. */
export interface Offered {
  readonly server: ServerEntry;
  readonly listing: Listing;
  readonly tools: readonly Tool[];
  /** The same, those that changed as they were approved. */
  readonly shown: readonly Tool[];
  readonly problems: readonly Problem[];
}

export function toOffered(listing: Listing, place: ToolPlace): Offered {
  const { server } = place;
  const isChosen = createChoice(server);
  const chosen = listing.tools.filter(({ head }) => isChosen(head.name, head.remoteName));
  const tools = chosen.map((tool) => toTool(tool.whole, tool.head, place));
  const shown = chosen.map((tool, at) => {
    if (tool.head.changed === undefined) return tools[at]!;
    const before = asApproved(tool);
    return toTool(() => before, before, place);
  });
  return { server, listing, tools, shown, problems: toProblems(listing, server) };
}

/** Whether a file says what this server's listing can say: a name that another tool would have is made up. */
export function isOf(listing: Listing, server: ServerEntry): boolean {
  return listing.tools.every(({ head }) => head.name === toToolName(server.name, head.remoteName));
}

/** A tool with what was approved of it, where it is another by now. */
export function withApproved(tool: KeptTool, approved: Approved | undefined): KeptTool {
  const { approved: _, changed: __, ...now } = tool;
  return approved === undefined ? now : { ...now, approved, changed: true };
}

// Nothing of what it says now, also where nothing stood before.
function asApproved({ whole }: ListedTool): KeptTool {
  const { output: _, described: __, approved, ...now } = whole();
  return { ...now, ...approved };
}

// A selector names a tool as its server does or as it is called here.
function createChoice({ allow, deny = [] }: ServerEntry): (name: string, remoteName: string) => boolean {
  const allowing = allow === undefined ? undefined : parseSelectors(allow);
  const denying = parseSelectors(deny);
  return (name, remoteName) => {
    const matches = (selector: Selector): boolean =>
      matchSelectorTool(selector, { name }) || matchSelectorTool(selector, { name: remoteName });
    return !denying.some(matches) && (allowing === undefined || allowing.some(matches));
  };
}
