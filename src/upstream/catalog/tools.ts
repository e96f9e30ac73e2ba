// Tools of a server from its stored tool list: those that its entry selects, as they are and as they were approved.

import { toRemoteUri } from '../../core/name.js';
import { parseSelectors, type Selector } from '../../core/selector.js';
import { matchSelectorTool } from '../../core/selector-match.js';
import type { RemoteAction, Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { createJsonSchema } from '../../schema/json.js';
import type { OfferKind, ServerOffer } from '../remote-tool.js';
import type { ApprovedDefinition, Listing, StoredTool } from './listing-file.js';
import { toOfferedName } from './name.js';
import { type ServerSkills, toServerSkills } from './skills.js';

/** The server of a tool. */
export interface ToolContext {
  readonly server: ServerEntry;
  readonly configuration: string;
  readonly target: string;
}

/** Converts a stored tool; `name` replaces its name in the catalog. */
export function toTool(stored: StoredTool, { server, configuration, target }: ToolContext, name = stored.name): Tool {
  const { remoteName, offers, description, traits, definition, described, input, output } = stored;
  return {
    name,
    description,
    traits: server.timeoutMs === undefined ? traits : { ...traits, timeoutMs: server.timeoutMs },
    input: createJsonSchema(input, { closed: true, inspected: true }),
    output: output && createJsonSchema(output, { inspected: true }),
    origin: {
      format: 'upstream',
      uri: toRemoteUri(server.name, offers === undefined ? remoteName : `${offers}:${remoteName}`),
      directory: null,
      source: server.position.file,
      digest: null,
      server: server.name,
      owner: 'upstream',
      otherName: name === stored.name ? prefixedNameOf(stored, server) : stored.name,
      configuredBy: server.owner === 'workspace' ? 'workspace' : undefined,
    },
    action: {
      kind: 'remote',
      server: server.name,
      tool: remoteName,
      target,
      configuration,
      definition,
      described,
      method: methodOf(offers),
    },
  };
}

function methodOf(offers: OfferKind | undefined): RemoteAction['method'] {
  if (offers === undefined) return undefined;
  return offers === 'prompt' ? 'prompts/get' : 'resources/read';
}

// The name that a tool which keeps its own one has if that is taken.
function prefixedNameOf({ name, remoteName, offers }: StoredTool, server: ServerEntry): string | undefined {
  if (server.prefix !== false) return undefined;
  const prefixed = toOfferedName({ ...server, prefix: undefined }, { name: remoteName, offers });
  return prefixed === name ? undefined : prefixed;
}

export interface ServerTools {
  readonly server: ServerEntry;
  readonly listing: Listing;
  /** Tools, resources, templates and prompts, each with its tool. */
  readonly all: readonly Tool[];
  readonly offers: readonly ServerOffer[];
  readonly skills: ServerSkills;
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
  /** The same tools; changed ones as they were approved. */
  readonly shown: readonly Tool[];
  /** Names of those that differ from their approved definition. */
  readonly changed: readonly string[];
  /** The same tools by their other name. */
  readonly renamed: ReadonlyMap<Tool, Tool>;
}

export function toServerTools(listing: Listing, context: ToolContext): ServerTools {
  const { server } = context;
  const renamed = new Map<Tool, Tool>();
  const convert = (stored: StoredTool): Tool => {
    const tool = toTool(stored, context);
    const { otherName } = tool.origin;
    if (otherName !== undefined) renamed.set(tool, toTool(stored, context, otherName));
    return tool;
  };
  const selected = listing.tools.filter(createFilter(server)).map((stored) => {
    const tool = convert(stored);
    return { stored, tool, shown: stored.approved === undefined ? tool : convert(toApproved(stored, stored.approved)) };
  });
  const own = selected.filter(({ stored }) => stored.offers === undefined);
  const offers = selected.flatMap(({ stored: { offers: kind, remoteName }, tool, shown }) =>
    kind === undefined ? [] : [{ kind, id: remoteName, tool, shown }],
  );
  return {
    server,
    listing,
    all: selected.map(({ tool }) => tool),
    tools: own.map(({ tool }) => tool),
    // The first of two tools with one name is the one that is listed.
    byName: new Map(own.toReversed().map(({ tool }) => [tool.name, tool])),
    shown: own.map(({ shown }) => shown),
    offers,
    skills: toServerSkills(offers, server),
    changed: selected.flatMap(({ stored }) => (stored.approved === undefined ? [] : [stored.name])),
    renamed,
  };
}

// Replaces all of the current definition, including fields that the approved one does not have.
function toApproved(stored: StoredTool, approved: ApprovedDefinition): StoredTool {
  const { output: _, described: __, ...now } = stored;
  return { ...now, ...approved };
}

/** Whether a stored listing belongs to a server: every tool has the name that it would get. */
export function isOf({ tools }: Listing, server: ServerEntry): boolean {
  return tools.every(({ name, remoteName, offers }) => name === toOfferedName(server, { name: remoteName, offers }));
}

type Filtered = Pick<StoredTool, 'name' | 'remoteName' | 'offers'>;

/** Returns whether an entry selects a tool or resource: by its name at the server, or its name in the catalog. */
export function createFilter({ allow, deny = [] }: ServerEntry): (tool: Filtered) => boolean {
  const allowing = allow === undefined ? undefined : parseSelectors(allow);
  const denying = parseSelectors(deny);
  return ({ name, remoteName, offers }) => {
    const matches = (selector: Selector): boolean =>
      matchSelectorTool(selector, { name }) || matchSelectorTool(selector, { name: remoteName });
    if (denying.some(matches)) return false;
    return allowing === undefined || offers === 'instructions' || allowing.some(matches);
  };
}
