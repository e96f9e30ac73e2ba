// `wield install`: installs items with their dependencies.

import { ToolError } from '../../core/error.js';
import { applyPlan, previewPlan } from '../../install/apply/apply.js';
import { acceptModified } from '../../install/apply/objects.js';
import { pinTools } from '../../install/from-toolbox.js';
import { assertSources, loadInventory } from '../../install/inventory.js';
import { toAppliedJson, toInstalledJson, toPlannedJson } from '../../install/json.js';
import { withInstallLock } from '../../install/lock.js';
import { planInstall } from '../../install/plan/plans.js';
import { selectInstalled } from '../../install/plan/select.js';
import { findSource } from '../../install/sources/load.js';
import { loadInstalled, loadSources } from '../../install/state.js';
import {
  ask,
  createInstallEnvironment,
  DRY_RUN,
  FORCE,
  printApplied,
  RUN_HOOKS,
  showHooks,
  showPlan,
  YES,
} from '../installing.js';
import { printJson } from '../print.js';
import type { Verb, VerbCall } from '../verb.js';

export const install: Verb = {
  name: 'install',
  usage: 'install <item…> [--all] [--source ID] [--accept] [--dry-run] [--yes]',
  summary: 'Install items of the added sources with their dependencies.',
  examples: ['wield install acme:scan', 'wield install --all --source acme/agent-tools --yes'],
  flags: {
    all: { kind: 'switch', description: 'Install all items of the sources' },
    source: { kind: 'value', value: 'ID', repeats: true, description: 'Only items of this source' },
    accept: { kind: 'switch', description: 'Accept local changes' },
    'dry-run': DRY_RUN,
    'run-hooks': RUN_HOOKS,
    force: FORCE,
    yes: YES,
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, positionals, terminal, json } = call;
    if (positionals.length === 0 && !flags.has('all'))
      throw new ToolError('usage', 'missing item; usage: wield install <item…>', {
        hint: 'wield list --available shows the items; --all installs all',
      });
    if (flags.has('accept')) return accept(call);
    const toolbox = call.toolbox();
    const environment = createInstallEnvironment(call, toolbox);
    return withInstallLock(environment, async () => {
      const inventory = loadInventory(environment);
      assertSources(inventory);
      const sources = call
        .repeated('source')
        .map((name) => findSource(name, loadSources(environment.paths), call.cwd).id);
      const plan = planInstall({ refs: positionals, sources, all: flags.has('all') }, inventory);
      const unchanged = plan.unchanged.map(toPlannedJson);
      if (flags.has('dry-run')) {
        const items = previewPlan(plan, inventory).map(toAppliedJson);
        if (json) printJson(terminal, { ok: true, dryRun: true, items, unchanged, hooks: plan.hooks });
        else if (items.length === 0) terminal.out('  nothing to do\n');
        else {
          showPlan(terminal, plan);
          showHooks(terminal, plan.hooks);
        }
        return 0;
      }
      const needed = plan.planned.some(({ neededBy }) => neededBy !== null);
      if (!json && (needed || plan.planned.length > 1)) showPlan(terminal, plan);
      // Items named by the user are not confirmed; dependencies are.
      if (
        (needed || flags.has('all')) &&
        !flags.has('yes') &&
        !json &&
        terminal.canAsk &&
        !(await ask(call, 'Install it?'))
      )
        return 0;
      const applied = await applyPlan(plan, flags.has('force'), inventory);
      const items = applied.map(toAppliedJson);
      await pinTools(toolbox, items);
      if (json)
        printJson(terminal, {
          ok: true,
          dryRun: false,
          items,
          unchanged,
          hooks: plan.hooks,
        });
      else if (applied.length === 0) terminal.out('  already installed and up to date\n');
      else printApplied(terminal, applied, inventory);
      return 0;
    });
  },
};

async function accept(call: VerbCall): Promise<number> {
  const toolbox = call.toolbox();
  const environment = createInstallEnvironment(call, toolbox);
  const { paths } = environment;
  const items = await withInstallLock(environment, async () =>
    call.positionals.map((ref) => {
      const installed = loadInstalled(paths);
      return acceptModified(selectInstalled([ref], installed)[0]!, installed, paths);
    }),
  );
  await pinTools(toolbox, items);
  if (call.json) printJson(call.terminal, { ok: true, accepted: items.map(toInstalledJson) });
  else for (const { kind, effective } of items) call.terminal.out(`  accepted  ${kind} ${effective}\n`);
  return 0;
}
