// `wield record`, `replay` and `diff`: writes the calls of a command to a file, answers calls from one, compares two.

import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { systemReason, ToolError } from '../../core/error.js';
import { count, quoteOutside, spellOut } from '../../core/text.js';
import { readTextFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import type { NodeToolbox } from '../../node.js';
import type { Recording } from '../../ui/recording/recording.js';
import { runInner } from '../command-line.js';
import { printDiff } from '../consent.js';
import { type Io, resolvePath } from '../io.js';
import { printJson, report } from '../print.js';
import { option, required, usageError, type Verb, type VerbCall } from '../verb.js';

const FORMS = ['line', 'test'] as const;

export const replay: Verb = {
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
  usage: 'diff A B [--json]',
  summary: 'Compare the calls of two recordings. Exits with 1 if they differ.',
  examples: ['wield diff before.ndjson after.ndjson'],
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

export const record: Verb = {
  usage: 'record FILE [COMMAND …]',
  summary: 'Run a command, serve by default, and write its calls with input and result to a file, without secrets.',
  examples: ['wield record calls.ndjson', 'wield record calls.ndjson call hello --name Ada'],
  positionals: 1,
  readsRest: true,
  runsUntilStopped: true,
  completes: 'files',
  async run(call) {
    const { positionals, rest, terminal, toolbox: open } = call;
    const file = required(positionals[0], 'file; usage: wield record FILE', 'wield record --help');
    const [{ HEAD }, { recordCalls }] = await Promise.all([
      import('../../ui/recording/recording.js'),
      import('../../ui/recording/record.js'),
    ]);
    const path = resolvePath(terminal.io, file);
    const descriptor = create(path, file);
    let calls = 0;
    let bytes = 0;
    let failure: unknown;
    const write = (line: object, isCall = false): void => {
      if (failure !== undefined) return;
      const text = `${JSON.stringify(line)}\n`;
      try {
        writeFileSync(descriptor, text);
        bytes += Buffer.byteLength(text);
        if (isCall) calls++;
      } catch (error) {
        failure = error;
        // Whole lines can be read.
        ftruncateSync(descriptor, bytes);
      }
    };
    const assertWritten = (): void => {
      if (failure !== undefined) throw incomplete(file, failure);
    };
    let hasBegun = true;
    let stop: (() => void) | undefined;
    try {
      write(HEAD);
      assertWritten();
      const status = await runInner(call, rest, (options) => {
        const toolbox = open(options);
        stop ??= recordCalls(toolbox, (line) => write(line, line.type === 'call'));
        return toolbox;
      });
      assertWritten();
      return status;
    } catch (error) {
      hasBegun = calls > 0;
      throw error;
    } finally {
      stop?.();
      closeSync(descriptor);
      if (hasBegun) terminal.err(`  recorded ${count(calls, 'call')} in ${quoteOutside(file, 200)}\n`);
      else removeFile(path);
    }
  },
};

function incomplete(shown: string, error: unknown): ToolError {
  return new ToolError('io', `not all calls were recorded in ${quoteOutside(shown, 200)}: ${systemReason(error)}`, {
    hint: 'free disk space, and record them again',
  });
}

// Private, because results may contain anything; an existing file is never overwritten.
function create(path: string, shown: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new ToolError('io', exists ? `${shown} exists` : `cannot write ${shown}: ${systemReason(error)}`, {
      hint: exists ? 'name another file, or remove it' : 'check the path',
    });
  }
}
