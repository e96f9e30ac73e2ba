// Keeps the first answers of an observed `wield serve` for the next start (decision 0138).

import type { Io } from '../io.js';
import { writeKept } from './file.js';
import { answerHead, readFirstMessages } from './first-messages.js';
import { type Observation, observe } from './observe.js';

/** Observes a server until its tools are listed, or it gets another message. */
export function observeAnswers(file: string, build: string, given: Io): Pick<Observation, 'builtin' | 'io'> {
  const { builtin, io, used, stop } = observe(given);
  const answers: Record<string, string> = {};
  const pending = new Map<string, { readonly key: string; readonly isLast: boolean }>();
  let isDone = false;
  let mayKeep = (): boolean => false;
  const end = (): void => {
    isDone = true;
    stop();
  };
  const read = readFirstMessages(({ id, key, isLast }) => pending.set(answerHead(id), { key, isLast }), end);
  const note = (bytes: Uint8Array): void => {
    for (const line of Buffer.from(bytes).toString('utf8').split('\n')) {
      const head = [...pending.keys()].find((one) => line.startsWith(one));
      if (head === undefined) continue;
      const { key, isLast } = pending.get(head)!;
      answers[key] = line.slice(head.length, -1);
      if (!isLast) continue;
      const from = mayKeep() ? used() : undefined;
      if (from !== undefined) writeKept(file, { build, ...from }, JSON.stringify(answers));
      return void end();
    }
  };
  return {
    builtin,
    io: {
      ...io,
      stdin: {
        isTerminal: io.stdin.isTerminal,
        stream() {
          const stream = io.stdin.stream();
          const onData = (chunk: Buffer): void => {
            if (isDone) stream.off('data', onData);
            else read(chunk);
          };
          return stream.on('data', onData);
        },
      },
      stdout: {
        ...io.stdout,
        async writeAsync(bytes) {
          await io.stdout.writeAsync(bytes);
          if (!isDone) note(bytes);
        },
      },
      keepAnswers(may) {
        mayKeep = may;
      },
    },
  };
}
