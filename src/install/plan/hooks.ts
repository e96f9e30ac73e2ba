// Lists the hooks that a plan would run.

import { type Hook, toHook } from '../hooks/hook.js';
import type { InstalledItem } from '../manifest/installed.js';
import type { LoadedSource } from '../sources/load.js';
import type { PlannedItem } from './plan-items.js';

export function listHooks(
  planned: readonly PlannedItem[],
  removed: readonly InstalledItem[],
  sources: readonly LoadedSource[],
): Hook[] {
  const locations = new Map(sources.map(({ record }) => [record.id, record.location]));
  const hooks = planned.flatMap(({ item, source, form, effective, store }) => {
    const { id, commit, location } = source.record;
    const create = (event: Hook['event'], run: string | null, where: string): Hook[] => {
      if (run === null) return [];
      const facts = { source: id, commit, item: effective, kind: item.kind, event, run, where };
      return [toHook(facts, location, form.hash)];
    };
    return [...create('build', item.build, 'a staging directory'), ...create('install', item.install, store)];
  });
  const uninstallHooks = removed.flatMap(({ hooks, source, commit, effective, kind, store, sourceHash }) => {
    const run = hooks.uninstall;
    if (run === null) return [];
    const facts = { source, commit, item: effective, kind, event: 'uninstall' as const, run, where: store };
    return [toHook(facts, locations.get(source) ?? source, sourceHash)];
  });
  return [...hooks, ...uninstallHooks];
}
