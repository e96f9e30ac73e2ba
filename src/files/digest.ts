// SHA-256 of files and definitions. Parts are framed by their length, so that no two lists of parts hash alike.

import { readSync } from 'node:fs';
import type { FileIdentity } from '../core/origin.js';
import { type ReadFault, withFile } from './read.js';

// What a process hashes before it loads node:crypto: hashing more in JavaScript takes longer than loading it.
const FEW_BYTES = 2048;
let fewBytes = FEW_BYTES;

/** Loads node:crypto on first use; loading takes longer than listing the tools of a directory. */
export function loadCrypto(): typeof import('node:crypto') {
  fewBytes = 0;
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
  if (bytes.length > fewBytes) return loadCrypto().hash('sha256', bytes);
  fewBytes -= bytes.length;
  return sha256(bytes);
}

/** Hashes parts with the bytes of a file as the last one; returns the identity of the file that was read, too. */
export function digestFile(
  path: string,
  parts: readonly string[],
): { readonly digest: string; readonly identity: FileIdentity } | ReadFault {
  return withFile(path, (descriptor, identity) => {
    const buffer = Buffer.allocUnsafe(Math.min(64 * 1024, identity.size + 1));
    const read = (): Buffer => buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, null));
    const first = read();
    const begin = Buffer.from(head(parts, identity.size));
    if (first.length === identity.size && begin.length + first.length <= fewBytes)
      return { digest: digestBytes(Buffer.concat([begin, first])), identity };
    const hash = loadCrypto().createHash('sha256').update(begin);
    for (let bytes = first; bytes.length > 0; bytes = read()) hash.update(bytes);
    return { digest: hash.digest('hex'), identity };
  });
}

/** Returns what `digestFile` returns for a file with these bytes. */
export function digestAsFile(bytes: Buffer, parts: readonly string[]): string {
  const begin = head(parts, bytes.length);
  if (begin.length + bytes.length <= fewBytes) return digestBytes(Buffer.concat([Buffer.from(begin), bytes]));
  return loadCrypto().createHash('sha256').update(begin).update(bytes).digest('hex');
}

function head(parts: readonly string[], size: number): string {
  return `${parts.map(frame).join('')}${size}:`;
}

function frame(part: string): string {
  return `${Buffer.byteLength(part)}:${part}`;
}

const BLOCK = 64;
// The length of the message, in bits, is in the last eight bytes of the last block.
const LENGTH_BYTES = 8;

let constants: ReturnType<typeof createConstants> | undefined;

/** Returns the SHA-256 of bytes, in hex, without node:crypto: for the few bytes that a short command hashes. */
export function sha256(bytes: Uint8Array): string {
  const whole = bytes.length - (bytes.length % BLOCK);
  const rest = bytes.length - whole;
  const tail = new Uint8Array(rest + 1 + LENGTH_BYTES > BLOCK ? 2 * BLOCK : BLOCK);
  tail.set(bytes.subarray(whole));
  tail[rest] = 0x80;
  const view = new DataView(tail.buffer);
  view.setUint32(tail.length - 8, Math.floor(bytes.length / 0x2000_0000));
  view.setUint32(tail.length - 4, (bytes.length << 3) >>> 0);
  constants ??= createConstants();
  const { initial, roundConstants } = constants;
  const state = initial.slice();
  for (let at = 0; at < whole; at += BLOCK) compress(state, roundConstants, bytes, at);
  for (let at = 0; at < tail.length; at += BLOCK) compress(state, roundConstants, tail, at);
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function compress(state: Int32Array, constants: Int32Array, bytes: Uint8Array, from: number): void {
  const w = new Int32Array(BLOCK);
  for (let t = 0, at = from; t < 16; t++, at += 4)
    w[t] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15]!;
    const y = w[t - 2]!;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[t] = w[t - 16]! + s0 + w[t - 7]! + s1;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let t = 0; t < 64; t++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[t]! + w[t]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}

// The first 32 bits of the fractional parts of the cube roots and square roots of the first primes (FIPS 180-4).
function createConstants() {
  const roundConstants = new Int32Array(64);
  const initial = new Int32Array(8);
  const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0;
  const primes: number[] = [];
  for (let candidate = 2; primes.length < 64; candidate++) {
    if (primes.some((prime) => candidate % prime === 0)) continue;
    if (primes.length < 8) initial[primes.length] = fraction(Math.sqrt(candidate));
    roundConstants[primes.length] = fraction(Math.cbrt(candidate));
    primes.push(candidate);
  }
  return { roundConstants, initial };
}
