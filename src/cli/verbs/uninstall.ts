// `wield uninstall` and `wield remove-source`: take items away again, with every link that was made for them.

import { ToolError } from '../../core/error.js';
import { count } from '../../core/text.js';
import { isModified } from '../../install/apply/apply.js';
import { toInstalledJson } from '../../install/json.js';
import {
  carryOut,
  findDependents,
  loadInventory,
  nameOf,
  neededError,
  planRemoval,
  planUninstall,
} from '../../install/plan/plans.js';
import { findSource } from '../../install/sources/load.js';
import { dropSource, working } from '../../install/sources/register.js';
import { loadSources } from '../../install/state.js';
import {
  createInstallContext,
  DRY_RUN,
  mayDestroy,
  needsYes,
  RUN_HOOKS,
  showHooks,
  YES,
} from '../installing.js';
import { printJson } from '../print.js';
import type { Verb } from '../verb.js';

const FLAGS = { 'dry-run': DRY_RUN, 'run-hooks': RUN_HOOKS, yes: YES };

export const uninstall: Verb = {
  name: 'uninstall',
  usage: 'uninstall <item…> [--dry-run] [--yes]',
  summary: 'Remove installed items. Those that refer to them are named first.',
  examples: ['wield uninstall acme:scan', 'wield uninstall skill:scan --yes'],
  flags: FLAGS,
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, positionals, terminal, json } = call;
    if (positionals.length === 0)
      throw new ToolError('usage', 'no item given', {
        hint: 'wield uninstall NAME; wield list --installed shows them',
      });
    const context = createInstallContext(call, call.toolbox());
    return working(context, async (paths) => {
      const inventory = loadInventory(context, paths);
      const plan = planUninstall(positionals, inventory);
      const dependents = findDependents(plan.removed, inventory.installed);
      // What people or skills wrote into it goes with it, so they hear of it.
      const modified = plan.removed.filter((item) => isModified(item, paths));
      const document = {
        ok: true,
        dryRun: flags.has('dry-run'),
        removed: plan.removed.map(toInstalledJson),
        modified: modified.map(nameOf),
        dependents: dependents.map(toInstalledJson),
        hooks: plan.hooks,
      };
      if (!json) {
        for (const item of modified)
          terminal.err(
            `  ${terminal.paint('yellow', 'changed', 'err')}  where it is installed: ${nameOf(item)}\n`,
          );
        for (const item of dependents)
          terminal.err(`  ${terminal.paint('yellow', 'needed', 'err')}  by ${item.kind} ${item.effective}\n`);
        if (flags.has('dry-run')) showHooks(terminal, plan.hooks);
      }
      if (!flags.has('dry-run')) {
        const what = plan.removed.map(nameOf).join(', ');
        const refusal =
          dependents.length === 0
            ? needsYes(`this removes ${what}`)
            : neededError(plan.removed, dependents, 'repeat the command with --yes');
        const question = dependents.length === 0 ? `Remove ${what}?` : `Remove ${what} all the same?`;
        if (!(await mayDestroy(call, question, refusal))) return 0;
        await carryOut(plan, true, inventory);
      }
      if (json) printJson(terminal, document);
      else
        for (const item of plan.removed)
          terminal.out(`  ${flags.has('dry-run') ? 'would remove' : 'removed'}  ${nameOf(item)}\n`);
      return 0;
    });
  },
};

export const removeSource: Verb = {
  name: 'remove-source',
  usage: 'remove-source <source> [--dry-run] [--yes]',
  summary: 'Forget a source and those it brought in, and remove everything installed from them.',
  examples: ['wield remove-source acme/agent-tools', 'wield remove-source ./my-tools --yes'],
  flags: FLAGS,
  positionals: 1,
  async run(call) {
    const { flags, positionals, terminal, json, cwd } = call;
    if (positionals[0] === undefined)
      throw new ToolError('usage', 'no source given', { hint: 'wield remove-source ID' });
    const context = createInstallContext(call, call.toolbox());
    return working(context, async (paths) => {
      const records = loadSources(paths);
      const first = findSource(positionals[0]!, records, cwd);
      const going = [first, ...records.filter(({ parent }) => parent === first.id)];
      const inventory = loadInventory(context, paths);
      const plan = planRemoval(
        going.map(({ id }) => id),
        inventory,
      );
      const names = going.map(({ id }) => id);
      const document = {
        ok: true,
        dryRun: flags.has('dry-run'),
        sources: names,
        removed: plan.removed.map(toInstalledJson),
      };
      if (!flags.has('dry-run')) {
        const what = `${names.join(', ')} with ${count(plan.removed.length, 'installed item')}`;
        if (!(await mayDestroy(call, `Remove ${what}?`, needsYes(`this removes ${what}`)))) return 0;
        await carryOut(plan, true, inventory);
        for (const record of going) await dropSource(record, context, paths);
      }
      if (json) printJson(terminal, document);
      else {
        const did = flags.has('dry-run') ? 'would remove' : 'removed';
        for (const name of names) terminal.out(`  ${did}  ${name}\n`);
        terminal.out(`  ${did}  ${count(plan.removed.length, 'item')}\n`);
      }
      return 0;
    });
  },
};
