// The part of the binary that answers the first messages of a server: a file of its own, without the runtime.

import type { Beginning } from '../beginning.js';
import { createProcessIo } from '../process-io.js';
import { answerFirst, findKeptAnswers, readKeptAnswers } from './answers.js';
import { observeAnswers } from './observe-answers.js';

/** Answers first messages from kept answers. Without them, observes the server that makes new ones. */
export async function begin(
  argv: readonly string[],
  wieldHome: string,
  build: string,
): Promise<Beginning | number | undefined> {
  const io = createProcessIo();
  const file = io.stdin.isTerminal ? undefined : findKeptAnswers(argv, wieldHome, io);
  if (file === undefined) return undefined;
  const kept = readKeptAnswers(file, build, io);
  return kept === undefined ? observeAnswers(file, build, io) : { io: await answerFirst(file, kept, io) };
}
