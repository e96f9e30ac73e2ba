// Turns items that come and go into changes of paths and links, and finds what stands in their way.

import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Paths } from '../environment.js';
import type { Installed, InstalledItem } from '../manifest/installed.js';
import type { PlannedItem } from '../plan/plan-items.js';
import type { Change } from './commit.js';
import { isOccupied, type Link, readLink } from './links.js';

interface AsideOptions {
  readonly planned: readonly PlannedItem[];
  readonly installed: Installed;
  readonly removed: readonly InstalledItem[];
  readonly force: boolean;
  readonly paths: Paths;
}

// INS-25: what stands in the place of a link and is not ours.
export function findAsides({ planned, installed, removed, force, paths }: AsideOptions): Map<string, string> {
  const asides = new Map<string, string>();
  const ours = new Map(installed.items.flatMap((item) => item.links.map((path) => [path, item] as const)));
  const leaving = new Set([...removed, ...planned.flatMap(({ existing }) => existing ?? [])]);
  const taken = new Map<string, string>();
  for (const { links, effective, item } of planned) {
    for (const { path } of links) {
      const owner = ours.get(path);
      const other =
        taken.get(path) ?? (owner !== undefined && !leaving.has(owner) ? owner.effective : undefined);
      if (other !== undefined) {
        throw new ToolError('conflict', `the ${item.kind} ${effective} and ${other} would both be ${path}`, {
          hint: `uninstall ${other} first; ${item.kind === 'agent' ? 'agents keep their bare name under any namespace' : 'two items cannot share a link'}`,
        });
      }
      taken.set(path, effective);
      if (!isOccupied(path) || readLink(path)?.startsWith(`${paths.store}/`)) continue;
      if (!force) {
        throw new ToolError('conflict', `${path} is there already, and wield did not make it`, {
          hint: 'move it away, or repeat the command with --force, which keeps it aside',
          data: { path },
        });
      }
      asides.set(path, join(dirname(path), `.${basename(path)}.before-wield-${Date.now().toString(36)}`));
    }
  }
  return asides;
}

export function toChanges(
  { planned, object }: { readonly planned: PlannedItem; readonly object: string },
  asides: ReadonlyMap<string, string>,
): Change[] {
  const { existing, store, links } = planned;
  const aside = links.flatMap(({ path }) => {
    const to = asides.get(path);
    return to === undefined ? [] : [{ path, to }];
  });
  const renamed = existing !== undefined && existing.store !== store;
  const linksBefore = existing === undefined ? [] : linksOf(existing);
  const change: Change = {
    store,
    before: existing === undefined || renamed ? null : existing.object,
    after: object,
    linksBefore: renamed
      ? linksBefore.filter(({ path }) => links.some((link) => link.path === path))
      : linksBefore,
    linksAfter: links,
    aside,
  };
  // A prefix change: the new name is there before the old one goes (INS-27).
  const left = linksBefore.filter(({ path }) => !links.some((link) => link.path === path));
  return renamed ? [change, { ...toRemoval(existing), linksBefore: left }] : [change];
}

export function toRemoval(item: InstalledItem): Change {
  return {
    store: item.store,
    before: item.object,
    after: null,
    linksBefore: linksOf(item),
    linksAfter: [],
    aside: [],
  };
}

function linksOf({ links, store, kind, name }: InstalledItem): Link[] {
  const target = kind === 'agent' || kind === 'rule' ? join(store, `${name}.md`) : store;
  return links.map((path) => ({ path, target }));
}
