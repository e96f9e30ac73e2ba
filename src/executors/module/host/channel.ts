// The channel of the tool host, with functions captured before modules replace any (MOD-30).

import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { createLineReader, type Reply, type Request } from '../protocol.js';

const DESCRIPTOR = 3;
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const { stringify, parse } = JSON;
const { from } = Buffer;
const { wait } = Atomics;
const write = writeSync;
const exit = process.exit.bind(process);
const clock = new Int32Array(new SharedArrayBuffer(4));

export { parse, stringify };

/** Writes everything before it returns. */
export function sendText(text: string): void {
  const bytes = from(`${text}\n`);
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += write(DESCRIPTOR, bytes, offset);
    } catch (error) {
      // Without the channel no result can be delivered.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') exit(0);
      // wield is slow to read: wait without spinning.
      wait(clock, 0, 0, 1);
    }
  }
}

export function send(reply: Reply): void {
  sendText(stringify(reply));
}

/** Passes requests on; the process ends with the channel. */
export function listen(handle: (request: Request) => void): void {
  const channel = new Socket({ fd: DESCRIPTOR, readable: true, writable: false });
  channel.on(
    'data',
    createLineReader((line) => handle(parse(line) as Request), MAX_LINE_BYTES),
  );
  for (const event of ['error', 'close', 'end']) channel.on(event, () => exit(0));
}
