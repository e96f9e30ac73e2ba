// The file with the inventory of what the tools can do, which `capabilities_refresh` writes.

import { join } from 'node:path';
import { sanitize } from '../core/text.js';
import { containedPath } from '../files/contained-path.js';
import { readTextFile } from '../files/read.js';

/** Below `.agents`. */
export const INVENTORY = join('prompts', 'capabilities.md');
export const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n[\s\S]*?^---[ \t]*(?:\r?\n|$)/m;
const MAX_CHARACTERS = 16 * 1024;

/** Returns the inventory of a directory for a loop; empty if there is none. */
export function readCapabilities(directory: string): string {
  let text: string | undefined;
  try {
    text = readOwn(directory, join(directory, '.agents', INVENTORY));
  } catch {
    // An unreadable inventory is not used.
  }
  const front = text === undefined ? null : FRONTMATTER.exec(text);
  const body = front?.index === 0 ? text!.slice(front[0].length) : (text ?? '');
  return sanitize(body).trim().slice(0, MAX_CHARACTERS);
}

/** Reads a file of a directory, unless it is a link out of it; undefined if there is none. */
export function readOwn(directory: string, path: string): string | undefined {
  const contained = containedPath(path, { base: directory, roots: [directory] });
  return contained === undefined ? undefined : readTextFile(contained, 256 * 1024);
}
