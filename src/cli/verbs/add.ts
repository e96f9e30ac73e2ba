// `wield add`: adds a source and offers to install its items.

import { count, quoteOutside, sanitize } from '../../core/text.js';
import { applyPlan, previewPlan } from '../../install/apply/apply.js';
import type { InstallEnvironment } from '../../install/environment.js';
import { type Inventory, loadInventory } from '../../install/inventory.js';
import { toAppliedJson, toRefusedJson, toSourceJson } from '../../install/json.js';
import { isByName } from '../../install/manifest/item-name.js';
import { parsePin } from '../../install/manifest/source-manifest.js';
import { type InstallPlan, planAvailable } from '../../install/plan/plans.js';
import { selectAvailable } from '../../install/plan/select.js';
import { addSource } from '../../install/sources/add.js';
import { listItems } from '../../install/sources/load.js';
import type { AddedSource } from '../../install/sources/register.js';
import type { Scan } from '../../install/sources/scan.js';
import { describeSigner, readSigners } from '../../install/sources/signature.js';
import { ASKS, RUN_HOOKS } from '../consent.js';
import {
  type AgreeToHooks,
  confirmPlan,
  outcomeOf,
  printApplied,
  printRefused,
  showPlan,
  statusOf,
  summarizeItems,
  withInstalling,
} from '../installing.js';
import { printJson } from '../print.js';
import { option, required, toggle, type Verb, type VerbCall } from '../verb.js';

export const add: Verb = {
  usage:
    'add <owner/repo | URL | DIR | BUNDLE | OPENAPI> [--namespace NAME] [--plugin NAME …] [--pin REF] [--signer KEY] [--register-only] [--dry-run] [--yes]\n  wield add --import (mind | permissions)',
  summary:
    'Add a source: a git repository, which is cloned, or a directory, which is used in place, or a bundle (.mcpb). An OpenAPI document, a file or an address, is copied to your tools.',
  examples: [
    'wield add acme/agent-tools --namespace acme',
    'wield add ./my-tools --yes',
    'wield add ./petstore.openapi.yaml',
  ],
  flags: {
    namespace: option('NAME', 'Prefix its items with NAME:', { short: 'N' }),
    pin: option('REF', 'Pin to a commit, HEAD, branch=NAME or tag=NAME; a bundle to its SHA-256'),
    signer: option(
      'KEY',
      'Only commits or tags that this key signed: an SSH public key, a file of them, or an OpenPGP fingerprint',
    ),
    root: option('DIR', 'Search for items below DIR'),
    'add-root': option('DIR', 'Also search for items below DIR'),
    plugin: option('NAME', 'Only this plugin of a marketplace; fetches it if it is in another repository'),
    recursive: toggle('Also install the items of all nested sources', 'r'),
    'register-only': toggle('Do not install anything'),
    force: toggle('Move files aside that are in the way of a link', 'f'),
    'run-hooks': RUN_HOOKS,
    'dry-run': ASKS['dry-run'],
    yes: toggle('Install all its items without asking', 'y'),
    import: toggle('Take over what another system has: mind, permissions'),
  },
  positionals: 1,
  async run(call) {
    const { flags, positionals, terminal, json, cwd, dryRun } = call;
    const source = required(
      positionals[0],
      'source; usage: wield add <owner/repo | URL | DIR | BUNDLE | OPENAPI>',
      'wield add . adds this directory',
    );
    // The reader of documents is loaded for something that may be one.
    if (/\.(?:json|ya?ml)(?:[?#]|$)/i.test(source)) {
      const { addDocument, isDocument } = await import('../add-document.js');
      if (isDocument(source, cwd)) return addDocument(call, source);
    }
    const text = (name: string): string | undefined => flags.get(name)?.toString();
    const pin = text('pin');
    const signers = call.repeated('signer');
    const addAll = async (environment: InstallEnvironment, agree: AgreeToHooks): Promise<number> => {
      const options = {
        source,
        cwd,
        roots: call.repeated('root'),
        addRoots: call.repeated('add-root'),
        namespace: text('namespace'),
        plugins: call.repeated('plugin'),
        pin: pin === undefined ? pin : parsePin(pin),
        signers: signers.length === 0 ? undefined : readSigners(signers, cwd, environment.world.home),
      };
      const { added, skipped } = await addSource(options, environment);
      if (!json) printAdded(call, added);
      const inventory = loadInventory(environment);
      const plan = await planWanted(call, added, inventory, agree);
      const apply = (wanted: InstallPlan) =>
        dryRun ? previewPlan(wanted, inventory) : applyPlan(wanted, flags.has('force'), inventory);
      const applied = plan === undefined ? [] : await apply(plan);
      const refused = plan?.refused ?? [];
      if (json) {
        const [source, ...nested] = added.map(toSourceJson);
        const of = {
          source,
          nested,
          skipped,
          installed: applied.map(toAppliedJson),
          refused: refused.map(toRefusedJson),
        };
        printJson(terminal, { ...outcomeOf({ refused }), dryRun, ...of });
      } else {
        if (dryRun) terminal.out('  nothing was changed\n');
        else printApplied(terminal, applied, inventory);
        if (plan !== undefined) printRefused(terminal, plan);
        else if (!dryRun && added.some(({ scan }) => scan.items.length > 0))
          terminal.out('  nothing installed; run wield install NAME, or wield install --all\n');
      }
      return plan === undefined ? 0 : statusOf(plan);
    };
    return withInstalling(call, addAll, { copies: dryRun });
  },
};

// Returns undefined if nothing should be installed.
async function planWanted(
  call: VerbCall,
  added: readonly AddedSource[],
  inventory: Inventory,
  agree: AgreeToHooks,
): Promise<InstallPlan | undefined> {
  const { flags, terminal, json, dryRun } = call;
  if (flags.has('register-only') || !(dryRun || flags.has('yes') || (!json && terminal.canAsk))) return undefined;
  const chosen = call.repeated('plugin');
  const wanted = added.flatMap(({ record, install }) => {
    const items = listItems(inventory.sources.filter((source) => source.record.id === record.id));
    if (install === 'all' || flags.has('recursive'))
      return items.filter(
        ({ item }) => !isByName(item.kind) && (chosen.length === 0 || chosen.includes(item.plugin ?? '')),
      );
    return install === 'none' ? [] : selectAvailable(install, items);
  });
  const plan = planAvailable(wanted, inventory);
  if (plan.planned.length === 0) return plan;
  if (!json && (dryRun || !flags.has('yes'))) showPlan(terminal, plan, inventory);
  return dryRun || (await confirmPlan(call, plan, inventory, agree, '')) ? plan : undefined;
}

function printAdded({ terminal, dryRun }: VerbCall, added: readonly AddedSource[]): void {
  for (const { record, scan, known } of added) {
    const { id, commit, ref, location } = record;
    const did = dryRun ? (known ? 'would update' : 'would add') : known ? 'updated' : 'added  ';
    terminal.out(`  ${did}  ${sanitize(id)}  ${sanitize(location)}\n`);
    if (commit !== null) {
      const kind = ref === 'HEAD' ? '' : record.pin?.to === 'tag' ? 'tag ' : 'branch ';
      terminal.out(`  pinned   ${commit.slice(0, 12)}${ref === null ? '' : `  (${kind}${sanitize(ref)})`}\n`);
    }
    if (record.signer != null) terminal.out(`  signed   ${describeSigner(record.signer)}\n`);
    terminal.out(`  offers   ${summarizeItems(scan.items)}\n`);
    if (scan.plugins.length > 0) terminal.out(`  plugins  ${summarizePlugins(scan)}\n`);
    for (const { what, reason, paths } of scan.skipped)
      terminal.out(`  skipped  ${count(paths.length, what)}: ${sanitize(reason)}  (${showPaths(paths)})\n`);
    if (scan.skipped.some(({ what }) => what !== 'skill'))
      terminal.out(`           wield show --source ${sanitize(id)} lists everything\n`);
    for (const { path, message } of scan.warnings.slice(0, 10))
      terminal.err(`  ${terminal.paint('yellow', 'warning', 'err')}  ${sanitize(path)}  ${sanitize(message)}\n`);
    if (scan.warnings.length > 10) terminal.err(`  and ${scan.warnings.length - 10} more; wield check shows them\n`);
  }
}

const SHOWN_PLUGINS = 6;

function summarizePlugins({ plugins }: Scan): string {
  const shown = plugins
    .slice(0, SHOWN_PLUGINS)
    .map(({ name, items }) => `${sanitize(name)} (${summarizeItems(items)})`);
  return `${shown.join(', ')}${plugins.length > SHOWN_PLUGINS ? ` and ${plugins.length - SHOWN_PLUGINS} more` : ''}`;
}

function showPaths(paths: readonly string[]): string {
  const shown = paths.slice(0, 3).map((path) => quoteOutside(path, 60));
  return [...shown, ...(paths.length > 3 ? ['…'] : [])].join(', ');
}
