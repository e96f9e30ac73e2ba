// `wield config`: shows the effective configuration with the file and line of each value.

import { quoteOutside, revealHidden, sanitize } from '../../core/text.js';
import { printJson } from '../print.js';
import { printTable } from '../table.js';
import { option, usageError, type Verb } from '../verb.js';

export const config: Verb = {
  name: 'config',
  usage: 'config [--json]\n  wield config homes [list | add DIR | remove DIR] [--preset NAME]',
  summary: 'Show the effective configuration, with the file and line of each value; or manage the agent homes.',
  examples: ['wield config', 'wield config homes add --preset codex'],
  flags: { preset: option('NAME', 'The agent home of gemini, codex, universal or windsurf') },
  positionals: 3,
  completes: ['homes'],
  async run(call) {
    const { terminal, json, positionals, toolbox } = call;
    // mind says lobes.
    if (positionals[0] === 'homes' || positionals[0] === 'lobes')
      return (await import('./config-homes.js')).configHomes(call);
    if (positionals[0] !== undefined && positionals[0] !== 'show')
      throw usageError(`unexpected argument "${quoteOutside(positionals[0], 60)}"`, 'wield config --help');
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
