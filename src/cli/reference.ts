// A reference as a person types it: a relative path begins where they stand, not in the workdir.

import { isAbsolute, resolve } from 'node:path';
import { parseRef } from '../core/ref.js';

/** The same reference for a toolbox. What is no reference stays as it is, and the toolbox says so. */
export function fromHere(ref: string, cwd: string): string {
  try {
    const parsed = parseRef(ref);
    if (parsed.kind !== 'path' || isAbsolute(parsed.path) || parsed.path.startsWith('~')) return ref;
    return resolve(cwd, parsed.path) + (parsed.fragment === undefined ? '' : `#${parsed.fragment}`);
  } catch {
    return ref;
  }
}
