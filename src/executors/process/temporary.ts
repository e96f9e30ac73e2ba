// Temporary files for values that a command expects as files; removed after the call.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeTree } from '../../files/remove.js';

export interface TemporaryFiles {
  /** Writes a value and returns the path of its file. */
  write(text: string): string;
  /** The files written so far. */
  readonly paths: readonly string[];
  remove(): void;
}

export function createTemporaryFiles(): TemporaryFiles {
  let directory: string | undefined;
  const paths: string[] = [];
  return {
    paths,
    write(text) {
      directory ??= mkdtempSync(resolve('/', tmpdir(), 'wield-'));
      const path = join(directory, String(paths.length + 1));
      writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
      paths.push(path);
      return path;
    },
    remove() {
      if (directory !== undefined) removeTree(directory);
    },
  };
}
