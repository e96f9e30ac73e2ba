// `wield serve` as a real process: raw lines over stdio, or an address over HTTP.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { binary } from './built.js';
import { copyCompiledCode } from './compiled-code.js';
import { patience } from './patience.js';
import { sleep } from './processes.js';
import { onEnd } from './share.js';
import type { Workspace } from './workspace.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read messages of any shape
export type Message = any;

export interface ServeOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

export interface RunningServer {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
  /** The exit status, or the name of the signal. */
  readonly exited: Promise<number | string>;
  stderr(): string;
  /** Resident memory in MiB. */
  memory(): number;
}

/** Messages that are exchanged with a server, line by line. */
export interface RawSession {
  /** All lines of stdout. */
  readonly lines: string[];
  /** Writes a message, or a raw line. */
  send(message: object | string): void;
  /** Waits for the first matching message, including earlier ones. */
  receive(fits: (message: Message) => boolean, timeoutMs?: number): Promise<Message>;
  /** Sends a request and returns its response. */
  request(id: number | string, method: string, params?: object): Promise<Message>;
  /** Initializes the connection in the older protocol version. */
  initialize(): Promise<Message>;
}

export type StdioServer = RunningServer & RawSession;

export interface HttpServer extends RunningServer {
  readonly url: string;
  readonly port: number;
}

export const OLDER = '2025-11-25';

function start(workspace: Workspace, args: readonly string[], env: Record<string, string>): RunningServer {
  copyCompiledCode(workspace.env.WIELD_HOME);
  const child = spawn(process.execPath, [binary(), 'serve', ...args], {
    cwd: workspace.dir,
    env: { ...workspace.env, ...env },
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  child.stdin.on('error', () => {});
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'nothing'));
  });
  onEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const pid = child.pid!;
  return { child, pid, exited, stderr: () => stderr, memory: () => residentMiB(pid) };
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Starts `wield serve` over stdio, with `--trust` by default. */
export function serveStdio(workspace: Workspace, { args = ['--trust'], env = {} }: ServeOptions = {}): StdioServer {
  const server = start(workspace, args, env);
  const { session, receiveText } = createSession((line) => server.child.stdin.write(line));
  server.child.stdout.setEncoding('utf8');
  server.child.stdout.on('data', receiveText);
  return { ...server, ...session };
}

/** Creates a session over a function that writes lines; `receiveText` takes the output of the server. */
export function createSession(write: (line: string) => void): {
  readonly session: RawSession;
  receiveText(text: string): void;
} {
  const lines: string[] = [];
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  const receiveText = (text: string): void => {
    const parts = (rest + text).split('\n');
    rest = parts.pop()!;
    for (const line of parts) {
      lines.push(line);
      messages.push(parseLine(line));
    }
    for (const look of waiting) look();
  };
  const send: RawSession['send'] = (message) =>
    write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  const receive: RawSession['receive'] = (fits, timeoutMs = 90_000) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = messages.find((message) => message !== undefined && fits(message));
        if (found === undefined) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(found);
      };
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`no such message came; ${lines.length} lines did: ${lines.join('\n').slice(-2000)}`));
      }, patience(timeoutMs));
      waiting.add(look);
      look();
    });
  const request: RawSession['request'] = (id, method, params) => {
    send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    return receive((message) => message.id === id && message.method === undefined);
  };
  const initialize = async (): Promise<Message> => {
    const answer = await request('initialize', 'initialize', {
      protocolVersion: OLDER,
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
    });
    send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  };
  return { session: { lines, send, receive, request, initialize }, receiveText };
}

function parseLine(line: string): Message | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Starts `wield serve --http`, by default on a free port of 127.0.0.1. */
export async function serveHttp(
  workspace: Workspace,
  { args = ['--trust'], env = {}, address = '0' }: ServeOptions & { readonly address?: string } = {},
): Promise<HttpServer> {
  const server = start(workspace, ['--http', address, ...args], env);
  let stdout = '';
  server.child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
  });
  const ended = server.exited.then((status) => {
    throw new Error(`wield serve exited with ${status}: ${server.stderr()}`);
  });
  ended.catch(() => {});
  while (!stdout.includes('\n')) await Promise.race([sleep(20), ended]);
  const url = stdout.trim();
  return { ...server, url, port: Number(new URL(url).port) };
}

/** Waits until a condition holds; throws after a generous timeout. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 90_000,
): Promise<void> {
  const deadline = performance.now() + patience(timeoutMs);
  // Rarely after a while: some conditions read all processes of the machine, and others wait for a core.
  for (let pause = 10; !(await condition()); pause = Math.min(pause * 1.5, 100)) {
    if (performance.now() > deadline) throw new Error(`timed out waiting: ${what}`);
    await sleep(pause);
  }
}
