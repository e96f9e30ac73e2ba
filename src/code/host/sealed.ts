// Sealed files of programs: what was altered since it was written is not read.

import { closeSync, fsyncSync, openSync, truncateSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import { ToolError } from '../../core/error.js';
import { digestKeyed } from '../../files/digest.js';
import { readStateFile } from '../../files/read.js';
import { toFileError } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';

const MAX_BYTES = 256 * 1024 * 1024;

/** Files sealed with the key of the state, each under its own name; a function, because the key is created on first use. */
export function createSealed(key: () => string) {
  const seal = (...parts: readonly string[]): string => digestKeyed(key(), ['program', ...parts]);
  return {
    /** Writes a file with the text of a JSON value. */
    write(path: string, text: string): void {
      writeFileAtomic(path, `${seal(basename(path), text)}\n${text}`);
    },
    /** Returns undefined if there is no file. Throws `integrity`. */
    read<T>(path: string): T | undefined {
      const text = readStateFile(path, MAX_BYTES);
      if (text === undefined) return undefined;
      const at = text.indexOf('\n');
      if (text.slice(0, at) !== seal(basename(path), text.slice(at + 1))) throw damaged(path);
      return JSON.parse(text.slice(at + 1)) as T;
    },
    /** Appends a line with the text of a JSON value that belongs to `id`; it is on the disk when this returns. */
    append(path: string, id: string, text: string): void {
      appendDurably(path, Buffer.from(`${seal(id, text)} ${text}\n`));
    },
    /** Returns the lines of `id`. Removes one that was being written when its process ended: nothing had happened yet. */
    readLines<T>(path: string, id: string): T[] {
      const whole = readStateFile(path, MAX_BYTES) ?? '';
      const end = whole.lastIndexOf('\n') + 1;
      if (end < whole.length) truncateSync(path, Buffer.byteLength(whole.slice(0, end)));
      const lines = whole.slice(0, end).split('\n').slice(0, -1);
      return lines.map((line) => {
        const at = line.indexOf(' ');
        if (line.slice(0, at) !== seal(id, line.slice(at + 1))) throw damaged(path);
        return JSON.parse(line.slice(at + 1)) as T;
      });
    },
  };
}

export type Sealed = ReturnType<typeof createSealed>;

function appendDurably(path: string, bytes: Buffer): void {
  try {
    const descriptor = openSync(path, 'a', 0o600);
    try {
      for (let offset = 0; offset < bytes.length; ) offset += writeSync(descriptor, bytes, offset);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw toFileError(error, 'write', path);
  }
}

function damaged(path: string): ToolError {
  return new ToolError('integrity', `${path} was changed since wield wrote it, so the program was not resumed`, {
    hint: `see which calls ran (wield audit), then remove it: rm ${path}`,
  });
}
