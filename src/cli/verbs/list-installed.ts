// `wield list` of what is installed: items with their state, items of sources, sources, what is outdated, and a manifest of it.

import { resolve } from 'node:path';
import { quoteOutside, spellOut } from '../../core/text.js';
import { writeFileAtomic } from '../../files/write.js';
import { findOutdated, type ItemStatus, readStatus } from '../../install/compare.js';
import { type Inventory, listAvailable, loadInventory } from '../../install/inventory.js';
import { toExportedManifest, toInstalledJson, toListedJson, toSourceJson } from '../../install/json.js';
import { selectAvailable, selectInstalled } from '../../install/plan/select.js';
import { availableKey, listItems } from '../../install/sources/load.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import { describePackage } from '../../upstream/pins/package.js';
import { outcomeOf, readInstalled, statusOf, summarizeItems, withInstalling } from '../installing.js';
import { printJson, report } from '../print.js';
import { oneLine, printTable, reportTable } from '../table.js';
import type { Terminal } from '../terminal.js';
import { findNewerServers, printFailed, toFailedJson } from '../upgrade-servers.js';
import { option, toggle, type Verb, type VerbCall } from '../verb.js';

export async function listInstalled(call: VerbCall): Promise<number> {
  const { terminal, flags, positionals, json } = call;
  const inventory = loadInventory(await readInstalled(call));
  if (flags.has('sources')) return reportSources(call, inventory);
  if (flags.has('available')) {
    const chosen = new Set(selectAvailable(positionals, listItems(inventory.sources)).map(availableKey));
    const offers = listAvailable(inventory).filter(
      (offer) => positionals.length === 0 || chosen.has(availableKey(offer)),
    );
    const items = offers.map(toListedJson);
    const rows = offers.map(({ effective, item, source, installed }) => [
      effective,
      item.kind,
      source.record.id,
      installed ? 'installed' : '',
      oneLine(item.description ?? ''),
    ]);
    const none = 'No items available. Add a source: wield add owner/repo';
    return reportTable(call, { items }, { head: ['NAME', 'KIND', 'SOURCE', '', 'DESCRIPTION'], rows, none });
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

function reportSources(call: VerbCall, inventory: Inventory): number {
  const all = inventory.sources.map((source) => ({ ...toSourceJson(source), parent: source.record.parent }));
  const sources = all.map(({ items, warnings: _, skipped: __, ...source }) => ({ ...source, offers: items.length }));
  const rows = all.map(({ id, namespace, commit, hooks, parent, items, location }) => [
    id,
    namespace ?? '',
    commit?.slice(0, 12) ?? '',
    summarizeItems(items),
    location,
    [...(hooks === 'skipped' ? ['hooks not run'] : []), ...(parent === null ? [] : [`from ${parent}`])].join(', '),
  ]);
  const head = ['SOURCE', 'NAMESPACE', 'COMMIT', 'OFFERS', 'LOCATION', ''];
  return reportTable(call, { sources }, { head, rows, none: 'No sources. Add one: wield add owner/repo', shrinks: 4 });
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

// Of an image, the version is a digest.
function short(version: string): string {
  return version.replace(/^sha256:(.{12}).*$/, '$1');
}

export const outdated: Verb = {
  usage: 'list --outdated [--json]',
  summary: 'List installed items and pinned servers of which there is something newer. Changes nothing.',
  examples: ['wield list --outdated'],
  async run(call) {
    const { terminal, json } = call;
    const { items, failed: unreached } = await withInstalling(call, findOutdated);
    const { newer, failed: unasked } = await findNewerServers(call);
    const failed = [...unreached, ...unasked];
    const outcome = { refused: unreached };
    const servers = newer.map(({ server: { name }, pin, before }) => ({
      name,
      package: describePackage(pin.wanted),
      version: before,
      latest: pin.resolved.version,
    }));
    if (json)
      printJson(terminal, {
        ...outcomeOf(outcome),
        servers,
        failed: toFailedJson(failed),
        items: items.map(({ item, states, latest, renamedTo }) => ({
          ...toInstalledJson(item),
          states,
          latest,
          renamedTo: renamedTo ?? null,
        })),
      });
    printFailed(call, failed);
    if (json) return statusOf(outcome);
    if (items.length + servers.length === 0)
      terminal.out(failed.length === 0 ? '  everything is up to date\n' : '  nothing newer was found\n');
    else {
      const rows = items.map(({ item, states, latest }) => [
        item.effective,
        item.kind,
        item.commit?.slice(0, 12) ?? '',
        latest?.slice(0, 12) ?? '',
        states.join(', '),
      ]);
      const pinned = servers.map(({ name, version, latest }) => [
        name,
        'server',
        short(version),
        short(latest),
        'newer',
      ]);
      printTable(terminal, ['NAME', 'KIND', 'INSTALLED', 'LATEST', 'STATE'], [...rows, ...pinned]);
    }
    return statusOf(outcome);
  },
};

export const exportInstalled: Verb = {
  usage: 'list --manifest [--output FILE] [--whole-sources]',
  summary: 'Write the sources and installed items as a source manifest, with commits.',
  examples: ['wield list --manifest', 'wield list --manifest --output team/wield.toml'],
  flags: {
    output: option('FILE', 'Write to this file'),
    'whole-sources': toggle('All items of the sources, not only the installed ones'),
  },
  async run(call) {
    const { flags, cwd, toolbox } = call;
    const inventory = loadInventory(toReadOnlyEnvironment(toolbox()));
    const text = toExportedManifest(inventory, flags.has('whole-sources'));
    const output = flags.get('output')?.toString();
    const file = output === undefined ? null : resolve(cwd, output);
    if (file !== null) writeFileAtomic(file, text, { mode: 0o644 });
    return report(call, { file, manifest: text }, file === null ? text : `  written  ${spellOut(file)}\n`);
  },
};
