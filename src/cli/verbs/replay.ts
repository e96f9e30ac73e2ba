// `wield replay`: runs a command whose calls are answered from a recording.

import { ToolError } from '../../core/error.js';
import { readTextFile } from '../../files/read.js';
import type { NodeToolbox } from '../../node.js';
import type { Recording } from '../../ui/recording/recording.js';
import { runInner } from '../command-line.js';
import { type Io, resolvePath } from '../io.js';
import { report } from '../print.js';
import { option, required, type Verb, type VerbCall } from '../verb.js';

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
