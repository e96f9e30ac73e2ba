// `wield list --installed` and `--available`: what came from sources and how it stands, and what more they offer.

import { isLocked } from '../../files/lock.js';
import { isInterrupted } from '../../install/apply/journal.js';
import { toReadOnlyEnvironment } from '../../install/from-toolbox.js';
import { listAvailable, loadInventory } from '../../install/inventory.js';
import { toOfferJson } from '../../install/json.js';
import { withInstallLock } from '../../install/lock.js';
import { readStatus } from '../../install/status.js';
import { oneLine, printJson, printTable } from '../print.js';
import type { VerbCall } from '../verb.js';

export async function listInstalled({ terminal, flags, json, toolbox, signal }: VerbCall): Promise<number> {
  const environment = toReadOnlyEnvironment(toolbox(), { signal });
  const { paths } = environment;
  // What a killed process left is settled first, so that what is shown is what is there.
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
    else if (offers.length === 0) terminal.out('No source offers anything. wield add owner/repo adds one.\n');
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
  } else if (all.length === 0)
    terminal.out('Nothing is installed. wield install NAME installs an item of a source.\n');
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
