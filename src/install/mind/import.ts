// Takes over what mind installed: registers its sources, installs its items and replaces its links (INS-44).

import { unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isToolError } from '../../core/error.js';
import { applyPlan } from '../apply/apply.js';
import type { AppliedItem } from '../apply/stage.js';
import { isDirectory, isOccupied, namesIn, readLink } from '../directory.js';
import type { InstallEnvironment } from '../environment.js';
import { loadInventory } from '../inventory.js';
import { toLinkName } from '../manifest/item-name.js';
import { planAvailable } from '../plan/plans.js';
import { fetchSource, saveAll } from '../sources/fetch.js';
import { parseLocation, type SourceLocation } from '../sources/location.js';
import { toRecord } from '../sources/register.js';
import { loadSources } from '../state.js';
import type { MindItem, MindSource, MindState } from './state.js';

/** Something of mind that was not taken over, and stays as it is. */
export interface LeftOver {
  readonly what: string;
  readonly why: string;
}

export interface MindImport {
  /** Ids of the sources, by their names in mind. */
  readonly sources: ReadonlyMap<string, string>;
  readonly applied: readonly AppliedItem[];
  readonly left: readonly LeftOver[];
}

/** Nothing in the directory of mind is changed. Links to its store are replaced; what cannot be installed keeps its link. */
export async function importMind(state: MindState, environment: InstallEnvironment): Promise<MindImport> {
  const sources = new Map<string, string>();
  const left: LeftOver[] = [];
  for (const source of state.sources) {
    try {
      sources.set(source.name, await register(source, environment));
    } catch (error) {
      if (!isToolError(error)) throw error;
      left.push({ what: `source ${source.name}`, why: error.message });
    }
  }
  const inventory = loadInventory(environment);
  const wanted = state.items.flatMap((item) => {
    const source = inventory.sources.find(({ record }) => record.id === sources.get(item.source));
    const found = source?.scan.items.find(({ kind, name }) => kind === item.kind && name === item.bareName);
    if (source !== undefined && found !== undefined) return [{ source, item: found }];
    const why = source === undefined ? 'its source was not taken over' : 'it is no longer in its source';
    left.push({ what: `${item.kind} ${item.name}`, why });
    return [];
  });
  const plan = planAvailable(wanted, inventory);
  for (const { kind, effective, error } of plan.refused)
    left.push({ what: `${kind} ${effective}`, why: error.message });
  const applied = await applyPlan(plan, true, inventory);
  for (const item of state.items) removeAsides(item, state.home);
  const replaced = new Set(applied.flatMap(({ planned }) => planned.links.map(({ path }) => path)));
  for (const link of state.items.flatMap(({ links }) => links)) {
    if (replaced.has(link) || !readLink(link)?.startsWith(join(state.home, 'store'))) continue;
    // The same skill has another name here (INS-81).
    if (replaced.has(join(dirname(link), toLinkName('skill', basename(link))))) unlinkSync(link);
    else left.push({ what: `link ${link}`, why: 'it is in no agent home of wield, or its item was not taken over' });
  }
  return { sources, applied, left };
}

// Fetches the commit that mind had, from its clone if there is one: this works without a network.
async function register(source: MindSource, environment: InstallEnvironment): Promise<string> {
  const { paths, world } = environment;
  const known = loadSources(paths);
  const location = toLocation(source, world.home);
  const before = known.find((one) => one.location === location.location);
  if (before !== undefined) return before.id;
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
  const blank = toRecord(options, location, known, environment);
  const clone = isOccupied(join(source.clone, '.git')) ? `file://${source.clone}` : undefined;
  const at =
    isLocal || source.commit === null ? {} : { pin: { to: 'commit', name: source.commit } as const, pinGiven: true };
  const { record } = await fetchSource({ ...blank, ...at }, undefined, environment, { from: clone });
  saveAll([...known, { ...record, pin: blank.pin, pinGiven: blank.pinGiven }], environment);
  return record.id;
}

// A local directory with a pin is a repository.
function toLocation({ url, pin }: MindSource, home: string | undefined): SourceLocation {
  return parseLocation(pin !== null && isDirectory(url) ? `file://${url}` : url, '/', home);
}

// The links of mind were moved aside by the install, so that a failure restores them.
function removeAsides({ links }: MindItem, home: string): void {
  for (const link of links) {
    const directory = dirname(link);
    for (const name of namesIn(directory)) {
      const path = join(directory, name);
      if (name.startsWith(`.${basename(link)}.before-wield-`) && readLink(path)?.startsWith(join(home, 'store')))
        unlinkSync(path);
    }
  }
}
