// Reads and forges files of caches.

import { readFileSync, writeFileSync } from 'node:fs';
import { openSealed, seal } from '../../src/files/cache.js';

/** Returns the label and the text of a cache file. */
export function readCacheFile(file: string): { readonly label: string; readonly text: string } {
  const bytes = readFileSync(file);
  const label = bytes.toString('utf8', 0, bytes.indexOf(0x0a));
  return { label, text: openSealed(bytes, label) };
}

/** Changes the text of a cache file so that it is intact. */
export function forgeCacheFile(file: string, change: (text: string) => string): void {
  const { label, text } = readCacheFile(file);
  writeFileSync(file, seal(change(text), label));
}
