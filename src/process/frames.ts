// Messages between wield and its helper process: a length, a type, the number of a run, and bytes.

/** Types of messages: the first five go to the helper, the others come from it. */
export const FRAME = {
  start: 1,
  stop: 2,
  hold: 3,
  release: 4,
  close: 5,
  ready: 6,
  started: 7,
  stdout: 8,
  stderr: 9,
  ended: 10,
  failed: 11,
  debug: 12,
} as const;

export type FrameType = (typeof FRAME)[keyof typeof FRAME];

export interface Frame {
  readonly type: FrameType;
  /** The run that it is about. */
  readonly run: number;
  readonly bytes: Buffer;
}

const HEAD = 9;
const NOTHING = Buffer.alloc(0);

export function formatFrame(type: FrameType, run: number, content: string | Buffer = NOTHING): Buffer {
  const length = typeof content === 'string' ? Buffer.byteLength(content) : content.length;
  const frame = Buffer.allocUnsafe(HEAD + length);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32LE(run, 5);
  if (typeof content === 'string') frame.write(content, HEAD, 'utf8');
  else content.copy(frame, HEAD);
  return frame;
}

/** Returns a function that takes the chunks of a stream and passes on each complete frame. */
export function createFrameReader(onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let length = 0;
  // Joined only when a frame is complete: a long one arrives in many chunks.
  let wanted = HEAD;
  return (chunk) => {
    pieces.push(chunk);
    length += chunk.length;
    if (length < wanted) return;
    const bytes = pieces.length === 1 ? chunk : Buffer.concat(pieces);
    let at = 0;
    for (;;) {
      wanted = HEAD;
      if (bytes.length - at < wanted) break;
      wanted += bytes.readUInt32LE(at);
      if (bytes.length - at < wanted) break;
      const type = bytes.readUInt8(at + 4) as FrameType;
      const run = bytes.readUInt32LE(at + 5);
      onFrame({ type, run, bytes: bytes.subarray(at + HEAD, at + wanted) });
      at += wanted;
    }
    const rest = bytes.subarray(at);
    pieces = rest.length === 0 ? [] : [rest];
    length = rest.length;
  };
}
