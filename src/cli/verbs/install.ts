// `wield install`: installs items with their dependencies.

import { count, sanitize } from '../../core/text.js';
import { acceptModified } from '../../install/apply/accept.js';
import { applyPlan, previewPlan } from '../../install/apply/apply.js';
import { isModified } from '../../install/apply/objects.js';
import type { InstallEnvironment } from '../../install/environment.js';
import { installFrozen } from '../../install/frozen.js';
import { assertSources, type Inventory, loadInventory } from '../../install/inventory.js';
import { toAppliedJson, toInstalledJson, toPlannedJson, toRefusedJson } from '../../install/json.js';
import { findLock } from '../../install/lock-file.js';
import { type InstallPlan, nameOf, planInstall } from '../../install/plan/plans.js';
import { selectInstalled } from '../../install/plan/select.js';
import { findSource } from '../../install/sources/load.js';
import { loadInstalled, loadSources } from '../../install/state.js';
import { confirm } from '../consent.js';
import {
  type AgreeToHooks,
  APPLY_FLAGS,
  confirmPlan,
  outcomeOf,
  printApplied,
  printRefused,
  showHooks,
  showPlan,
  statusOf,
  withInstalling,
} from '../installing.js';
import { printJson, report } from '../print.js';
import { option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

export const install: Verb = {
  usage:
    'install <item…> [--all] [--source ID] [--accept] [--frozen] [--dry-run] [--yes]\n  wield install --adopt <item> --to DIR',
  summary: 'Install items of the added sources with their dependencies.',
  examples: [
    'wield install acme:scan',
    "wield install 'skill:*'",
    'wield install --all --source acme/agent-tools --yes',
  ],
  flags: {
    all: toggle('Install all items of the sources'),
    source: option('ID', 'Only items of this source'),
    accept: toggle('Accept local changes'),
    frozen: toggle('Install exactly what wield.lock describes, or nothing'),
    ...APPLY_FLAGS,
    adopt: toggle('Move an item of an agent home into a source, and install it from there'),
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, positionals, terminal, json, dryRun } = call;
    const all = flags.has('all');
    if (flags.has('frozen')) return frozen(call);
    if (positionals.length === 0 && !all)
      throw usageError(
        'missing item; usage: wield install <item…>',
        'wield list --available shows the items; --all installs all',
      );
    return withInstalling(call, async (environment, agree) => {
      if (flags.has('accept')) return accept(call, environment);
      const inventory = loadInventory(environment);
      assertSources(inventory);
      const sources = call
        .repeated('source')
        .map((name) => findSource(name, loadSources(environment.paths), call.cwd).id);
      const plan = planInstall({ refs: positionals, sources, all, force: flags.has('force') }, inventory);
      const { planned, hooks } = plan;
      const preview = dryRun ? await previewPlan(plan, inventory) : undefined;
      if (!json && (dryRun || !flags.has('yes'))) showPlan(terminal, plan, inventory);
      if (!json && dryRun) showHooks(terminal, hooks);
      if (!dryRun && planned.length > 0 && !(await confirmPlan(call, plan, inventory, agree))) return 0;
      const applied = preview ?? (await applyPlan(plan, flags.has('force'), inventory));
      const refused = plan.refused.map(toRefusedJson);
      if (json) {
        const items = applied.map(toAppliedJson);
        const unchanged = plan.unchanged.map(toPlannedJson);
        printJson(terminal, { ...outcomeOf(plan), dryRun, items, unchanged, refused, hooks });
      } else if (applied.length === 0)
        terminal.out(
          dryRun
            ? '  nothing to do\n'
            : refused.length > 0
              ? '  nothing installed\n'
              : '  already installed and up to date\n',
        );
      else if (!dryRun) printApplied(terminal, applied, inventory);
      if (!json) printRefused(terminal, plan);
      return statusOf(plan);
    });
  },
};

async function frozen(call: VerbCall): Promise<number> {
  const { flags, positionals, terminal, json, dryRun } = call;
  if (positionals.length > 0 || flags.has('all') || flags.has('accept'))
    throw usageError('--frozen installs the whole lock', 'omit items and other flags: wield install --frozen');
  const { workdir } = call.toolbox().workspace;
  const install = async (environment: InstallEnvironment, agree: AgreeToHooks): Promise<number> => {
    const file = findLock(workdir, environment.lockFile);
    const isAgreed = async (plan: InstallPlan, inventory: Inventory): Promise<boolean> => {
      const { planned, removed } = plan;
      const isShown = !json && (dryRun || !flags.has('yes'));
      if (isShown) showPlan(terminal, plan, inventory);
      if (isShown)
        for (const { kind, effective } of removed) terminal.err(`  remove   ${kind} ${sanitize(effective)}\n`);
      if (dryRun) return false;
      return planned.length + removed.length === 0 || confirmPlan(call, plan, inventory, agree);
    };
    const frozen = await installFrozen(file, flags.has('force'), environment, isAgreed);
    const { plan, applied, inventory, done } = frozen;
    if (!done && !dryRun) return 0;
    const removed = plan.removed.map(toInstalledJson);
    if (json) {
      const unchanged = plan.unchanged.map(toPlannedJson);
      printJson(terminal, { ok: true, dryRun, lock: file, items: applied.map(toAppliedJson), unchanged, removed });
    } else if (dryRun) {
      if (plan.planned.length + removed.length === 0) terminal.out('  nothing to do\n');
    } else {
      printApplied(terminal, applied, inventory);
      for (const { kind, effective } of removed) terminal.out(`  removed    ${kind} ${sanitize(effective)}\n`);
      terminal.out(`  ${count(applied.length + plan.unchanged.length, 'item')} as in ${sanitize(file)}\n`);
    }
    return 0;
  };
  return withInstalling(call, install, { copies: dryRun });
}

async function accept(call: VerbCall, environment: InstallEnvironment): Promise<number> {
  const { positionals, json, terminal, dryRun } = call;
  const chosen = selectInstalled(positionals, loadInstalled(environment.paths));
  const names = chosen.map(nameOf).join(', ');
  const modified = chosen.filter((item) => isModified(item, environment.paths));
  if (!json) for (const item of modified) terminal.err(`  changed   locally: ${nameOf(item)}\n`);
  if (!dryRun && !(await confirm(call, `Accept ${names} as installed now?`, names))) return 0;
  const items = dryRun ? chosen : await acceptModified(chosen, environment);
  const lines = items.map((item) => `  ${dryRun ? 'would accept' : 'accepted'}  ${nameOf(item)}\n`);
  return report(call, { dryRun, accepted: items.map(toInstalledJson) }, lines.join(''));
}
