// Finds the programs that are built beside the library: the tool host, queries, the helper, first starts, sandboxes, threads, the engine.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the path of a program built next to this one, such as `host/main.js`; those of `src/` are made for tests. */
export function findEntry(name: string): string {
  const candidates = [`../${name}`, `../../node_modules/.cache/programs/${name}`];
  const files = candidates.map((candidate) => fileURLToPath(new URL(candidate, import.meta.url)));
  return files.find((file) => existsSync(file)) ?? files[0]!;
}
