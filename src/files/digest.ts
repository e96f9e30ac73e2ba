// SHA-256 of files and definitions. Parts are framed by their length, so that no two lists of parts hash alike.

import { readSync } from 'node:fs';
import type { FileIdentity } from '../core/origin.js';
import { type ReadFault, withFile } from './read.js';

/** Loads node:crypto on first use: a listing needs none. */
export function loadCrypto(): typeof import('node:crypto') {
  return process.getBuiltinModule('node:crypto');
}

/** Returns the plain SHA-256 of texts, concatenated. */
export function hashTexts(texts: readonly string[]): string {
  return digestBytes(Buffer.from(texts.join('')));
}

/** Returns a hash over parts, each framed by its length. */
export function digestParts(parts: readonly string[]): string {
  return hashTexts(parts.map(frame));
}

/** Like `digestParts`, with a key: without it, guesses of the parts cannot be tested. */
export function digestKeyed(key: string, parts: readonly string[]): string {
  return loadCrypto().createHmac('sha256', key).update(parts.map(frame).join('')).digest('hex');
}

/** Returns the plain SHA-256 of bytes. */
export function digestBytes(bytes: Buffer): string {
  return loadCrypto().hash('sha256', bytes);
}

/** Hashes parts with the bytes of a file as the last one; returns the identity of the file that was read, too. */
export function digestFile(
  path: string,
  parts: readonly string[],
): { readonly digest: string; readonly identity: FileIdentity } | ReadFault {
  return withFile(path, (descriptor, identity) => {
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, identity.size + 1));
    const read = (): Buffer => buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, null));
    const hash = loadCrypto().createHash('sha256').update(head(parts, identity.size));
    for (let bytes = read(); bytes.length > 0; bytes = read()) hash.update(bytes);
    return { digest: hash.digest('hex'), identity };
  });
}

/** Returns what `digestFile` returns for a file with these bytes. */
export function digestAsFile(bytes: Buffer, parts: readonly string[]): string {
  return loadCrypto().createHash('sha256').update(head(parts, bytes.length)).update(bytes).digest('hex');
}

function head(parts: readonly string[], size: number): string {
  return `${parts.map(frame).join('')}${size}:`;
}

function frame(part: string): string {
  return `${Buffer.byteLength(part)}:${part}`;
}
