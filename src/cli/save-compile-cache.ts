// Saves compiled code for later runs: compiling takes half of a short run.

import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import { type Chunks, isOwn } from './chunks.js';
import { findCommandEntry } from './verbs.js';

/** Adds the compiled code of the loaded chunks to the cache file of a command. */
export function saveCompileCache(file: string, { cached, scripts }: Chunks, word: string): void {
  // Other verbs are rarely used, and `clean` must not recreate what it just removed.
  if (findCommandEntry(word).entry !== undefined && !basename(file).startsWith(`${word}-`)) return;
  const chunks = new Map(cached.chunks);
  for (const [name, script] of scripts) chunks.set(name, script.createCachedData());
  const lengths = [...chunks].map(([name, code]) => [name, code.length]);
  const head = Buffer.from(`${JSON.stringify({ runs: cached.runs + 1, chunks: lengths })}\n`);
  try {
    const directory = dirname(file);
    const existing = statSync(directory, { throwIfNoEntry: false });
    if (existing !== undefined && !isOwn(existing)) return;
    writeFileAtomic(file, Buffer.concat([head, ...chunks.values()]), { durable: false });
    removeOthers(directory, basename(file));
  } catch {
    // Not an error: the next run compiles again.
  }
}

// Removes the files of other builds: `call-0f3c…` after `call-91ab…` was written.
function removeOthers(directory: string, written: string): void {
  const kind = written.slice(0, written.lastIndexOf('-') + 1);
  for (const name of readdirSync(directory))
    if (name.startsWith(kind) && name !== written) removeFile(join(directory, name));
}
