// `wield record`: runs a command, and writes its calls with input and result to a file.

import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { systemReason, ToolError } from '../../core/error.js';
import { count, quoteOutside } from '../../core/text.js';
import { removeFile } from '../../files/remove.js';
import { runInner } from '../command-line.js';
import { resolvePath } from '../io.js';
import { required, type Verb } from '../verb.js';

export const record: Verb = {
  name: 'record',
  usage: 'record FILE [COMMAND …]',
  summary: 'Run a command, serve by default, and write its calls with input and result to a file, without secrets.',
  examples: ['wield record calls.ndjson', 'wield record calls.ndjson call hello --name Ada'],
  flags: {},
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
