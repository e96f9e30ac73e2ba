// The catalog: all tools in one order, each name once. What is listed is what is found.

import { isToolError, ToolError } from '../core/error.js';
import type { Format, ModuleOffer, OfferSource } from '../core/format.js';
import type { Place, PlaceKind } from '../core/origin.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot, World } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { FindOptions } from './at-path.js';
import { createDelegates } from './delegates.js';
import { createDirectory, type Directory, type Views } from './directory.js';
import type { DirectoryListing } from './entry.js';
import { createFinder, type FinderOptions, hasServers, isRequested, mayBeRemote, mayKeepName } from './find.js';
import type { IndexFile } from './index-file.js';
import { byName, firstOfEachName, type Listing, mergeListing, withoutReserved } from './listing.js';

export interface CatalogOptions
  extends Pick<FinderOptions, 'offered' | 'toAbsolute' | 'ownerOf' | 'formats' | 'upstream'> {
  /** Tools defined in code; first in precedence. */
  readonly registered: Map<string, Tool>;
  /**
   * Built-in tools. People and code can find all of them; models only those that are offered (SRV-14). Their names are
   * reserved on disk (RES-3).
   */
  readonly builtin: readonly Tool[];
  /** Built-in tools that give way to any other tool of their name. */
  readonly yielding?: readonly Tool[];
  /** Returns where resources and prompts come from, in order of precedence. Loaded on first use: most calls need none. */
  readonly offers: () => readonly OfferSource[];
  readonly index: IndexFile;
  readonly world: World;
}

export type Catalog = ReturnType<typeof createCatalog>;

// No format of the others has skills.
const SKILL_PLACES: readonly PlaceKind[] = ['skills', 'packages'];

export function createCatalog(options: CatalogOptions) {
  const { registered, offered, upstream } = options;
  const reserved = options.builtin.map(asBuiltin).sort(byName);
  const yielding = (options.yielding ?? []).map(asBuiltin).sort(byName);
  const views = createViews(options);
  const known = new WeakMap<Snapshot, Listing>();

  // Delegates are resolved like any other reference, but not followed further here (RES-19).
  const delegates = createDelegates((ref, snapshot) => {
    try {
      // Without candidates for a hint: computing them needs a listing, and a listing resolves delegates.
      return seek(ref, { snapshot }, () => ({ tools: [], problems: [], skills: [] }));
    } catch (error) {
      if (!isToolError(error)) throw error;
      return undefined;
    }
  });

  /** `offer` names built-in tools, or groups of them, to list as well. */
  const list = (snapshot: Snapshot, offer: readonly string[] = []): Listing => {
    const directories = views.inOrder(snapshot.places).map((directory) => directory.list(snapshot));
    const merged = mergeListing({
      registered: registered.values(),
      reserved,
      yielding,
      remote: upstream?.list(snapshot, isTakenBy([...registered.values(), ...reserved], directories)),
      directories,
      audienceOf: (tool, listed) => (isRequested(tool, offer) ? 'all' : offered(tool, listed, snapshot)),
    });
    const { tools, problems, broken } = delegates.completeAll(
      merged.tools,
      directories.flatMap(({ skills }) => skills),
      snapshot,
    );
    const listing = {
      ...merged,
      tools,
      problems: [...merged.problems, ...problems],
      otherFiles: [...merged.otherFiles, ...broken],
    };
    if (offer.length === 0) known.set(snapshot, listing);
    return listing;
  };

  const seek = createFinder({
    ...options,
    builtin: [...reserved, ...yielding],
    yielding,
    list,
    views,
    clean: (tool) => withoutReserved(tool).tool,
  });

  return {
    /** Whether it contains tools of upstream servers. */
    hasServers: upstream !== undefined,
    offers: options.offers,
    /** Returns the resources and prompts of module files, in path order. */
    moduleOffers: (snapshot: Snapshot): readonly ModuleOffer[] =>
      views.inOrder(snapshot.places).flatMap((directory) => directory.list(snapshot).offers),
    list,
    /** Returns what was last listed for this snapshot: files are compared once per call. */
    listed: (snapshot: Snapshot): Listing => known.get(snapshot) ?? list(snapshot),
    /** Returns the skills that `listed` has; reads nothing else, so that a workdir without skills is not listed for them. */
    skills(snapshot: Snapshot): readonly Skill[] {
      const listed = known.get(snapshot);
      if (listed !== undefined) return listed.skills;
      const places = snapshot.places.filter(({ kind }) => SKILL_PLACES.includes(kind));
      return firstOfEachName(views.inOrder(places).flatMap((directory) => directory.list(snapshot).skills));
    },
    /** Returns the tool of a reference. Throws `not_found`, `ambiguous` or `invalid_ref`. */
    find(ref: string, reach: FindOptions): Tool {
      const tool = seek(ref, reach);
      return tool.action.kind === 'delegate' ? delegates.complete(tool, reach.snapshot) : tool;
    },
    /** Fetches what files alone do not show, for all tools or for one reference; returns what to wait for. */
    settle: (snapshot: Snapshot, ref?: string, isFound = false) => settleAll(options, snapshot, ref, isFound),
    /** Adds a tool. Throws `conflict` if the name belongs to a registered or an offered built-in tool. */
    register(tool: Tool, snapshot: Snapshot): void {
      const { name } = tool;
      const builtin = reserved.find((candidate) => candidate.name === name);
      if (registered.has(name) || (builtin !== undefined && offered(builtin, list(snapshot), snapshot) !== 'none')) {
        throw new ToolError('conflict', `a tool named "${name}" already exists`, {
          hint: registered.has(name) ? 'unregister it first, or choose another name' : 'choose another name',
        });
      }
      registered.set(name, tool);
    },
    /** Returns whether there was such a tool. */
    unregister: (name: string): boolean => registered.delete(name),
    /** Clears everything cached, or what contains a tool of this name (RES-14). */
    forget: ({ places }: Snapshot, name?: string): void => views.forget(places, name),
  };
}

function settleAll(
  { formats, upstream }: CatalogOptions,
  snapshot: Snapshot,
  ref: string | undefined,
  isFound: boolean,
): readonly Promise<unknown>[] {
  const waits: Promise<unknown>[] = [];
  for (const { pending, settle } of formats) if (settle && pending && pending.size > 0) waits.push(settle(snapshot));
  // A tool of another origin needs no servers that keep their names.
  const isAsked = mayBeRemote(ref) ? hasServers(snapshot) : !isFound && mayKeepName(snapshot);
  const servers = isAsked ? upstream?.settle(snapshot, ref) : undefined;
  if (servers !== undefined) waits.push(servers);
  return waits;
}

function isTakenBy(given: readonly Tool[], directories: readonly DirectoryListing[]): (name: string) => boolean {
  let names: ReadonlySet<string> | undefined;
  return (name) => {
    names ??= new Set([...given, ...directories.flatMap(({ tools }) => tools)].map((tool) => tool.name));
    return names.has(name);
  };
}

function asBuiltin(tool: Tool): Tool {
  return tool.origin.builtin === true ? tool : { ...tool, origin: { ...tool.origin, builtin: true } };
}

// Includes views of directories outside the search path, for programs that refer to tools by path.
const MAX_VIEWS = 256;

function createViews({ formats, index, world }: CatalogOptions): Views {
  const views = new Map<string, Directory>();

  const of = (place: Place, format: Format): Directory => {
    const {
      kind,
      owner,
      directory,
      external = false,
      named = false,
      ignore = [],
      boundary,
      only,
      label,
      filter,
    } = place;
    const own = [
      format.name,
      kind,
      owner,
      external,
      named,
      directory,
      boundary?.directory,
      only,
      label,
      JSON.stringify(filter),
    ];
    const key = [...own, ...ignore].join('\n');
    let known = views.get(key);
    if (known === undefined) {
      if (views.size >= MAX_VIEWS) views.clear();
      known = createDirectory({ place, format, world, index, formats: formatsOf(place) });
      views.set(key, known);
    }
    return known;
  };
  const formatsOf = ({ kind }: Place): readonly Format[] => formats.filter(({ places }) => places.includes(kind));
  const inOrder = (places: readonly Place[]): readonly Directory[] => {
    const all = places.flatMap((place) => formatsOf(place).map((format) => of(place, format)));
    return [...all.filter((directory) => !directory.yields), ...all.filter((directory) => directory.yields)];
  };

  return {
    of,
    inOrder,
    forget(places, name) {
      // Creates the views of the search path, whose index files may contain the tool.
      inOrder(places);
      for (const view of views.values()) view.forget(name);
    },
  };
}

const MAX_READS = 3;

/**
 * Returns what `read` returns, read again after modules were loaded and servers were started that may have the tool of
 * a reference, or any tool.
 */
export async function readSettled<T>(catalog: Catalog, snapshot: Snapshot, read: () => T, ref?: string): Promise<T> {
  for (let attempt = 1; attempt < MAX_READS; attempt++) {
    let value: T | undefined;
    let error: unknown;
    try {
      value = read();
    } catch (thrown) {
      error = thrown;
    }
    const waits = catalog.settle(snapshot, ref, error === undefined);
    if (waits.length > 0) await Promise.all(waits);
    else if (error === undefined) return value as T;
    // Another process may have listed the server since it was read (UPS-127).
    else break;
  }
  return read();
}
