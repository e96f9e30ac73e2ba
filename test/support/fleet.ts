// Fronts and workers of a fleet: in this process, or as processes that can be killed.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Job } from '../../src/fleet/job.js';
import { binary } from './built.js';
import { createIo, runCommand } from './cli.js';
import { copyCompiledCode } from './compiled-code.js';
import { sleep } from './processes.js';
import { onEnd } from './share.js';
import { createWorkspace, type Workspace } from './workspace.js';

export const FLEET_KEY = 'f1'.repeat(32);

/** Creates a workspace of the fleet; several with the same tools are several machines. */
export function createMember(tools: Readonly<Record<string, string>>, config = ''): Workspace {
  const workspace = createWorkspace();
  workspace.env.WIELD_FLEET_KEY = FLEET_KEY;
  for (const [name, text] of Object.entries(tools)) workspace.script(name, text);
  if (config !== '') workspace.config(config);
  return workspace;
}

export interface Member {
  /** What it printed first: the URL of a front, the id of a worker. */
  readonly name: string;
  stderr(): string;
  /** Sends SIGTERM; resolves with the exit status. */
  stop(): Promise<number | null>;
}

export interface MemberProcess extends Member {
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
}

/** Runs `wield serve` or `wield worker` in this process until it is stopped or the test ends. */
export function startHere(workspace: Workspace, args: readonly string[]): Promise<Member> {
  return new Promise((resolve, reject) => {
    let printed = '';
    const onOutput = (chunk: Uint8Array): void => {
      printed += Buffer.from(chunk).toString('utf8');
      if (printed.includes('\n')) resolve({ name: printed.trim(), stderr, stop });
    };
    const { io, signal, stderr } = createIo(workspace, { onOutput });
    const ended = runCommand(args, io);
    const stop = (): Promise<number> => {
      signal('SIGTERM');
      return ended;
    };
    void ended.then((status) => reject(new Error(`${args[0]} exited with ${status}: ${stderr()}`)));
    onEnd(stop);
  });
}

/** Likewise as a process of its own. */
export function startProcess(
  workspace: Workspace,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<MemberProcess> {
  copyCompiledCode(workspace.env.WIELD_HOME);
  const child: ChildProcess = spawn(process.execPath, [binary(), ...args], {
    cwd: workspace.dir,
    env: { ...workspace.env, ...env },
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let [printed, errors] = ['', ''];
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM');
    return ended;
  };
  onEnd(() => {
    child.kill('SIGKILL');
    return ended;
  });
  return new Promise((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (!printed.includes('\n')) return;
      const signal = (name: NodeJS.Signals): void => void child.kill(name);
      resolve({ name: printed.trim(), pid: child.pid!, stderr: () => errors, stop, signal });
    });
    void ended.then((status) => reject(new Error(`${args[0]} exited with ${status}: ${errors}`)));
  });
}

/** The call of the tool `count` that a member of the fleet could put into the queue. */
export function createJob(id: string, known: Pick<Job, 'digest' | 'queued'>, more: Partial<Job> = {}): Job {
  return {
    id,
    attempt: 1,
    front: 'front-none',
    tool: 'count',
    input: { text: id },
    caller: { kind: 'model', door: 'mcp' },
    timeoutMs: 60_000,
    keepMs: 60_000,
    wants: { progress: false, output: false, log: false },
    ...known,
    ...more,
  };
}

export const frontArgs = (url: string): string[] => ['serve', '--http', '0', '--trust', '--fleet', url];
export const workerArgs = (url: string, ...more: string[]): string[] => ['worker', '--trust', '--fleet', url, ...more];

/** The result of a call, as a client sees it. */
export interface Answer {
  /** The notifications that arrived before it, in order. */
  readonly before: readonly { readonly method: string; readonly params: Readonly<Record<string, unknown>> }[];
  readonly text: string;
  readonly code: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data whose shape they are there to prove
  readonly error: any;
}

export interface CallSettings {
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly meta?: Record<string, unknown>;
  /** The token of the server. */
  readonly token?: string;
}

const VERSION = '2026-07-28';

/** Calls a tool over HTTP in the newer protocol version, which has no sessions. */
export async function callFront(
  url: string,
  name: string,
  input: object = {},
  { key, signal, token, meta = {} }: CallSettings = {},
): Promise<Answer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'fleet-test', version: '1' },
    ...(key === undefined ? {} : { 'wield/key': key }),
    ...meta,
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input, _meta } }),
    ...(signal === undefined ? {} : { signal }),
  });
  const body = await response.text();
  // An event stream, if there was progress: the last event is the response.
  const events = body.startsWith('{') ? [body] : [...body.matchAll(/^data: (.+)$/gm)].map(([, data]) => data!);
  const [{ result, error }, ...earlier] = events.map((event) => JSON.parse(event)).reverse();
  const failure = result?._meta?.['wield/error'] ?? error?.data?.['wield/error'] ?? error;
  return { before: earlier.reverse(), text: result?.content?.[0]?.text ?? '', code: failure?.code, error: failure };
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(15);
}
