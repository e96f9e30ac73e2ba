// `wield config`: shows the effective configuration with the file and line of each value.

import { quoteOutside, revealHidden, sanitize } from '../../core/text.js';
import { printJson } from '../print.js';
import { printTable } from '../table.js';
import type { Verb } from '../verb.js';

export const config: Verb = {
  name: 'config',
  usage: 'config [--json]',
  summary: 'Show the effective configuration, with the file and line of each value.',
  examples: ['wield config'],
  flags: {},
  positionals: 0,
  async run({ terminal, json, toolbox }) {
    const { fault, problems, entries } = toolbox().state.configuration();
    if (json) return printJson(terminal, { ok: true, values: entries, problems, fault: fault ?? null });
    const rows = entries.map(({ key, shown, file, line }) => [
      quoteOutside(revealHidden(key), 200),
      quoteOutside(revealHidden(shown), 2000),
      file === null ? 'default' : `${file}:${line}`,
    ]);
    printTable(terminal, ['KEY', 'VALUE', 'FROM'], rows, 1);
    if (fault !== undefined)
      terminal.err(`\n${terminal.paint('red', 'calls are blocked', 'err')}: ${sanitize(fault)}\n`);
    for (const { path, message, hint } of problems) {
      terminal.err(
        `\n${terminal.paint('yellow', 'problem', 'err')}  ${sanitize(`${path}: ${message}\n  hint  ${hint}`)}\n`,
      );
    }
    return 0;
  },
};
