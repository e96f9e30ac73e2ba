// Hashes installed files independently of the place of the store, so that other machines can compare them.

import { dirname, join } from 'node:path';
import { createTreeHash, listTree, readTreeFile } from '../files/tree.js';
import { isWithin } from '../files/within.js';
import type { Rendering } from './tokens/targets.js';

/** Returns the hash of a tree in which paths of the store, absolute or with `~`, count as the same wherever it is. */
export function portableHash(directory: string, { store, home }: Rendering): string {
  const places = [store, join(dirname(store), 'plugin-data')].map((path) => [
    path,
    ...(home !== undefined && isWithin(home, path) ? [`~${path.slice(home.replace(/\/$/, '').length)}`] : []),
  ]);
  const hash = createTreeHash();
  for (const file of listTree(directory)) {
    const bytes = readTreeFile(directory, file.path);
    const framed = frame(bytes, places);
    // No file has a NUL in its name, so that a file cannot imitate the framing of another one.
    if (framed === undefined) hash.add(file, bytes);
    else hash.add({ ...file, path: `${file.path}\0` }, framed);
  }
  return hash.digest();
}

// The text between the paths, each part with its length, and which place each path is. Undefined without any.
function frame(bytes: Buffer, places: readonly (readonly string[])[]): Buffer | undefined {
  const names = places.flatMap((forms, at) => forms.map((text) => ({ text: Buffer.from(`${text}/`), at })));
  const parts: Buffer[] = [];
  let from = 0;
  for (;;) {
    const next = names
      .map(({ text, at }) => ({ start: bytes.indexOf(text, from), length: text.length, at }))
      .filter(({ start }) => start !== -1)
      .sort((a, b) => a.start - b.start || b.length - a.length)[0];
    if (next === undefined) break;
    parts.push(Buffer.from(`${next.start - from}:`), bytes.subarray(from, next.start), Buffer.from(`@${next.at};`));
    from = next.start + next.length;
  }
  if (parts.length === 0) return undefined;
  return Buffer.concat([...parts, Buffer.from(`${bytes.length - from}:`), bytes.subarray(from)]);
}
