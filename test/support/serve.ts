// `wield serve` in this process: an MCP transport or raw lines over its standard streams, or its address over HTTP.

import { PassThrough } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { createIo, runCommand } from './cli.js';
import { createSession, type RawSession, type ServeOptions } from './server.js';
import { onEnd } from './share.js';
import type { Workspace } from './workspace.js';

/** Starts `wield serve` over stdio when a client connects; closing the transport ends it. */
export function createServeTransport(workspace: Workspace, args: readonly string[]): Transport {
  const input = new PassThrough();
  let rest = '';
  let ended: Promise<number> | undefined;
  const receive = (chunk: Uint8Array): void => {
    const lines = (rest + Buffer.from(chunk).toString('utf8')).split('\n');
    rest = lines.pop()!;
    for (const line of lines) transport.onmessage?.(JSON.parse(line) as JSONRPCMessage);
  };
  const transport: Transport = {
    async start() {
      const { io } = createIo(workspace, { input, onOutput: receive });
      ended = runCommand(['serve', ...args], io);
      void ended.then(() => transport.onclose?.());
    },
    async send(message) {
      input.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      input.end();
      await ended;
    },
  };
  return transport;
}

export interface ServerHere extends RawSession {
  stderr(): string;
  /** Closes its input, and returns its exit status. */
  close(): Promise<number>;
}

/** Starts `wield serve` over stdio in this process, with `--trust` by default. */
export function serveHere(workspace: Workspace, { args = ['--trust'], env = {} }: ServeOptions = {}): ServerHere {
  const input = new PassThrough();
  const { session, receiveText } = createSession((line) => input.write(line));
  const decoder = new TextDecoder();
  const onOutput = (chunk: Uint8Array): void => receiveText(decoder.decode(chunk, { stream: true }));
  const { io, stderr } = createIo(workspace, { env, input, onOutput });
  const ended = runCommand(['serve', ...args], io);
  const close = (): Promise<number> => {
    input.end();
    return ended;
  };
  onEnd(close);
  return { ...session, stderr, close };
}

/** Starts `wield serve --http` on a free port, ended after the test, and returns its URL. */
export function serveUrl(workspace: Workspace, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = '';
    const onOutput = (chunk: Uint8Array): void => {
      printed += Buffer.from(chunk).toString('utf8');
      if (printed.includes('\n')) resolve(printed.trim());
    };
    const { io, signal, stderr } = createIo(workspace, { onOutput });
    const ended = runCommand(['serve', '--http', '0', ...args], io);
    void ended.then((status) => reject(new Error(`wield serve exited with ${status}: ${stderr()}`)));
    onEnd(async () => {
      signal('SIGINT');
      await ended;
    });
  });
}
