// The address of a server: HOST:PORT of a flag, and listening on it.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ToolError } from '../core/error.js';
import { sanitize } from '../core/text.js';
import { usageError } from './verb.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Reads `PORT` or `HOST:PORT` of a flag; without a host it is this machine only. */
export function parseAddress(flag: string, text: string): Address {
  const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:[\]]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) {
    throw usageError(
      `--${flag} "${sanitize(text)}" is not an address`,
      `write PORT or HOST:PORT, for example --${flag} 7070`,
    );
  }
  return { host: match[1] ?? '127.0.0.1', port };
}

export function listen(server: Server, { host, port }: Address): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      reject(
        new ToolError(
          'unavailable',
          taken ? `port ${port} is in use` : `cannot listen on ${host}:${port}: ${error.message}`,
          {
            hint: 'choose another port, or 0 for any free one',
          },
        ),
      );
    });
    server.listen(port, host.replace(/^\[|\]$/g, ''), () => resolve(server.address() as AddressInfo));
  });
}
