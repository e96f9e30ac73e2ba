// A checksum against accidents, cheap enough for every start.

/** Eight hex digits that differ where a byte does. Against accidents only: SHA-256 takes longer to load than to compute. */
export function checksum(bytes: Buffer): string {
  let sum = 0x811c9dc5;
  const words = bytes.length >> 2;
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : Buffer.from(Uint8Array.from(bytes).buffer);
  const view = new Uint32Array(aligned.buffer, aligned.byteOffset, words);
  // Times 31, plus a word: a start computes this before the engine has compiled it, so each step counts.
  for (let at = 0; at < words; at++) sum = ((sum << 5) - sum + view[at]!) | 0;
  for (let at = words * 4; at < bytes.length; at++) sum = Math.imul(sum ^ bytes[at]!, 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, '0');
}
