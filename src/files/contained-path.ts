// Turns a path from outside into a canonical path inside a root. Callers use the result, never the original text.

import { lstatSync, readlinkSync } from 'node:fs';
import { isAbsolute, join, sep } from 'node:path';
import { isWithin, realPath } from './within.js';

// As in the kernel.
const MAX_LINKS = 40;

export interface ContainedPathOptions {
  /** Directory that a relative path starts from. */
  readonly base: string;
  /** Directories that the path may be in; links to them are followed. */
  readonly roots: readonly string[];
}

/** Returns the canonical path if it is inside a root; undefined if it is not, or cannot be resolved. */
export function containedPath(path: string, { base, roots }: ContainedPathOptions): string | undefined {
  const canonical = canonicalPath(path, base);
  if (canonical === undefined) return undefined;
  return roots.some((root) => isWithin(canonicalPath(root, base) ?? root, canonical)) ? canonical : undefined;
}

/**
 * Resolves links and `..` in the order in which the system does: `a/..` is the parent of what `a` links to. The last
 * components may be missing; a dangling link resolves to what it names. Returns undefined for link cycles,
 * directories that cannot be searched, and NUL.
 */
export function canonicalPath(path: string, base: string): string | undefined {
  // Not normalized: that would drop `a/..` without following `a`.
  const absolute = isAbsolute(path) ? path : `${base}${sep}${path}`;
  if (absolute.includes('\0')) return undefined;
  return realPath(absolute) ?? resolveComponents(absolute);
}

function resolveComponents(path: string): string | undefined {
  const waiting = path.split(sep).reverse();
  let current: string = sep;
  let links = 0;
  for (let component = waiting.pop(); component !== undefined; component = waiting.pop()) {
    if (component === '' || component === '.') continue;
    const next = join(current, component);
    // `join` applies `..` to a path without links.
    const link = component === '..' ? null : readLink(next);
    if (link === undefined || (link !== null && ++links > MAX_LINKS)) return undefined;
    if (link === null) current = next;
    else {
      if (isAbsolute(link)) current = sep;
      waiting.push(...link.split(sep).reverse());
    }
  }
  return current;
}

// Returns the target of a link, null for anything else, missing files included, and undefined if it is not known.
function readLink(path: string): string | null | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.isSymbolicLink() ? readlinkSync(path) : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? null : undefined;
  }
}
