// Files of the cache that are used only while everything that they were made from is unchanged (decision 0109).

import { writeFileAtomic } from '../../files/write.js';
import { readOwnFile } from '../chunks.js';
import type { Io } from '../io.js';
import { areCurrent, type Lookups } from './lookups.js';

/** The first line of a file: what it was made by, and from. */
export interface KeptHead {
  readonly build: string;
  readonly cwd: string;
  /** Null: not set. */
  readonly env: Readonly<Record<string, string | null>>;
  readonly lookups: Lookups;
}

/** Where a kept file is used: the build of the binary and its process. */
export interface KeptFor {
  readonly build: string;
  readonly io: Pick<Io, 'cwd' | 'env'>;
}

/** A file of this build, directory and environment; `isCurrent` asks the file system whether anything has changed. */
export interface Kept<Head extends KeptHead> {
  readonly head: Head;
  /** What follows the first line. */
  readonly body: Buffer;
  isCurrent(): boolean;
}

/** Returns undefined if there is no such file, it is damaged, or it was made elsewhere. */
export function readKept<Head extends KeptHead>(file: string, { build, io }: KeptFor): Kept<Head> | undefined {
  const bytes = readOwnFile(file);
  if (bytes === undefined) return undefined;
  try {
    const end = bytes.indexOf('\n');
    const head = JSON.parse(bytes.toString('utf8', 0, end)) as Head;
    if (head.build !== build || head.cwd !== io.cwd()) return undefined;
    if (!Object.entries(head.env).every(([name, value]) => (io.env[name] ?? null) === value)) return undefined;
    return { head, body: bytes.subarray(end + 1), isCurrent: () => areCurrent(head.lookups) };
  } catch {
    return undefined;
  }
}

export function writeKept(file: string, head: KeptHead, body: string): void {
  try {
    writeFileAtomic(file, `${JSON.stringify(head)}\n${body}`, { durable: false });
  } catch {
    // Not an error: the next run does the work again.
  }
}
