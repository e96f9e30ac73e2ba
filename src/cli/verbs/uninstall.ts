// `wield uninstall` and `wield remove --source`: remove items with their links.

import { count } from '../../core/text.js';
import { applyPlan } from '../../install/apply/apply.js';
import { isModified } from '../../install/apply/objects.js';
import { loadInventory } from '../../install/inventory.js';
import { toInstalledJson } from '../../install/json.js';
import { findDependents, nameOf, planRemoval, planUninstall } from '../../install/plan/plans.js';
import { dropSource } from '../../install/sources/fetch.js';
import { findWithNested } from '../../install/sources/load.js';
import { loadSources } from '../../install/state.js';
import { confirm } from '../consent.js';
import { REMOVE_FLAGS, readInstalled, showHooks, withInstalling } from '../installing.js';
import { report } from '../print.js';
import { required, type Verb } from '../verb.js';

export const uninstall: Verb = {
  usage: 'uninstall <item…> [--dry-run] [--yes]',
  summary: 'Uninstall items. Items that depend on them are shown first.',
  examples: ['wield uninstall acme:scan', "wield uninstall 'acme:*' --yes"],
  flags: REMOVE_FLAGS,
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { positionals, terminal, json, dryRun } = call;
    required(positionals[0], 'item; usage: wield uninstall <item…>', 'wield list --installed shows the items');
    // A wrong name is reported before it matters who asks.
    planUninstall(positionals, loadInventory(await readInstalled(call)));
    return withInstalling(call, async (environment) => {
      const inventory = loadInventory(environment);
      const plan = planUninstall(positionals, inventory);
      const dependents = findDependents(plan.removed, inventory.installed);
      // Local changes are lost, so they are shown.
      const modified = plan.removed.filter((item) => isModified(item, environment.paths));
      const document = {
        dryRun,
        removed: plan.removed.map(toInstalledJson),
        modified: modified.map(nameOf),
        dependents: dependents.map(toInstalledJson),
        hooks: plan.hooks,
      };
      if (!json) {
        for (const item of modified)
          terminal.err(`  ${terminal.paint('yellow', 'changed', 'err')}  locally: ${nameOf(item)}\n`);
        for (const item of dependents)
          terminal.err(`  ${terminal.paint('yellow', 'needed', 'err')}  by ${item.kind} ${item.effective}\n`);
        if (dryRun) showHooks(terminal, plan.hooks);
      }
      if (!dryRun) {
        const what = plan.removed.map(nameOf).join(', ');
        const needed = dependents.length === 0 ? '' : `, needed by ${dependents.map(nameOf).join(', ')}`;
        const question = dependents.length === 0 ? `Remove ${what}?` : `Remove ${what} anyway?`;
        if (!(await confirm(call, question, `${what}${needed}`))) return 0;
        await applyPlan(plan, true, inventory);
      }
      const did = dryRun ? 'would remove' : 'removed';
      return report(call, document, plan.removed.map((item) => `  ${did}  ${nameOf(item)}\n`).join(''));
    });
  },
};

export const removeSource: Verb = {
  usage: 'remove --source <source> [--dry-run] [--yes]',
  summary: 'Remove a source, the sources it added, and everything installed from them.',
  examples: ['wield remove --source acme/agent-tools', 'wield remove --source ./my-tools --yes'],
  flags: REMOVE_FLAGS,
  positionals: 1,
  async run(call) {
    const { positionals, cwd, dryRun } = call;
    const usage = 'source; usage: wield remove --source <source>';
    const named = required(positionals[0], usage, 'wield list --sources shows them');
    findWithNested(named, loadSources((await readInstalled(call)).paths), cwd);
    return withInstalling(call, async (environment) => {
      const records = findWithNested(named, loadSources(environment.paths), cwd);
      const names = records.map(({ id }) => id);
      const inventory = loadInventory(environment);
      const plan = planRemoval(names, inventory);
      if (!dryRun) {
        const what = `${names.join(', ')} with ${count(plan.removed.length, 'installed item')}`;
        if (!(await confirm(call, `Remove ${what}?`, what))) return 0;
        await applyPlan(plan, true, inventory);
        for (const record of records) await dropSource(record, environment);
      }
      const did = dryRun ? 'would remove' : 'removed';
      const document = {
        dryRun,
        sources: names,
        removed: plan.removed.map(toInstalledJson),
      };
      const gone = [...names, count(plan.removed.length, 'item')];
      return report(call, document, gone.map((one) => `  ${did}  ${one}\n`).join(''));
    });
  },
};
