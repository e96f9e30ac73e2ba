// `wield replay`: runs a command whose calls are answered from a recording.

import { ToolError } from '../../core/error.js';
import { count, quoteOutside, spellOut } from '../../core/text.js';
import { readTextFile } from '../../files/read.js';
import type { NodeToolbox } from '../../node.js';
import type { Recording } from '../../ui/recording/recording.js';
import { runInner } from '../command-line.js';
import { printDiff } from '../consent.js';
import { type Io, resolvePath } from '../io.js';
import { printJson, report } from '../print.js';
import { option, required, usageError, type Verb, type VerbCall } from '../verb.js';

const FORMS = ['line', 'test'] as const;

export const replay: Verb = {
  name: 'replay',
  usage: 'replay FILE [COMMAND …]\n  wield replay --export line|test FILE',
  summary:
    'Run a command, serve by default, with the tools of a recording: calls get the recorded answers, nothing runs.',
  examples: [
    'wield replay calls.ndjson',
    'wield replay calls.ndjson call hello --name Ada',
    'wield replay --export test calls.ndjson',
  ],
  flags: { export: option('FORM', 'Print its calls as shell lines or as tests', { choices: FORMS }) },
  positionals: 1,
  readsRest: true,
  runsUntilStopped: true,
  completes: 'files',
  async run(call) {
    const { positionals, rest, flags, terminal, toolbox: open } = call;
    const file = required(positionals[0], 'file; usage: wield replay FILE', 'wield replay --help');
    const recording = await readRecording(terminal.io, file);
    const form = FORMS.find((one) => one === flags.get('export'));
    if (form !== undefined) return printExport(call, recording, form);
    const { createReplay } = await import('../../ui/recording/replay.js');
    let replaying: NodeToolbox | undefined;
    return runInner(call, rest, (options) => {
      replaying ??= createReplay(open(options), recording);
      return replaying;
    });
  },
};

/** Reads and checks a recording. Throws `io` or `invalid_definition`. */
export async function readRecording(io: Io, file: string): Promise<Recording> {
  const { parseRecording } = await import('../../ui/recording/recording.js');
  let text: string | undefined;
  try {
    text = readTextFile(resolvePath(io, file), MAX_BYTES);
  } catch (error) {
    throw unreadable(file, (error as Error).message);
  }
  if (text === undefined) throw unreadable(file, 'not found');
  return parseRecording(text, file);
}

const MAX_BYTES = 256 * 1024 * 1024;

function unreadable(file: string, why: string): ToolError {
  return new ToolError('io', `cannot read ${file}: ${why}`, { hint: 'make one: wield record FILE' });
}

async function printExport(call: VerbCall, { calls }: Recording, form: 'line' | 'test'): Promise<number> {
  const { exportCall } = await import('../../ui/recording/export.js');
  const texts = calls.filter(({ parent }) => parent === null).map((one) => exportCall(one)[form]);
  const { toVisible } = await import('../visible-output.js');
  const all = texts.map((text) => `${text}\n`).join('');
  return report(call, { exported: texts }, call.terminal.outIsTerminal ? toVisible(all) : all);
}

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
