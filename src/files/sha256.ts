// SHA-256 without node:crypto, for the few bytes that a short command hashes: loading node:crypto takes 4 ms.

const BLOCK = 64;
// The length of the message, in bits, is in the last eight bytes of the last block.
const LENGTH_BYTES = 8;

// The first 32 bits of the fractional parts of the cube roots and square roots of the first primes (FIPS 180-4).
const { roundConstants, initial } = createConstants();
const schedule = new Int32Array(64);

/** Returns the SHA-256 of bytes, in hex. */
export function sha256(bytes: Uint8Array): string {
  const whole = bytes.length - (bytes.length % BLOCK);
  const rest = bytes.length - whole;
  const tail = new Uint8Array(rest + 1 + LENGTH_BYTES > BLOCK ? 2 * BLOCK : BLOCK);
  tail.set(bytes.subarray(whole));
  tail[rest] = 0x80;
  const view = new DataView(tail.buffer);
  view.setUint32(tail.length - 8, Math.floor(bytes.length / 0x2000_0000));
  view.setUint32(tail.length - 4, (bytes.length << 3) >>> 0);
  const state = initial.slice();
  for (let at = 0; at < whole; at += BLOCK) compress(state, bytes, at);
  for (let at = 0; at < tail.length; at += BLOCK) compress(state, tail, at);
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function compress(state: Int32Array, bytes: Uint8Array, from: number): void {
  const w = schedule;
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
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[t]! + w[t]!) | 0;
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
