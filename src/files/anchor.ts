// Makes relative references absolute, based on the directory they were written in.

import { isAbsolute, resolve } from 'node:path';
import { parseRef } from '../core/name.js';

/** Resolves a relative path against a directory. Other and invalid references are returned unchanged. */
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
