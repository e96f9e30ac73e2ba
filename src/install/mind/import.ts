// Takes over what mind installed, in one change: registers its sources, installs its items, replaces its links (INS-44).

import { dirname, join, resolve } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { readTextFile } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import { applyPlan, previewPlan } from '../apply/apply.js';
import type { FileEdit } from '../apply/commit.js';
import { isDirectory, isOccupied, type Link, linkKey, readLink } from '../directory.js';
import type { InstallEnvironment } from '../environment.js';
import { type Inventory, loadInventory } from '../inventory.js';
import { itemKey } from '../manifest/item-name.js';
import type { PlannedItem } from '../plan/plan-items.js';
import { type InstallPlan, planAvailable } from '../plan/plans.js';
import { removeUnusedClones } from '../sources/clones.js';
import { fetchSource } from '../sources/fetch.js';
import { type AvailableItem, availableKey, loadSourceTrees } from '../sources/load.js';
import { parseLocation, type SourceLocation } from '../sources/location.js';
import { toRecord } from '../sources/register.js';
import { loadSources, printSources, type SourceRecord } from '../state.js';
import { findObstacle } from './obstacles.js';
import type { MindItem, MindSource, MindState } from './state.js';

/** Something of mind that is not taken over, and stays as it is. */
export interface LeftOver {
  readonly what: string;
  readonly why: string;
}

/** What an import would do. */
export interface MindProposal {
  /** Ids of the sources. */
  readonly sources: readonly string[];
  readonly left: readonly LeftOver[];
  readonly plan: InstallPlan;
  readonly inventory: Inventory;
}

interface ImportOptions {
  /** Further files to write in the same change. */
  readonly files: readonly FileEdit[];
  /** Nothing is changed unless it returns true. */
  readonly agree: (proposal: MindProposal) => Promise<boolean>;
}

/**
 * Changes nothing of mind but links to its store, and no file of the user: what cannot be installed keeps its link. Returns
 * the items that were installed; of a dry run, those that would be.
 */
export async function importMind(state: MindState, environment: InstallEnvironment, { files, agree }: ImportOptions) {
  const { paths } = environment;
  try {
    const left: LeftOver[] = [];
    const { records, ids } = await fetchSources(state.sources, environment, left);
    const inventory = { ...loadInventory(environment), sources: loadSourceTrees(records, environment) };
    const found = findItems(state, ids, inventory, left);
    const plan = planAvailable(chooseItems(found, state, inventory, left), inventory);
    const replaces = findReplaced(plan, found, state, left);
    const sources = [...new Set(ids.values())];
    if (!(await agree({ plan, sources, left, inventory })))
      return { sources, items: await previewPlan(plan, inventory), left, done: false };
    const before = readTextFile(paths.sourcesFile) ?? null;
    const after = printSources(records);
    const registry = sources.length === 0 || before === after ? [] : [{ path: paths.sourcesFile, before, after }];
    const items = await applyPlan(plan, false, inventory, { replaces, files: [...files, ...registry] });
    return { sources, items, left, done: true };
  } finally {
    removeUnusedClones(paths, loadSources(paths));
  }
}

// Returns all records, and the ids of these sources by the names of mind.
async function fetchSources(sources: readonly MindSource[], environment: InstallEnvironment, left: LeftOver[]) {
  const known = loadSources(environment.paths);
  let records = known;
  const ids = new Map<string, string>();
  for (const source of sources) {
    try {
      const location = toLocation(source, environment.world.home);
      const same = records.find((one) => one.location === location.location);
      const record =
        same === undefined
          ? await fetchOne(source, location, records, environment)
          : known.includes(same)
            ? same
            : { ...same, roots: joinRoots(same.roots, source.roots) };
      const namespace = record.prefixGiven ? record.prefix : null;
      if (namespace !== source.namespace)
        throw new ToolError(
          'conflict',
          `its repository is the source ${record.id}, ${namespace === null ? 'without a namespace' : `with the namespace ${namespace}`}`,
        );
      records = [...records.filter(({ id }) => id !== record.id), record];
      ids.set(source.name, record.id);
    } catch (error) {
      if (!isToolError(error)) throw error;
      left.push({ what: `source ${source.name}`, why: error.message });
    }
  }
  return { records, ids };
}

// Without roots, the whole repository is searched.
function joinRoots(a: readonly string[], b: readonly string[]): readonly string[] {
  return a.length === 0 || b.length === 0 ? [] : [...new Set([...a, ...b])];
}

// Fetches the commit that mind had, from its clone if there is one: this works without a network.
async function fetchOne(
  source: MindSource,
  location: SourceLocation,
  records: readonly SourceRecord[],
  environment: InstallEnvironment,
): Promise<SourceRecord> {
  const isLocal = location.kind === 'local';
  const options = {
    source: source.url,
    cwd: '/',
    namespace: source.namespace ?? undefined,
    pin: isLocal ? undefined : (source.pin ?? undefined),
    roots: source.roots,
    addRoots: source.addRoots,
    parent: null,
  };
  const blank = toRecord(options, location, records, environment);
  const clone = isOccupied(join(source.clone, '.git')) ? `file://${source.clone}` : undefined;
  const at =
    isLocal || source.commit === null ? {} : { pin: { to: 'commit', name: source.commit } as const, pinGiven: true };
  const { record } = await fetchSource({ ...blank, ...at }, undefined, environment, { from: clone, unsaved: records });
  return { ...record, pin: blank.pin, pinGiven: blank.pinGiven };
}

// A local directory with a pin is a repository.
function toLocation({ url, pin }: MindSource, home: string | undefined): SourceLocation {
  return parseLocation(pin !== null && isDirectory(url) ? `file://${url}` : url, '/', home);
}

interface FoundItem extends AvailableItem {
  readonly of: MindItem;
}

function findItems(
  { items }: MindState,
  ids: ReadonlyMap<string, string>,
  { sources }: Inventory,
  left: LeftOver[],
): FoundItem[] {
  return items.flatMap((of) => {
    const source = sources.find(({ record }) => record.id === ids.get(of.source));
    const item = source?.scan.items.find(({ kind, name }) => kind === of.kind && name === of.bareName);
    if (source !== undefined && item !== undefined) return [{ of, source, item }];
    const why = source === undefined ? 'its source was not taken over' : 'it is no longer in its source';
    left.push({ what: `${of.kind} ${of.name}`, why });
    return [];
  });
}

// An item is taken over with everything that it refers to, or not at all. What wield installed before stays as it is.
function chooseItems(
  found: readonly FoundItem[],
  state: MindState,
  inventory: Inventory,
  left: LeftOver[],
): FoundItem[] {
  const { items: installed } = inventory.installed;
  const done = new Set(installed.map(itemKey));
  const owners = new Map(installed.flatMap((one) => one.links.map((path) => [linkKey(path), itemKey(one)] as const)));
  const mindItems = new Map(found.map((one) => [availableKey(one), one.of]));
  const links = new Set(state.items.flatMap((item) => linksInto(item, state)).map(({ path }) => linkKey(path)));
  return found.filter((one) => {
    if (done.has(availableKey(one))) return false;
    const why = findObstacle(one, { inventory, state, owners, mindItems, links });
    if (why !== undefined) left.push({ what: `${one.of.kind} ${one.of.name}`, why });
    return why === undefined;
  });
}

/** Returns the links of an item that lead into the store of mind. */
function linksInto({ links }: MindItem, { home }: MindState): Link[] {
  return links.flatMap((path) => {
    const target = readLink(path);
    const isOwn = target !== undefined && isWithin(join(home, 'store'), resolve(dirname(path), target));
    return isOwn ? [{ path, target }] : [];
  });
}

// Links in homes that are not agent homes of wield, and those of items that are not taken over, stay.
function findReplaced(
  { planned }: InstallPlan,
  found: readonly FoundItem[],
  state: MindState,
  left: LeftOver[],
): ReadonlyMap<string, readonly Link[]> {
  const replaces = new Map<string, Link[]>();
  const taken = new Map(planned.map((one) => [one.key, one]));
  const keys = new Map(found.map((one) => [one.of, availableKey(one)]));
  for (const item of state.items) {
    const one = taken.get(keys.get(item) ?? '');
    const stays = (link: Link): boolean => one === undefined || !replacesLink(one, link);
    const links = linksInto(item, state);
    if (one !== undefined)
      replaces.set(
        one.key,
        links.filter((link) => !stays(link)),
      );
    for (const { path } of links.filter(stays))
      left.push({ what: `link ${path}`, why: 'it is in no agent home of wield, or its item was not taken over' });
  }
  return replaces;
}

// In the same directory: the link of a skill with a prefix and of an agent of a plugin have another name here.
function replacesLink({ links }: PlannedItem, { path }: Link): boolean {
  return links.some((link) => dirname(linkKey(link.path)) === dirname(linkKey(path)));
}
