// Answers the first messages of `wield serve` as last time, before anything is loaded (decision 0138).

import { join } from 'node:path';
import { Readable } from 'node:stream';
import { hashName } from '../../files/checksum.js';
import { removeFile } from '../../files/remove.js';
import type { Io } from '../io.js';
import { type Kept, type KeptHead, readKept } from './file.js';
import { answerHead, type FirstRequest, readFirstMessages } from './first-messages.js';

/** Flags that change what is listed, and nothing else. */
const FLAGS = new Set(['--mode', '--profile', '--with']);

/** Returns the file of the answers of a command in its directory; undefined for commands whose answers are not kept. */
export function findKeptAnswers(argv: readonly string[], wieldHome: string, { cwd }: Io): string | undefined {
  const isFlag = (at: number): boolean => FLAGS.has(argv[at]!);
  for (let at = 1; at < argv.length; at += 2) if (!isFlag(at) || at + 1 === argv.length) return undefined;
  try {
    return join(wieldHome, 'cache', 'answers', hashName([cwd(), ...argv].join('\0')));
  } catch {
    // The directory was removed, which the command reports.
    return undefined;
  }
}

/** Results by key, as JSON. */
export type Answers = Readonly<Record<string, string>>;

export interface KeptAnswers {
  readonly kept: Kept<KeptHead>;
  readonly answers: Answers;
}

export function readKeptAnswers(file: string, build: string, io: Io): KeptAnswers | undefined {
  const kept = readKept<KeptHead>(file, { build, io });
  try {
    if (kept === undefined || !kept.isCurrent()) return undefined;
    return { kept, answers: JSON.parse(kept.body.toString('utf8')) as Answers };
  } catch {
    return undefined;
  }
}

interface Answered extends FirstRequest {
  readonly line: string;
}

/**
 * Answers first messages until there is another one. Returns the process for the real server, which receives all
 * messages again; its answers to those that were answered are not sent.
 */
export async function answerFirst(file: string, { kept, answers }: KeptAnswers, io: Io): Promise<Io> {
  const input = io.stdin.stream();
  const answered: Answered[] = [];
  const chunks: Buffer[] = [];
  let sent = Promise.resolve();
  const isAtEnd = await new Promise<boolean>((resolve) => {
    const onEnd = (): void => resolve(true);
    const stop = (): void => {
      input.off('data', onData).off('end', onEnd).off('error', onEnd).pause();
      resolve(false);
    };
    const onRequest = (request: FirstRequest): void => {
      const result = answers[request.key];
      // Files may have changed since the message before.
      if (result === undefined || !kept.isCurrent()) return void stop();
      const line = `${answerHead(request.id)}${result}}`;
      answered.push({ ...request, line });
      sent = sent.then(() => io.stdout.writeAsync(Buffer.from(`${line}\n`)));
      if (request.isLast) stop();
    };
    const read = readFirstMessages(onRequest, stop);
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      read(chunk);
    };
    input.on('data', onData).once('end', onEnd).once('error', onEnd);
  });
  const bytes = Buffer.concat(chunks);
  if (!isAtEnd) input.unshift(bytes);
  // The server notices a closed output itself.
  await sent.catch(() => {});
  // It was paused, and flows again from the next tick on.
  const stream = (): Readable => (isAtEnd ? Readable.from([bytes]) : input.resume());
  return {
    ...io,
    stdin: { isTerminal: io.stdin.isTerminal, stream },
    stdout: { ...io.stdout, writeAsync: (written) => io.stdout.writeAsync(withoutAnswered(written, answered, file)) },
  };
}

// The server writes whole lines.
function withoutAnswered(bytes: Uint8Array, answered: Answered[], file: string): Uint8Array {
  if (answered.length === 0) return bytes;
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  const rest = lines.flatMap((line) => {
    const at = answered.findIndex(({ id }) => line.startsWith(answerHead(id)));
    if (at === -1) return [line];
    const [request] = answered.splice(at, 1);
    if (line === request!.line) return [];
    removeFile(file);
    return request!.key.startsWith('list older') ? [LIST_CHANGED] : [];
  });
  return Buffer.from(rest.join('\n'));
}

const LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
