// `wield show --source`: shows what a source offers, and what it has that cannot be installed.

import { count, quoteOutside, sanitize } from '../../core/text.js';
import { toSourceJson } from '../../install/json.js';
import { treeOf } from '../../install/sources/clones.js';
import { findSource, scanRecord } from '../../install/sources/load.js';
import { loadSources } from '../../install/state.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import { printJson } from '../print.js';
import { oneLine, printTable } from '../table.js';
import { usageError, type Verb } from '../verb.js';

export const showSource: Verb = {
  name: 'show --source',
  usage: 'show --source <source> [--json]',
  summary: 'Show the items of a source, and everything it has that is not installed, with the reason.',
  examples: ['wield show --source acme/agent-tools'],
  flags: {},
  positionals: 1,
  async run({ terminal, positionals, json, cwd, toolbox }) {
    const [named] = positionals;
    if (named === undefined)
      throw usageError('missing source; usage: wield show --source <source>', 'wield list --sources shows them');
    const { paths } = toReadOnlyEnvironment(toolbox());
    const record = findSource(named, loadSources(paths), cwd);
    const shown = toSourceJson({ record, scan: scanRecord(record, treeOf(record, paths)) });
    if (json) return printJson(terminal, { ok: true, source: shown });
    terminal.out(`${terminal.paint('bold', sanitize(shown.id))}  ${sanitize(shown.location)}\n`);
    if (shown.description !== null) terminal.out(`${quoteOutside(shown.description, 2000)}\n`);
    const rows = shown.items.map(({ effective, kind, description }) => [effective, kind, oneLine(description ?? '')]);
    if (rows.length > 0) printTable(terminal, ['NAME', 'KIND', 'DESCRIPTION'], rows);
    for (const { what, reason, paths: names } of shown.skipped) {
      terminal.out(`\n  ${terminal.paint('yellow', 'skipped')}  ${count(names.length, what)}: ${sanitize(reason)}\n`);
      for (const name of names) terminal.out(`           ${quoteOutside(name, 300)}\n`);
    }
    return 0;
  },
};
