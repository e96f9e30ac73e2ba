// Lists directories that may be missing or unreadable.

import { type Dirent, readdirSync } from 'node:fs';
import { orNothing } from '../core/error.js';
import { compareText } from '../core/text.js';

/** Returns the entries of a directory; none if it cannot be read. */
export function entriesOf(directory: string): Dirent[] {
  return orNothing(() => readdirSync(directory, { withFileTypes: true })) ?? [];
}

/** Returns the names in a directory, sorted; none if it cannot be read. */
export function namesIn(directory: string): string[] {
  return entriesOf(directory)
    .map(({ name }) => name)
    .sort(compareText);
}
