// Servers that a sandboxed program may and may not reach, and its attempts.

import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { json, wield } from './cli.js';
import { onEnd } from './share.js';
import { createWorkspace, type Workspace } from './workspace.js';

const PROGRAM = readFileSync(new URL('egress-program.cjs', import.meta.url), 'utf8');

export interface Recorder {
  readonly port: number;
  /** Everything that it received. */
  received(): string;
}

/** Starts a server that records what it receives, and answers HTTP requests. `/redirect` leads to another host. */
export async function record(options: ListenOptions = {}, location = ''): Promise<Recorder> {
  let received = '';
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      received += text;
      const isRedirect = text.startsWith('GET /redirect');
      const head = isRedirect ? `302 Found\r\nLocation: ${location}` : '200 OK';
      socket.write(`HTTP/1.1 ${head}\r\nContent-Length: 3\r\n\r\nyes`);
    });
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', ...options }, resolve));
  onEnd(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, received: () => received };
}

async function recordDatagrams(): Promise<Recorder> {
  let received = '';
  const socket = createSocket('udp4', (message) => {
    received += message.toString('latin1');
  });
  await new Promise<void>((resolve) => socket.bind(0, '0.0.0.0', resolve));
  onEnd(() => void socket.close());
  return { port: socket.address().port, received: () => received };
}

const LAN = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

/** Makes a script that runs in a sandbox with a list of hosts. */
export function sandboxScript(workspace: Workspace, name: string, body: string, hosts: readonly string[]): void {
  workspace.config(`[sandbox.${name}]\nnetwork = ${JSON.stringify(hosts)}\n`);
  workspace.script(name, `#!/usr/bin/env node\n// @description D\n// @sandbox ${name}\n${body}\n`);
}

/** Lets a sandboxed program make all attempts. Returns the names of those that reached a server, and what it was told. */
export async function attempt(only: 'allowed' | 'refused') {
  const workspace = createWorkspace();
  const abstract = `wield-egress-${process.pid}-${only}`;
  const socket = join(workspace.home, 'socket');
  const evil = await record({ host: '0.0.0.0' });
  const good = await record({}, `http://evil.localhost:${evil.port}/`);
  const evil6 = await record({ host: '::1' }).catch(() => evil);
  const others = [
    evil,
    evil6,
    await recordDatagrams(),
    await record({ path: `\0${abstract}` }),
    await record({ path: socket }),
  ];
  const ports = { good: good.port, evil: evil.port, evil6: evil6.port, udp: others[2]!.port };
  const setting = { ...ports, lan: LAN ?? '127.0.0.1', abstract, socket, only };
  sandboxScript(workspace, 'attack', `const SETTING = ${JSON.stringify(setting)};\n${PROGRAM}`, [
    `good.localhost:${good.port}`,
    `*.wild.localhost:${good.port}`,
    `169.254.169.254:${good.port}`,
  ]);
  const result = json(await wield(workspace, ['call', 'attack', '--json']));
  const { names } = result.structured as { readonly names: readonly string[] };
  const arrived = others.map((one) => one.received()).join('');
  const tokenOf = (at: number): string => `token-${only}-${at}-`;
  return {
    names,
    reached: names.filter((_, at) => (arrived + good.received()).includes(tokenOf(at))),
    arrived,
    good: good.received(),
    result,
  };
}
