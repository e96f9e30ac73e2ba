// Anchors a reference: a relative path begins where it was written, in a skill's directory or where a person stands.

import { isAbsolute, resolve } from 'node:path';
import { parseRef } from '../core/ref.js';

/** The same reference for anyone, anywhere. What is no reference stays as it is: whoever looks for it says so. */
export function anchorRef(ref: string, directory: string | null): string {
  if (directory === null) return ref;
  try {
    const parsed = parseRef(ref);
    if (parsed.kind !== 'path' || isAbsolute(parsed.path) || parsed.path.startsWith('~')) return ref;
    return resolve(directory, parsed.path) + (parsed.fragment === undefined ? '' : `#${parsed.fragment}`);
  } catch {
    return ref;
  }
}
