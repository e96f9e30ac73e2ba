// `wield hooks`: lists the hooks of sources and items, and runs them again.

import { spellOut } from '../../core/text.js';
import { applyPlan } from '../../install/apply/apply.js';
import { type Inventory, loadInventory } from '../../install/inventory.js';
import { itemKey } from '../../install/manifest/item-name.js';
import { planInstall } from '../../install/plan/plans.js';
import { syncSource } from '../../install/sources/fetch.js';
import { findSource } from '../../install/sources/load.js';
import { type InstalledItem, loadSources, type SourceRecord } from '../../install/state.js';
import { RUN_HOOKS } from '../consent.js';
import { printApplied, withInstalling } from '../installing.js';
import { printJson } from '../print.js';
import { usageError, type Verb, type VerbCall } from '../verb.js';

export const hooks: Verb = {
  name: 'hooks',
  usage: 'hooks list [source]\n  wield hooks run <source | source#item> [--run-hooks]',
  summary: 'List the hooks of sources and their items, or run install and build hooks again.',
  examples: ['wield hooks list', 'wield hooks run acme/agent-tools'],
  flags: { 'run-hooks': RUN_HOOKS },
  positionals: 2,
  completes: ['list', 'run'],
  async run(call) {
    const [action = 'list', target] = call.positionals;
    if (action === 'list') return list(call, target);
    if (action === 'run' && target !== undefined) return runAgain(call, target);
    throw usageError('unknown action, or no source given', 'wield hooks list, or wield hooks run <source>');
  },
};

interface ListedHook {
  readonly source: string;
  readonly item: string | null;
  readonly event: string;
  readonly run: string;
  /** Whether it ran: for the current commit of a source, or for the installed item. Null for uninstall hooks. */
  readonly state: SourceRecord['hooks'] | 'not installed' | null;
}

function list(call: VerbCall, target: string | undefined): Promise<number> {
  const { terminal, json, cwd } = call;
  return withInstalling(call, async (environment) => {
    const id = target === undefined ? undefined : findSource(target, loadSources(environment.paths), cwd).id;
    const all = listHooks(loadInventory(environment)).filter(({ source }) => id === undefined || source === id);
    if (json) return printJson(terminal, { ok: true, hooks: all });
    if (all.length === 0) terminal.out('  no hooks\n');
    for (const { source, item, event, run, state } of all) {
      const where = `${source}${item === null ? '' : `#${item}`}`;
      terminal.out(`  ${spellOut(where)}  ${event}${state === null ? '' : `, ${state}`}\n`);
      for (const line of run.split('\n')) terminal.out(`      ${spellOut(line)}\n`);
    }
    return 0;
  });
}

function listHooks({ sources, installed }: Inventory): ListedHook[] {
  const items = new Map(installed.items.map((item) => [itemKey(item), item]));
  return sources.flatMap(({ record: { id, hooks: state }, scan }) => [
    ...scan.manifest.hooks.map(({ event, run }) => ({
      source: id,
      item: null,
      event,
      run,
      state: event === 'uninstall' ? null : state,
    })),
    ...scan.items.flatMap((item) =>
      (['build', 'install', 'uninstall'] as const).flatMap((event) => {
        const run = item[event];
        if (run === null) return [];
        const state = toState(event, items.get(itemKey({ ...item, source: id })));
        return [{ source: id, item: `${item.kind}:${item.name}`, event, run, state }];
      }),
    ),
  ]);
}

function toState(event: 'build' | 'install' | 'uninstall', item: InstalledItem | undefined): ListedHook['state'] {
  if (event === 'uninstall') return null;
  if (item === undefined) return 'not installed';
  const isRun = event === 'build' ? item.build === 'built' : item.portable?.built != null;
  return isRun ? 'ran' : 'skipped';
}

// Source hooks run in the sources again; an item is installed again, so that a failure changes nothing.
function runAgain(call: VerbCall, target: string): Promise<number> {
  const { terminal, json, cwd } = call;
  return withInstalling(call, async (environment) => {
    if (target.includes('#')) {
      const inventory = loadInventory(environment);
      const plan = planInstall({ refs: [target], sources: [], all: false, force: true }, inventory);
      const applied = await applyPlan(plan, true, inventory);
      if (json) printJson(terminal, { ok: true, hooks: plan.hooks });
      else printApplied(terminal, applied, inventory);
      return 0;
    }
    const record = findSource(target, loadSources(environment.paths), cwd);
    const synced = await syncSource({ ...record, hooks: 'skipped', snapshot: null }, false, environment);
    if (json) printJson(terminal, { ok: true, source: record.id, state: synced.record.hooks });
    else terminal.out(`  ${record.id}  ${synced.record.hooks}\n`);
    return synced.record.hooks === 'skipped' ? 1 : 0;
  });
}
