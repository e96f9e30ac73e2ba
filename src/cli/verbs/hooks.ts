// `wield hooks`: lists the hooks of sources and items, and runs them again.

import { sanitize, spellOut } from '../../core/text.js';
import { applyPlan } from '../../install/apply/apply.js';
import { pendingHooks } from '../../install/hooks.js';
import { type Inventory, loadInventory } from '../../install/inventory.js';
import { itemKey } from '../../install/manifest/item-name.js';
import { planInstall } from '../../install/plan/plans.js';
import { syncSource } from '../../install/sources/fetch.js';
import { findSource } from '../../install/sources/load.js';
import { type InstalledItem, loadSources } from '../../install/state.js';
import { ASKS, mayConfirm, RUN_HOOKS, unconfirmed } from '../consent.js';
import { confirmPlan, printApplied, readInstalled, withInstalling } from '../installing.js';
import { printJson, report } from '../print.js';
import { required, unknownChoice, type Verb, type VerbCall } from '../verb.js';

export const hooks: Verb = {
  usage: 'hooks list [source]\n  wield hooks run <source | source#item> [--dry-run] [--yes]',
  summary: 'List the hooks of sources and their items, or run install and build hooks again.',
  examples: ['wield hooks list', 'wield hooks run acme/agent-tools'],
  flags: { ...ASKS, 'run-hooks': RUN_HOOKS },
  positionals: 2,
  completes: ['list', 'run'],
  async run(call) {
    const [action = 'list', target] = call.positionals;
    if (action === 'list') return list(call, target);
    if (action !== 'run') throw unknownChoice('action', action, ['list', 'run'], 'wield hooks');
    const usage = 'source; usage: wield hooks run <source | source#item>';
    return runAgain(call, required(target, usage, 'wield hooks list shows them'));
  },
};

async function list(call: VerbCall, target: string | undefined): Promise<number> {
  const { terminal, json, cwd } = call;
  const environment = await readInstalled(call);
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
}

// The state is whether it ran: for the current commit of a source, or for the installed item. Null for uninstall hooks.
function listHooks({ sources, installed }: Inventory) {
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

function toState(event: 'build' | 'install' | 'uninstall', item: InstalledItem | undefined) {
  if (event === 'uninstall') return null;
  if (item === undefined) return 'not installed';
  const isRun = event === 'build' ? item.build === 'built' : item.portable.built !== null;
  return isRun ? 'ran' : 'skipped';
}

// Source hooks run in the sources again; an item is installed again, so that a failure changes nothing. Hooks that were
// approved before are not asked about; `--yes` means the same as `--run-hooks` here.
async function runAgain(call: VerbCall, target: string): Promise<number> {
  const { terminal, json, cwd, flags, dryRun } = call;
  const { paths } = await readInstalled(call);
  const record = target.includes('#') ? undefined : findSource(target, loadSources(paths), cwd);
  const isApproved = flags.has('yes') || flags.has('run-hooks');
  const own = { ...call, flags: isApproved ? new Map([...flags, ['run-hooks', true], ['yes', true]] as const) : flags };
  return withInstalling(own, async (environment, agree) => {
    const inventory = loadInventory(environment);
    if (dryRun) return showHooksOf(call, target, record?.id, inventory);
    if (record === undefined) {
      const plan = planInstall({ refs: [target], sources: [], all: false, force: true }, inventory);
      if (pendingHooks(plan.hooks, paths).length > 0 && !(await confirmPlan(own, plan, inventory, agree))) return 0;
      const applied = await applyPlan(plan, true, inventory);
      if (json) return printJson(terminal, { ok: true, hooks: plan.hooks });
      printApplied(terminal, applied, inventory);
      return 0;
    }
    const { id, hooks } = (await syncSource({ ...record, hooks: 'skipped', snapshot: null }, false, environment))
      .record;
    if (hooks === 'skipped' && !mayConfirm(own)) throw unconfirmed(call, `the hooks of ${sanitize(id)}`);
    if (json) printJson(terminal, { ok: true, source: id, state: hooks });
    else terminal.out(`  ${sanitize(id)}  ${hooks}\n`);
    return hooks === 'skipped' ? 1 : 0;
  });
}

function showHooksOf(call: VerbCall, target: string, source: string | undefined, inventory: Inventory): number {
  const hooks =
    source === undefined
      ? planInstall({ refs: [target], sources: [], all: false, force: true }, inventory).hooks
      : listHooks(inventory).filter((hook) => hook.source === source && hook.item === null && hook.event === 'install');
  const lines = hooks.flatMap(({ run }) => run.split('\n')).map((line) => `      ${spellOut(line)}\n`);
  return report(
    call,
    { dryRun: true, hooks },
    (hooks.length === 0 ? '  no hooks\n' : '  would run\n') + lines.join(''),
  );
}
