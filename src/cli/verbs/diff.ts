// `wield diff`: compares two recordings.

import { count, quoteOutside, spellOut } from '../../core/text.js';
import { printDiff } from '../consent.js';
import { printJson } from '../print.js';
import { usageError, type Verb } from '../verb.js';
import { readRecording } from './replay.js';

const LABELS = { 'only-a': 'removed', 'only-b': 'added', changed: 'changed' } as const;

export const diff: Verb = {
  name: 'diff',
  usage: 'diff A B [--json]',
  summary: 'Compare the calls of two recordings. Exits with 1 if they differ.',
  examples: ['wield diff before.ndjson after.ndjson'],
  flags: {},
  positionals: 2,
  completes: 'files',
  async run({ positionals, terminal, json }) {
    const [a, b] = positionals;
    if (a === undefined || b === undefined)
      throw usageError('missing file; usage: wield diff A B', 'make recordings: wield record FILE');
    const { diffRecordings } = await import('../../ui/recording/diff.js');
    const differences = diffRecordings(await readRecording(terminal.io, a), await readRecording(terminal.io, b));
    if (json) printJson(terminal, { ok: true, same: differences.length === 0, differences });
    else {
      for (const { tool, kind, input, lines } of differences) {
        const label = terminal.paint(kind === 'changed' ? 'yellow' : 'bold', LABELS[kind].padEnd(7));
        terminal.out(`  ${label}  ${spellOut(tool)} ${quoteOutside(JSON.stringify(input), 200)}\n`);
        printDiff(terminal, lines.map(spellOut));
      }
      terminal.out(differences.length === 0 ? 'No differences.\n' : `  ${count(differences.length, 'difference')}\n`);
    }
    return differences.length === 0 ? 0 : 1;
  },
};
