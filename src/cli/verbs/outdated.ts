// `wield list --outdated`: lists installed items whose source has something newer.

import { findOutdated } from '../../install/compare.js';
import { toInstalledJson } from '../../install/json.js';
import { withInstalling } from '../installing.js';
import { printJson } from '../print.js';
import { printTable } from '../table.js';
import type { Verb } from '../verb.js';

export const outdated: Verb = {
  name: 'list --outdated',
  usage: 'list --outdated [--json]',
  summary: 'List installed items whose source has something newer. Changes nothing.',
  examples: ['wield list --outdated'],
  flags: {},
  positionals: 0,
  async run(call) {
    const { terminal, json } = call;
    const items = await withInstalling(call, findOutdated);
    if (json)
      return printJson(terminal, {
        ok: true,
        items: items.map(({ item, states, latest, renamedTo }) => ({
          ...toInstalledJson(item),
          states,
          latest,
          renamedTo: renamedTo ?? null,
        })),
      });
    if (items.length === 0) terminal.out('  everything is up to date\n');
    else {
      const rows = items.map(({ item, states, latest }) => [
        item.effective,
        item.kind,
        item.commit?.slice(0, 12) ?? '',
        latest?.slice(0, 12) ?? '',
        states.join(', '),
      ]);
      printTable(terminal, ['NAME', 'KIND', 'INSTALLED', 'LATEST', 'STATE'], rows);
    }
    return 0;
  },
};
