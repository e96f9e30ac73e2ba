// The files of the page, read once: a request names one of them or gets nothing.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { findEntry } from '../../process/entry.js';

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** Returns the files of the page by their path. Throws `unavailable` if it was not built. */
export function loadPageFiles(): ReadonlyMap<string, PageFile> {
  const directory = dirname(findEntry('ui/index.html'));
  const files = new Map<string, PageFile>();
  for (const name of list(directory)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    files.set(name === 'index.html' ? '/' : `/${name}`, { type, bytes: readFileSync(join(directory, name)) });
  }
  return files;
}

function list(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    throw new ToolError('unavailable', `the files of the page are missing: ${directory}`, {
      hint: 'build the package: npm run build',
      cause: error,
    });
  }
}
