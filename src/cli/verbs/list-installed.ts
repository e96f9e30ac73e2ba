// `wield list --installed`, `--available` and `--sources`: installed items with their state, items of sources, sources.

import { quoteOutside } from '../../core/text.js';
import { type ItemStatus, readStatus } from '../../install/compare.js';
import { type Inventory, listAvailable, loadInventory } from '../../install/inventory.js';
import { toInstalledJson, toOfferJson, toSourceJson } from '../../install/json.js';
import { recoverIfInterrupted } from '../../install/lock.js';
import { selectAvailable, selectInstalled } from '../../install/plan/select.js';
import { availableKey, listItems } from '../../install/sources/load.js';
import { toRecoveryEnvironment } from '../../install/toolbox-environment.js';
import { summarizeItems } from '../installing.js';
import { printJson } from '../print.js';
import { oneLine, printTable } from '../table.js';
import type { Terminal } from '../terminal.js';
import type { VerbCall } from '../verb.js';

export async function listInstalled(call: VerbCall): Promise<number> {
  const { terminal, flags, positionals, json, toolbox, signal } = call;
  const environment = toRecoveryEnvironment(toolbox(), signal);
  await recoverIfInterrupted(environment);
  const inventory = loadInventory(environment);
  if (flags.has('sources')) return printSources(terminal, inventory, json);
  if (flags.has('available')) {
    const chosen = new Set(selectAvailable(positionals, listItems(inventory.sources)).map(availableKey));
    const offers = listAvailable(inventory).filter(
      (offer) => positionals.length === 0 || chosen.has(availableKey(offer)),
    );
    if (json)
      printJson(terminal, {
        ok: true,
        items: offers.map((offer) => ({
          ...toOfferJson(offer.source.record.id, offer.item, offer.effective),
          installed: offer.installed,
        })),
      });
    else if (offers.length === 0) terminal.out('No items available. Add a source: wield add owner/repo\n');
    else {
      const rows = offers.map(({ effective, item, source, installed }) => [
        effective,
        item.kind,
        source.record.id,
        installed ? 'installed' : '',
        oneLine(item.description ?? ''),
      ]);
      printTable(terminal, ['NAME', 'KIND', 'SOURCE', '', 'DESCRIPTION'], rows);
    }
    return 0;
  }
  const named =
    positionals.length === 0 ? inventory.installed.items : selectInstalled(positionals, inventory.installed);
  const all = readStatus(inventory).filter(({ item }) => named.includes(item));
  if (json) {
    const items = all.map(({ item, states, renamedTo }) => ({
      ...toInstalledJson(item),
      states,
      renamedTo: renamedTo ?? null,
    }));
    printJson(terminal, { ok: true, items });
  } else if (all.length === 0) terminal.out('Nothing installed. Install an item: wield install NAME\n');
  else if (positionals.length > 0) for (const status of all) printItem(terminal, status);
  else {
    const rows = all.map(({ item, states }) => [
      item.effective,
      item.kind,
      item.source,
      item.commit?.slice(0, 12) ?? '',
      states.join(', '),
      oneLine(item.description ?? ''),
    ]);
    printTable(terminal, ['NAME', 'KIND', 'SOURCE', 'COMMIT', 'STATE', 'DESCRIPTION'], rows);
  }
  return 0;
}

function printSources(terminal: Terminal, { sources }: Inventory, json: boolean): number {
  const all = sources.map((source) => ({ ...toSourceJson(source), parent: source.record.parent }));
  if (json)
    return printJson(terminal, {
      ok: true,
      sources: all.map(({ items, warnings: _, skipped: __, ...source }) => ({ ...source, offers: items.length })),
    });
  if (all.length === 0) terminal.out('No sources. Add one: wield add owner/repo\n');
  else {
    const rows = all.map(({ id, namespace, commit, hooks, parent, items, location }) => [
      id,
      namespace ?? '',
      commit?.slice(0, 12) ?? '',
      summarizeItems(items),
      location,
      [...(hooks === 'skipped' ? ['hooks not run'] : []), ...(parent === null ? [] : [`from ${parent}`])].join(', '),
    ]);
    printTable(terminal, ['SOURCE', 'NAMESPACE', 'COMMIT', 'OFFERS', 'LOCATION', ''], rows, 4);
  }
  return 0;
}

function printItem(terminal: Terminal, { item, states, renamedTo }: ItemStatus): void {
  const { kind, effective, description, source, commit, store, links, bin, references, since } = item;
  const needs = references
    .filter((one) => one.kind !== kind || one.name !== item.name)
    .map((one) => `${one.kind}:${one.name}`);
  const facts: readonly (readonly [string, string])[] = [
    ['state', `${states.join(', ')}${renamedTo === undefined ? '' : ` → ${renamedTo}`}`],
    ['source', `${source}${commit === null ? '' : ` at ${commit.slice(0, 12)}`}`],
    ['store', store],
    ...links.map((link) => ['link', link] as const),
    ['runs', bin ?? ''],
    ['needs', [...new Set(needs)].join(', ')],
    ['since', since],
  ];
  terminal.out(`${terminal.paint('bold', quoteOutside(`${kind} ${effective}`, 300))}\n`);
  if (description !== null) terminal.out(`${quoteOutside(description, 2000)}\n`);
  for (const [name, value] of facts)
    if (value !== '') terminal.out(`  ${terminal.paint('dim', name.padEnd(8))} ${quoteOutside(value, 2000)}\n`);
}
