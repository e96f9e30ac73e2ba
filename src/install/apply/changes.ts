// Converts planned items to changes of store paths and links, and detects conflicts with existing files.

import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isOccupied, type Link, linkKey, readLink } from '../directory.js';
import type { InstallPaths } from '../environment.js';
import type { Inventory } from '../inventory.js';
import { isDirectoryKind } from '../manifest/item-name.js';
import type { PlannedItem } from '../plan/plan-items.js';
import type { InstallPlan } from '../plan/plans.js';
import type { InstalledItem } from '../state.js';
import type { StoreChange } from './commit.js';

/**
 * Returns the files at link paths that wield did not create, with the paths they are moved to. Throws `conflict`
 * without `force` (INS-25). The links in `foreign` are replaced.
 */
export function findAsides(
  { planned, removed }: InstallPlan,
  force: boolean,
  { installed, environment: { paths } }: Inventory,
  foreign: ReadonlySet<string>,
): Map<string, string> {
  const asides = new Map<string, string>();
  const owners = new Map(installed.items.flatMap((item) => item.links.map((path) => [path, item] as const)));
  const replaced = new Set([...removed, ...planned.flatMap(({ existing }) => existing ?? [])]);
  const taken = new Map<string, string>();
  for (const { links, effective, item } of planned) {
    for (const { path } of links) {
      const owner = owners.get(path);
      const other = taken.get(path) ?? (owner !== undefined && !replaced.has(owner) ? owner.effective : undefined);
      if (other !== undefined) {
        throw new ToolError('conflict', `the ${item.kind} ${effective} and ${other} would both be ${path}`, {
          hint: `uninstall ${other} first; ${item.kind === 'agent' ? 'agents are linked without their namespace' : 'two items cannot share a link'}`,
        });
      }
      taken.set(path, effective);
      if (!isForeign(path, paths) || foreign.has(linkKey(path))) continue;
      if (!force) {
        throw new ToolError('conflict', `${path} already exists and was not created by wield`, {
          hint: 'move it away, or repeat the command with --force to rename it',
          data: { path },
        });
      }
      asides.set(path, asideOf(path));
    }
  }
  return asides;
}

/** Whether a path is occupied by something that wield did not create. */
export function isForeign(path: string, { store }: InstallPaths): boolean {
  return isOccupied(path) && !readLink(path)?.startsWith(`${store}/`);
}

/** Returns where a file in the way of a link is moved. */
export function asideOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.before-wield-${Date.now().toString(36)}`);
}

/** A rename is two changes: the new name is installed before the old one is removed (INS-27). */
export function toChanges(
  { existing, store, links }: PlannedItem,
  object: string,
  asides: ReadonlyMap<string, string>,
  foreign: readonly Link[] = [],
): StoreChange[] {
  const aside = links.flatMap(({ path }) => {
    const to = asides.get(path);
    return to === undefined ? [] : [{ path, to }];
  });
  const renamed = existing !== undefined && existing.store !== store;
  const linksBefore = [...foreign, ...(existing === undefined ? [] : linksOf(existing))];
  const stays = ({ path }: Link): boolean => links.some((link) => link.path === path);
  const change: StoreChange = {
    store,
    before: existing === undefined || renamed ? null : existing.object,
    after: object,
    linksBefore: renamed ? linksBefore.filter(stays) : linksBefore,
    linksAfter: links,
    aside,
  };
  if (!renamed) return [change];
  return [change, { ...toRemoval(existing), linksBefore: linksBefore.filter((link) => !stays(link)) }];
}

export function toRemoval(item: InstalledItem): StoreChange {
  return { store: item.store, before: item.object, after: null, linksBefore: linksOf(item), linksAfter: [], aside: [] };
}

/** Returns the recorded links of an item with their targets. */
export function linksOf({ links, ...item }: InstalledItem): Link[] {
  return links.map((path) => ({ path, target: linkTarget(item) }));
}

/** Returns what the links of an item lead to: its directory, or its file for an agent or a rule. */
export function linkTarget({ store, kind, name }: Pick<InstalledItem, 'store' | 'kind' | 'name'>): string {
  return isDirectoryKind(kind) ? store : join(store, `${name}.md`);
}
