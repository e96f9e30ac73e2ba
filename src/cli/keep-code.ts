// Keeps what a run compiled of the binary for later ones: half of a short run is spent on compiling.

import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { writeFileAtomic } from '../files/write.js';
import { type Chunks, isOwn } from './chunks.js';
import { findVerb } from './verbs.js';

/** Writes the code of the chunks that were loaded for a word of the command line, beside what was kept of others. */
export function keepCode(file: string, { kept, scripts }: Chunks, word: string): void {
  // A verb that has no code of its own is seldom used, and one of them is there to remove it.
  if (findVerb(word) !== undefined && !basename(file).startsWith(`${word}-`)) return;
  const chunks = new Map(kept.chunks);
  for (const [name, script] of scripts) chunks.set(name, script.createCachedData());
  const lengths = [...chunks].map(([name, code]) => [name, code.length]);
  const head = Buffer.from(`${JSON.stringify({ runs: kept.runs + 1, chunks: lengths })}\n`);
  try {
    const directory = dirname(file);
    const there = statSync(directory, { throwIfNoEntry: false });
    if (there !== undefined && !isOwn(there)) return;
    writeFileAtomic(file, Buffer.concat([head, ...chunks.values()]), { durable: false });
    removeOlder(directory, basename(file));
  } catch {
    // A run that cannot keep it is none the worse: the next one compiles again.
  }
}

// Of another build: `call-0f3c…` where `call-91ab…` was written.
function removeOlder(directory: string, written: string): void {
  const kind = written.slice(0, written.lastIndexOf('-') + 1);
  for (const name of readdirSync(directory))
    if (name.startsWith(kind) && name !== written) rmSync(join(directory, name), { force: true });
}
