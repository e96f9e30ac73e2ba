// The channel of the tool host, with functions captured before modules replace any (MOD-30).

import { Socket } from 'node:net';
import { CHANNEL, createLineReader, sendLine } from '../../../process/lines.js';
import type { Reply, Request } from '../protocol.js';

const MAX_LINE_BYTES = 256 * 1024 * 1024;
const { stringify, parse } = JSON;
const exit = process.exit.bind(process);

export { parse, sendLine as sendText, stringify };

export function send(reply: Reply): void {
  sendLine(stringify(reply));
}

/** Passes requests on; the process ends with the channel. */
export function listen(handle: (request: Request) => void): void {
  const channel = new Socket({ fd: CHANNEL, readable: true, writable: false });
  channel.on(
    'data',
    createLineReader((line) => handle(parse(line) as Request), MAX_LINE_BYTES),
  );
  for (const event of ['error', 'close', 'end']) channel.on(event, () => exit(0));
}
