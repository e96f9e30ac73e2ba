// SHA-256 over files and definitions, with length framing so that no two inputs run together.

import type { Hash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { FileIdentity } from '../core/tool.js';
import { loadCrypto } from './crypto.js';
import { type ReadFault, withFile } from './read.js';
import { sha256 } from './sha256.js';

/** SHA-256 of texts one after the other, as any other program computes it. */
export function hashTexts(texts: readonly string[]): string {
  // A process that hashes often has paid for node:crypto soon.
  const hasher = createHasher(++hashed > OFTEN ? 0 : SMALL);
  for (const text of texts) hasher.add(Buffer.from(text));
  return hasher.hex();
}

/** A hash of labelled parts: each is preceded by its length. */
export function digestParts(parts: readonly string[]): string {
  const hasher = createHasher();
  for (const part of parts) hasher.add(frame(part));
  return hasher.hex();
}

/** The SHA-256 of bytes alone, as any other program would compute it. */
export function digestBytes(bytes: Buffer): string {
  const hasher = createHasher();
  hasher.add(bytes);
  return hasher.hex();
}

/** The hash of parts with a file's bytes as the last one, and the state of the file that was hashed. */
export function digestFile(
  path: string,
  parts: readonly string[],
): { readonly digest: string; readonly identity: FileIdentity } | ReadFault {
  return withFile(path, (descriptor, identity) => {
    const hasher = createHasher();
    for (const part of parts) hasher.add(frame(part));
    hasher.add(Buffer.from(`${identity.size}:`));
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, identity.size + 1));
    for (;;) {
      const length = readSync(descriptor, buffer, 0, buffer.length, null);
      if (length === 0) break;
      hasher.add(buffer.subarray(0, length));
    }
    return { digest: hasher.hex(), identity };
  });
}

/** What `digestFile` gives for a file that has these bytes. */
export function digestAsFile(bytes: Buffer, parts: readonly string[]): string {
  const hasher = createHasher();
  for (const part of parts) hasher.add(frame(part));
  hasher.add(Buffer.from(`${bytes.length}:`));
  hasher.add(bytes);
  return hasher.hex();
}

// From here on loading node:crypto pays (docs/decisions/0015-own-sha-256.md).
const SMALL = 4096;
const OFTEN = 30;
let hashed = 0;

interface Hasher {
  /** Takes the bytes as they are now. */
  add(bytes: Buffer): void;
  hex(): string;
}

// Few bytes are kept and hashed here; with one too many they all go to node:crypto.
function createHasher(small = SMALL): Hasher {
  let kept = Buffer.alloc(0);
  let hash: Hash | undefined;
  return {
    add(bytes) {
      if (hash === undefined && kept.length + bytes.length <= small) kept = Buffer.concat([kept, bytes]);
      else {
        hash ??= loadCrypto().createHash('sha256').update(kept);
        hash.update(bytes);
      }
    },
    hex: () => hash?.digest('hex') ?? sha256(kept),
  };
}

function frame(part: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(part)}:${part}`);
}
