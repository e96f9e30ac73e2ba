// Checksum that detects accidental damage of a cache, cheap enough for every start.

/** Returns eight hex digits. Not cryptographic: loading node:crypto takes longer than listing tools. */
export function checksum(bytes: Buffer): string {
  return process.getBuiltinModule('node:zlib').crc32(bytes).toString(16).padStart(8, '0');
}

/** Returns a name for a file that is kept for a text; the file itself must contain the text. */
export function hashName(text: string): string {
  const bytes = Buffer.from(text);
  return checksum(bytes) + checksum(Buffer.from(bytes.toString('hex')));
}

/** Returns the bytes of a cache file: a line with a label and the checksum, then the text. */
export function sealChecked(text: string, label: string): Buffer {
  const body = Buffer.from(`${text}\n`);
  return Buffer.concat([Buffer.from(firstLine(body, label)), body]);
}

/** Returns the text of a cache file. Throws if it is damaged, or has another label. */
export function openChecked(bytes: Buffer, label: string): string {
  const body = bytes.subarray(bytes.indexOf(0x0a) + 1);
  if (bytes.toString('utf8', 0, bytes.length - body.length) !== firstLine(body, label))
    throw new Error('altered, or written by another version');
  return body.toString('utf8', 0, body.length - 1);
}

function firstLine(body: Buffer, label: string): string {
  return `${label}\t${checksum(body)}\n`;
}
