// The first program in a sandbox with a list of hosts: listens, hands that to wield, and starts the tool when it is alone.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { PROXY_PORT } from './sandbox/egress.js';

const [, , program = '', ...args] = process.argv;
const listener = createServer();
let descriptors: number | undefined;

listener.listen(PROXY_PORT, '127.0.0.1', () => {
  // Wield accepts the connections: nothing in the sandbox can be between.
  process.send!('listening', listener, {}, () => listener.close());
});
process.once('message', (count) => {
  descriptors = Number(count);
});
// The channel to wield is closed before anything else runs in the sandbox.
process.once('disconnect', () => {
  if (descriptors === undefined) process.exit(1);
  const child = spawn(program, args, { stdio: Array.from({ length: descriptors }, (_, at) => at) });
  child.once('error', ({ message }) => {
    process.stderr.write(`${message}\n`);
    process.exit(127);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal!]));
});
