// Splits a byte stream into lines of limited size; of an oversized line only both ends are kept.

export interface LineReaderOptions {
  readonly maxBytes: number;
  onLine(text: string): void;
  /** Receives the first and last bytes of a line that is too long. */
  onOversizedLine(ends: string): void;
}

const END_BYTES = 1024;

/** Returns a function that takes the next chunk. */
export function createLineReader({ maxBytes, onLine, onOversizedLine }: LineReaderOptions) {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let oversized = false;

  const add = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes <= maxBytes) {
      pieces.push(piece);
      return;
    }
    // Copies, so that the chunks they are part of can be freed.
    const [head, tail] = oversized
      ? [pieces[0]!, Buffer.concat([pieces[1]!, piece])]
      : [Buffer.from(Buffer.concat(pieces).subarray(0, END_BYTES)), piece];
    pieces = [head, Buffer.from(tail.subarray(-END_BYTES))];
    oversized = true;
  };
  const end = (): void => {
    const text = Buffer.concat(pieces).toString('utf8').trim();
    const report = oversized ? onOversizedLine : onLine;
    pieces = [];
    bytes = 0;
    oversized = false;
    report(text);
  };

  return (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(0x0a, at);
      const piece = chunk.subarray(at, newline === -1 ? chunk.length : newline);
      at += piece.length + 1;
      add(piece);
      if (newline !== -1) end();
    }
  };
}
