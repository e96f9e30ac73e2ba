// `wield list --installed` and `--available`: installed items with their state, and items of sources.

import { isLocked } from '../../files/lock.js';
import { isInterrupted } from '../../install/apply/journal.js';
import { toReadOnlyEnvironment } from '../../install/environment.js';
import { listAvailable, loadInventory } from '../../install/inventory.js';
import { toOfferJson } from '../../install/json.js';
import { withInstallLock } from '../../install/lock.js';
import { readStatus } from '../../install/status.js';
import { oneLine, printJson, printTable } from '../print.js';
import type { VerbCall } from '../verb.js';

export async function listInstalled({ terminal, flags, json, toolbox, signal }: VerbCall): Promise<number> {
  const environment = toReadOnlyEnvironment(toolbox(), { signal });
  const { paths } = environment;
  // Recovers from an interrupted install first.
  if (isInterrupted(paths) && !isLocked(paths.lock)) await withInstallLock(environment, async () => {});
  const inventory = loadInventory(environment);
  if (flags.has('available')) {
    const offers = listAvailable(inventory);
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
  const all = readStatus(inventory);
  if (json) {
    const items = all.map(({ item, states, renamedTo }) => {
      const { files: _files, ...shown } = item;
      return { ...shown, states, renamedTo: renamedTo ?? null };
    });
    printJson(terminal, { ok: true, items });
  } else if (all.length === 0) terminal.out('Nothing installed. Install an item: wield install NAME\n');
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
