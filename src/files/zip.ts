// Reads a zip archive within bounds: every entry is checked before anything is unpacked (INS-67).

import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { createTreeBounds } from './tree.js';

export interface ZipEntry {
  readonly path: string;
  readonly executable: boolean;
  /** Unpacks the entry. Throws if it is not what the archive says about it. */
  read(): Buffer;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const MAX_COMMENT = 0xffff;
const ENCRYPTED = 1;
// Compressed code is seldom a tenth of its size; a bomb is a thousandth.
const MAX_RATIO = 200;
const RATIO_FROM = 1024 * 1024;
const RATIO = `unpacks to over ${MAX_RATIO} times its size`;
// Limits of file systems, in bytes.
const [MAX_NAME, MAX_PATH] = [255, 2048];
const [FILE, DIRECTORY] = [0o100000, 0o040000];

/** Returns the files of an archive. Throws `invalid_definition`, and `path_escape` for a path that leads out of it. */
export function readZip(bytes: Buffer, what: string): ZipEntry[] {
  const count = createTreeBounds(what);
  const headers = readDirectory(bytes, what);
  let total = 0;
  for (const { name, size } of headers) {
    assertPath(name, what);
    count(name, size);
    total += size;
    // As a whole too: many small files are a bomb as well.
    assertRatio(total, bytes.length, () => invalid(what, RATIO));
  }
  assertDistinct(headers, what);
  const files = headers.filter(({ isDirectory }) => !isDirectory);
  assertApart(files, bytes, what);
  return files.map((header) => ({
    path: header.name,
    executable: header.executable,
    read: () => unpack(bytes, header, what),
  }));
}

// One name is one file or one directory, also where case and forms of letters do not count (INS-70).
function assertDistinct(headers: readonly Header[], what: string): void {
  const keyOf = (name: string): string => name.normalize('NFC').toLowerCase();
  const kinds = new Map<string, boolean>();
  for (const { name, isDirectory } of headers) {
    const known = kinds.get(keyOf(name));
    if (known !== undefined && !(known && isDirectory)) throw refuse(what, name, 'is in it twice');
    kinds.set(keyOf(name), isDirectory);
  }
  for (const { name } of headers) {
    const parents = keyOf(name).split('/').slice(0, -1);
    if (parents.some((_, at) => kinds.get(parents.slice(0, at + 1).join('/')) === false))
      throw refuse(what, name, 'is below a file');
  }
}

interface Header {
  readonly name: string;
  readonly isDirectory: boolean;
  readonly executable: boolean;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  /** Where the local header begins. */
  readonly offset: number;
}

// The central directory is what every program uses; local headers must agree with it.
function readDirectory(bytes: Buffer, what: string): Header[] {
  const end = findEnd(bytes);
  if (end === undefined) throw invalid(what, 'is not a zip archive');
  const entries = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (entries === 0xffff || at === 0xffffffff) throw invalid(what, 'is too large an archive (ZIP64)');
  const headers: Header[] = [];
  for (let index = 0; index < entries; index++) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== CENTRAL) throw invalid(what, 'is a damaged archive');
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const next = at + 46 + nameBytes! + extraBytes! + commentBytes!;
    if (next > end) throw invalid(what, 'is a damaged archive');
    headers.push(readHeader(bytes, at, bytes.subarray(at + 46, at + 46 + nameBytes!), what));
    at = next;
  }
  return headers;
}

function readHeader(bytes: Buffer, at: number, nameBytes: Buffer, what: string): Header {
  const name = nameBytes.toString('utf8');
  const isUnix = bytes[at + 5] === 3;
  const mode = isUnix ? bytes.readUInt32LE(at + 38) >>> 16 : 0;
  const type = mode & 0o170000;
  if (type !== 0 && type !== FILE && type !== DIRECTORY) throw refuse(what, name, 'is a link or a special file');
  if ((bytes.readUInt16LE(at + 8) & ENCRYPTED) !== 0) throw refuse(what, name, 'is encrypted');
  const method = bytes.readUInt16LE(at + 10);
  if (method !== 0 && method !== 8) throw refuse(what, name, 'uses an unknown compression');
  const isDirectory = name.endsWith('/');
  const [packed, size] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)];
  assertRatio(size, packed, () => refuse(what, name, RATIO));
  return {
    name: isDirectory ? name.slice(0, -1) : name,
    isDirectory,
    executable: (mode & 0o111) !== 0,
    method,
    crc: bytes.readUInt32LE(at + 16),
    packed,
    size,
    offset: bytes.readUInt32LE(at + 42),
  };
}

function findEnd(bytes: Buffer): number | undefined {
  const first = Math.max(0, bytes.length - MAX_COMMENT - 22);
  for (let at = bytes.length - 22; at >= first; at--)
    if (bytes.readUInt32LE(at) === END && at + 22 + bytes.readUInt16LE(at + 20) <= bytes.length) return at;
  return undefined;
}

function assertRatio(size: number, packed: number, refused: () => ToolError): void {
  if (size > RATIO_FROM && size > packed * MAX_RATIO) throw refused();
}

function assertPath(path: string, what: string): void {
  const steps = path.split('/');
  if (
    [...steps.map((step) => Buffer.byteLength(step) - MAX_NAME), Buffer.byteLength(path) - MAX_PATH].some((n) => n > 0)
  )
    throw refuse(what, path, 'is too long a name');
  const isInside =
    !/[\0-\x1f\x7f-\x9f\\\ufffd]/.test(path) &&
    !/^(?:~|[A-Za-z]:)/.test(path) &&
    steps.every((step) => step !== '' && step !== '.' && step !== '..');
  if (isInside) return;
  throw new ToolError(
    'path_escape',
    `${quoteOutside(what, 200)}: the path "${quoteOutside(path, 120)}" is not allowed`,
    {
      hint: 'do not use this archive',
      data: { path },
    },
  );
}

// Entries that share their data unpack to far more than their sizes add up to.
function assertApart(files: readonly Header[], bytes: Buffer, what: string): void {
  let end = 0;
  for (const { name, offset, packed } of [...files].sort((a, b) => a.offset - b.offset)) {
    if (offset < end) throw refuse(what, name, 'shares its data with another file');
    end = dataOf(bytes, { name, offset }, what) + packed;
    if (end > bytes.length) throw invalid(what, 'is a damaged archive');
  }
}

// Returns where the data of an entry begins.
function dataOf(bytes: Buffer, { name, offset }: Pick<Header, 'name' | 'offset'>, what: string): number {
  if (offset + 30 > bytes.length || bytes.readUInt32LE(offset) !== LOCAL) throw invalid(what, 'is a damaged archive');
  const nameBytes = bytes.readUInt16LE(offset + 26);
  if (bytes.toString('utf8', offset + 30, offset + 30 + nameBytes) !== name)
    throw refuse(what, name, 'has another name where its data is');
  return offset + 30 + nameBytes + bytes.readUInt16LE(offset + 28);
}

function unpack(bytes: Buffer, header: Header, what: string): Buffer {
  const { name, method, packed, size, crc } = header;
  const zlib = process.getBuiltinModule('node:zlib');
  const start = dataOf(bytes, header, what);
  const data = bytes.subarray(start, start + packed);
  let content: Buffer;
  try {
    // One byte more shows that there is more.
    content = method === 0 ? data : zlib.inflateRawSync(data, { maxOutputLength: size + 1 });
  } catch {
    throw refuse(what, name, 'cannot be unpacked, or is larger than it says');
  }
  if (content.length !== size || zlib.crc32(content) !== crc) throw refuse(what, name, 'is not what it says');
  return content;
}

function refuse(what: string, name: string, why: string): ToolError {
  return invalid(what, `cannot be used: ${quoteOutside(name, 120)} ${why}`);
}

function invalid(what: string, why: string): ToolError {
  return new ToolError('invalid_definition', `${quoteOutside(what, 200)} ${why}`, { hint: 'do not use this archive' });
}
