// `wield install`: installs items of sources with everything they refer to.

import { ToolError } from '../../core/error.js';
import { pinTools, toItem } from '../../install/from-toolbox.js';
import { toAppliedJson, toInstalledJson, toPlannedJson } from '../../install/json.js';
import {
  acceptItem,
  assertSources,
  carryOut,
  loadInventory,
  planInstall,
  preview,
} from '../../install/plan/plans.js';
import { findSource } from '../../install/sources/load.js';
import { working } from '../../install/sources/register.js';
import { loadSources } from '../../install/state.js';
import {
  ask,
  createInstallContext,
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
  summary: 'Install items of registered sources, with everything that they refer to.',
  examples: ['wield install acme:scan', 'wield install --all --source acme/agent-tools --yes'],
  flags: {
    all: { kind: 'switch', description: 'Everything that the sources offer' },
    source: { kind: 'value', value: 'ID', repeats: true, description: 'Only items of this source' },
    accept: { kind: 'switch', description: 'Take the installed files as they are now for the right ones' },
    'dry-run': DRY_RUN,
    'run-hooks': RUN_HOOKS,
    force: FORCE,
    yes: YES,
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, positionals, terminal, json } = call;
    if (positionals.length === 0 && !flags.has('all'))
      throw new ToolError('usage', 'no item given', { hint: 'wield install NAME, or --all' });
    if (flags.has('accept')) return accept(call);
    const toolbox = call.toolbox();
    const context = createInstallContext(call, toolbox);
    return working(context, async (paths) => {
      const inventory = loadInventory(context, paths);
      assertSources(inventory);
      const sources = call
        .repeated('source')
        .map((name) => findSource(name, loadSources(paths), call.cwd).id);
      const plan = planInstall({ refs: positionals, sources, all: flags.has('all') }, inventory);
      const unchanged = plan.unchanged.map(toPlannedJson);
      if (flags.has('dry-run')) {
        const items = preview(plan, inventory).map(toAppliedJson);
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
      // What was asked for by name needs no second word; what comes along does, where someone can give it.
      if (
        (needed || flags.has('all')) &&
        !flags.has('yes') &&
        !json &&
        terminal.canAsk &&
        !(await ask(call, 'Install it?'))
      )
        return 0;
      const applied = await carryOut(plan, flags.has('force'), inventory);
      await pinTools(toolbox, applied.map(toItem));
      if (json)
        printJson(terminal, {
          ok: true,
          dryRun: false,
          items: applied.map(toAppliedJson),
          unchanged,
          hooks: plan.hooks,
        });
      else if (applied.length === 0) terminal.out('  installed already, and up to date\n');
      else printApplied(terminal, applied, inventory);
      return 0;
    });
  },
};

async function accept(call: VerbCall): Promise<number> {
  const toolbox = call.toolbox();
  const context = createInstallContext(call, toolbox);
  const items = await working(context, async (paths) =>
    call.positionals.map((ref) => acceptItem(ref, loadInventory(context, paths))),
  );
  await pinTools(toolbox, items);
  if (call.json) printJson(call.terminal, { ok: true, accepted: items.map(toInstalledJson) });
  else for (const { kind, effective } of items) call.terminal.out(`  accepted  ${kind} ${effective}\n`);
  return 0;
}
