// `wield add`: adds a source and offers to install its items.

import { ToolError } from '../../core/error.js';
import { sanitize } from '../../core/text.js';
import { applyPlan } from '../../install/apply/apply.js';
import type { AppliedItem } from '../../install/apply/stage.js';
import { pinTools } from '../../install/from-toolbox.js';
import { type Inventory, loadInventory } from '../../install/inventory.js';
import { toAppliedJson, toOfferJson } from '../../install/json.js';
import { withInstallLock } from '../../install/lock.js';
import { effectiveName } from '../../install/manifest/item-name.js';
import { parsePin } from '../../install/manifest/pin.js';
import { planInstall } from '../../install/plan/plans.js';
import { type AddedSource, addSource } from '../../install/sources/add.js';
import { prefixOf } from '../../install/sources/load.js';
import {
  ask,
  createInstallEnvironment,
  printApplied,
  RUN_HOOKS,
  showPlan,
  summarizeItems,
} from '../installing.js';
import { printJson } from '../print.js';
import type { Verb, VerbCall } from '../verb.js';

export const add: Verb = {
  name: 'add',
  usage: 'add <owner/repo | URL | DIR> [--namespace NAME] [--pin REF] [--register-only] [--yes]',
  summary: 'Add a source: a git repository, which is cloned, or a directory, which is used in place.',
  examples: ['wield add acme/agent-tools --namespace acme', 'wield add ./my-tools --yes'],
  flags: {
    namespace: { kind: 'value', value: 'NAME', description: 'Prefix its items with NAME:' },
    pin: { kind: 'value', value: 'REF', description: 'Pin to a commit, branch=NAME or tag=NAME' },
    root: { kind: 'value', value: 'DIR', repeats: true, description: 'Search for items below DIR' },
    'register-only': { kind: 'switch', description: 'Do not install anything' },
    yes: { kind: 'switch', description: 'Install all its items without asking' },
    'run-hooks': RUN_HOOKS,
  },
  positionals: 1,
  async run(call) {
    const { flags, positionals, terminal, json, cwd } = call;
    const [source] = positionals;
    if (source === undefined)
      throw new ToolError('usage', 'missing source; usage: wield add <owner/repo | URL | DIR>', {
        hint: 'wield add --help shows examples',
      });
    const toolbox = call.toolbox();
    const environment = createInstallEnvironment(call, toolbox);
    const { added, applied, inventory, asked } = await withInstallLock(environment, async () => {
      const pin = flags.get('pin');
      const namespace = flags.get('namespace');
      const all = await addSource(
        {
          source,
          cwd,
          roots: call.repeated('root'),
          namespace: typeof namespace === 'string' ? namespace : undefined,
          pin: typeof pin === 'string' ? parsePin(pin) : undefined,
        },
        environment,
      );
      if (!json) printAdded(call, all);
      const known = loadInventory(environment);
      const done = await installAll(call, all, known);
      return { added: all, applied: done ?? [], inventory: known, asked: done !== undefined };
    });
    const installed = applied.map(toAppliedJson);
    await pinTools(toolbox, installed);
    if (json) printJson(terminal, toJson(added, installed));
    else {
      printApplied(terminal, applied, inventory);
      if (!asked && added.some(({ scan }) => scan.items.length > 0))
        terminal.out('  nothing installed; run wield install NAME, or wield install --all\n');
    }
    return 0;
  },
};

// Returns undefined if nothing should be installed.
async function installAll(
  call: VerbCall,
  added: readonly AddedSource[],
  inventory: Inventory,
): Promise<readonly AppliedItem[] | undefined> {
  const { flags, terminal, json } = call;
  if (flags.has('register-only') || !(flags.has('yes') || (!json && terminal.canAsk))) return undefined;
  const sources = added.map(({ record }) => record.id);
  const plan = planInstall({ refs: [], sources, all: true }, inventory);
  if (plan.planned.length === 0) return [];
  if (!flags.has('yes')) {
    showPlan(terminal, plan);
    if (!(await ask(call, 'Install all of them?'))) return undefined;
  }
  return applyPlan(plan, false, inventory);
}

function printAdded({ terminal }: VerbCall, added: readonly AddedSource[]): void {
  for (const { record, scan, known } of added) {
    const { id, commit, ref, location } = record;
    terminal.out(`  ${known ? 'updated ' : 'added   '}  ${sanitize(id)}  ${sanitize(location)}\n`);
    if (commit !== null)
      terminal.out(`  pinned    ${commit.slice(0, 12)}${ref === null ? '' : `  (${sanitize(ref)})`}\n`);
    terminal.out(`  offers    ${summarizeItems(scan.items)}\n`);
    for (const { path, message } of scan.warnings.slice(0, 10))
      terminal.err(
        `  ${terminal.paint('yellow', 'warning', 'err')}  ${sanitize(path)}  ${sanitize(message)}\n`,
      );
    if (scan.warnings.length > 10)
      terminal.err(`  and ${scan.warnings.length - 10} more; wield check shows them\n`);
  }
}

function toJson(added: readonly AddedSource[], installed: readonly unknown[]) {
  const [first] = added;
  const show = ({ record, scan }: AddedSource) => {
    const prefix = prefixOf(record, scan);
    return {
      id: record.id,
      kind: record.kind,
      location: record.location,
      namespace: prefix,
      commit: record.commit,
      ref: record.ref,
      pin: record.pin,
      hooks: record.hooks,
      description: scan.manifest.description,
      items: scan.items.map((item) => toOfferJson(record.id, item, effectiveName(prefix, item.name))),
      warnings: scan.warnings,
    };
  };
  return { ok: true, source: show(first!), nested: added.slice(1).map(show), installed };
}
