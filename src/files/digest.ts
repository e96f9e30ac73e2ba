// SHA-256 over files and definitions, with length framing so that no two inputs run together.

import type { Hash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { FileIdentity } from '../core/tool.js';
import { loadCrypto } from './crypto.js';
import { type ReadFault, withFile } from './read.js';

/** A hash of labelled parts: each is preceded by its length. */
export function digestParts(parts: readonly string[]): string {
  const hash = loadCrypto().createHash('sha256');
  for (const part of parts) addPart(hash, part);
  return hash.digest('hex');
}

/** The same with a file's bytes as the last part, and the state of the file that was hashed. */
export function digestFile(
  path: string,
  parts: readonly string[],
): { readonly digest: string; readonly identity: FileIdentity } | ReadFault {
  return withFile(path, (descriptor, identity) => {
    const hash = loadCrypto().createHash('sha256');
    for (const part of parts) addPart(hash, part);
    hash.update(`${identity.size}:`);
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, identity.size + 1));
    for (;;) {
      const length = readSync(descriptor, buffer, 0, buffer.length, null);
      if (length === 0) break;
      hash.update(buffer.subarray(0, length));
    }
    return { digest: hash.digest('hex'), identity };
  });
}

function addPart(hash: Hash, part: string): void {
  hash.update(`${Buffer.byteLength(part)}:${part}`);
}
