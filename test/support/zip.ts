// Writes zip archives for tests, also such as no program would write.

import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipFile {
  readonly path: string;
  readonly content?: string | Buffer;
  /** The type and permissions, as in `stat`. */
  readonly mode?: number;
  /** What the directory says in place of the truth. */
  readonly size?: number;
  readonly crc?: number;
  readonly method?: number;
  readonly flags?: number;
  /** The name before the data, if it is another one. */
  readonly localPath?: string;
  /** Uses the data of the entry with this index. */
  readonly sharedWith?: number;
}

export function makeZip(files: readonly ZipFile[]): Buffer {
  const parts: Buffer[] = [];
  const offsets: number[] = [];
  let at = 0;
  const central = files.map((file) => {
    const content = Buffer.from(file.content ?? '');
    const packed = deflateRawSync(content);
    const { method = 8, flags = 0x800, mode = 0o100644 } = file;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(file.crc ?? crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(file.size ?? content.length, 18);
    const local = Buffer.from(file.localPath ?? file.path);
    const head = Buffer.alloc(4);
    head.writeUInt32LE(0x04034b50);
    common.writeUInt16LE(local.length, 22);
    const offset = file.sharedWith === undefined ? at : offsets[file.sharedWith]!;
    offsets.push(offset);
    if (file.sharedWith === undefined) {
      parts.push(head, Buffer.from(common), local, packed);
      at += 30 + local.length + packed.length;
    }
    const name = Buffer.from(file.path);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(0x0314, 4);
    common.copy(entry, 6, 0, 26);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(offset, 42);
    return Buffer.concat([entry, name]);
  });
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(central).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...central, end]);
}
