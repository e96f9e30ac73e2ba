// SHA-256 (FIPS 180-4) for a few kilobytes: computed in less time than node:crypto takes to load.

const ROUNDS = 64;
const BLOCK = 64;
// The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of
// the first eight.
const ROUND_CONSTANTS = new Int32Array(ROUNDS);
const START = new Int32Array(8);

for (let candidate = 2, found = 0; found < ROUNDS; candidate++) {
  if (!isPrime(candidate)) continue;
  if (found < START.length) START[found] = fractionBits(candidate ** (1 / 2));
  ROUND_CONSTANTS[found++] = fractionBits(candidate ** (1 / 3));
}

/** The SHA-256 of bytes, in hex. */
export function sha256(bytes: Uint8Array): string {
  const padded = pad(bytes);
  const state = START.slice();
  const words = new Int32Array(ROUNDS);
  for (let offset = 0; offset < padded.byteLength; offset += BLOCK) addBlock(state, words, padded, offset);
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

// A one bit, zeros, and the length in bits, up to whole blocks.
function pad(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  return view;
}

function addBlock(state: Int32Array, words: Int32Array, data: DataView, offset: number): void {
  for (let at = 0; at < 16; at++) words[at] = data.getInt32(offset + at * 4);
  for (let at = 16; at < ROUNDS; at++) {
    const near = words[at - 15]!;
    const far = words[at - 2]!;
    const s0 = ((near >>> 7) | (near << 25)) ^ ((near >>> 18) | (near << 14)) ^ (near >>> 3);
    const s1 = ((far >>> 17) | (far << 15)) ^ ((far >>> 19) | (far << 13)) ^ (far >>> 10);
    words[at] = words[at - 16]! + s0 + words[at - 7]! + s1;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let at = 0; at < ROUNDS; at++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const first = (h + s1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[at]! + words[at]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
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

function isPrime(number: number): boolean {
  for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) return false;
  return true;
}

function fractionBits(number: number): number {
  return ((number - Math.floor(number)) * 2 ** 32) | 0;
}
