// Reads the first bytes of a connection: which server a TLS client names, before anything is encrypted (EXE-85).

/** `more`: not all has arrived; `other`: not TLS; else the server that is named, null if none is. */
export type Hello = 'more' | 'other' | { readonly server: string | null };

/** So long the first message of a client may be. */
export const MAX_HELLO_BYTES = 16 * 1024;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const RECORD_HEAD = 5;

/**
 * Reads the message that begins a TLS connection. It must be the first record, and whole in it: what servers would read
 * otherwise is refused, with everything that is not well-formed.
 */
export function readHello(bytes: Buffer): Hello {
  if (bytes.length === 0) return 'more';
  if (bytes[0] !== HANDSHAKE) return 'other';
  if (bytes.length < RECORD_HEAD) return 'more';
  const length = bytes.readUInt16BE(3);
  if (bytes[1] !== 3 || length > MAX_HELLO_BYTES) return 'other';
  if (bytes.length < RECORD_HEAD + length) return 'more';
  try {
    return { server: readServer(bytes.subarray(RECORD_HEAD, RECORD_HEAD + length)) };
  } catch {
    return 'other';
  }
}

// Throws RangeError for anything that is not as it should be.
function readServer(record: Buffer): string | null {
  const message = createReader(record);
  if (message.number(1) !== CLIENT_HELLO) throw new RangeError('not a hello');
  const hello = createReader(message.rest(3));
  // Version and random, session, ciphers, compression.
  hello.skip(2 + 32);
  hello.part(1);
  hello.part(2);
  hello.part(1);
  if (hello.isOver()) return null;
  const extensions = createReader(hello.rest(2));
  const servers: string[] = [];
  while (!extensions.isOver()) {
    const type = extensions.number(2);
    const content = extensions.part(2);
    if (type === SERVER_NAME) servers.push(readName(content));
  }
  if (servers.length > 1) throw new RangeError('several names');
  return servers[0] ?? null;
}

function readName(content: Buffer): string {
  const names = createReader(createReader(content).rest(2));
  if (names.number(1) !== HOST_NAME) throw new RangeError('not a name');
  return names.rest(2).toString('latin1');
}

function createReader(bytes: Buffer) {
  let at = 0;
  const number = (size: number): number => {
    at += size;
    return bytes.readUIntBE(at - size, size);
  };
  /** Reads something that begins with its length. */
  const part = (size: number): Buffer => {
    const length = number(size);
    if (at + length > bytes.length) throw new RangeError('too short');
    at += length;
    return bytes.subarray(at - length, at);
  };
  return {
    number,
    part,
    skip(count: number): void {
      at += count;
    },
    /** Reads a part that must be the last one. */
    rest(size: number): Buffer {
      const last = part(size);
      if (at !== bytes.length) throw new RangeError('too long');
      return last;
    },
    isOver: (): boolean => at >= bytes.length,
  };
}
