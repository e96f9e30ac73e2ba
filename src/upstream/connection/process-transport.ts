// The stdio transport: a child process, one message per line, with limits on its output.

import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { inBackground } from '../../core/async.js';
import type { World } from '../../core/snapshot.js';
import { sanitize } from '../../core/text.js';
import { settlesWithin } from '../../core/time-limit.js';
import { type EgressPlan, openEgress } from '../../net/egress/plan.js';
import { fromResolved, type ResolvedNetwork } from '../../net/network.js';
import { type PipedCompanion, startPiped } from '../../process/companion.js';
import { type FirstStart, startFirst } from '../../process/first-start.js';
import type { RefusedHost } from '../../process/sandbox/refusal.js';
import type { StartRequest } from '../../process/start.js';
import { assertUnchanged, type PinnedFiles } from '../pins/start.js';
import type { JSONRPCMessage } from '../sdk.js';
import { readMessage, refuseLong } from './read-message.js';
import type { ServerExit, UpstreamTransport } from './transport.js';

const MAX_LINE_BYTES = 16 * 1024 * 1024;
// Of a longer line so much is skipped, and its beginning and end are kept.
const MAX_SKIPPED_BYTES = 1024 ** 3;
const KEPT_BYTES = 1024;
// Output that is not a message, or not expected, before the server is stopped.
const MAX_NOISE_BYTES = 16 * 1024 * 1024;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
// Characters and lines of the output in errors.
const MAX_TAIL = 16 * 1024;
const MAX_TAIL_LINES = 20;
const MAX_TAIL_LINE = 400;
const MAX_SECRET = 4096;
// What is handled before others get their turn. Each message also takes work after it was handed over.
const MAX_TURN_MS = 5;
const MAX_TURN_MESSAGES = 100;
// Grace periods after closing stdin, and after SIGTERM.
const STDIN_GRACE_MS = 500;
const TERM_GRACE_MS = 500;
// How long to wait for output after the process exited.
const DRAIN_MS = 200;

/** The network of a server in a sandbox that may reach some hosts, as plain data. */
export interface ServerEgress {
  readonly plan: EgressPlan;
  readonly net: ResolvedNetwork;
}

/** What a server is started with, as plain data. */
export interface PlannedStart {
  readonly request: StartRequest;
  /** The process may install something first, which goes on if it is closed before it has answered (UPS-112). */
  readonly first?: Omit<FirstStart, 'request'> | undefined;
  readonly egress?: ServerEgress | undefined;
  /** Its files, if it is pinned. */
  readonly installed?: PinnedFiles | undefined;
}

/**
 * Creates the transport of a planned server, not started. What its sandbox refuses is in its last lines. Throws `integrity`
 * if its files have changed.
 */
export async function createProcessTransport(
  { request, first, egress, installed }: PlannedStart,
  world: World,
): Promise<ProcessTransport> {
  if (installed !== undefined) await assertUnchanged(installed);
  if (egress === undefined) return new ProcessTransport(request, world, first);
  const { findRoute } = fromResolved(egress.net, world);
  const report = ({ message }: RefusedHost): void => transport.note(`refused by its sandbox: ${message}`);
  const opened = await openEgress(egress.plan, findRoute, report);
  const transport = new ProcessTransport({ ...request, egress: opened }, world, first);
  return transport;
}

export class ProcessTransport implements UpstreamTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Returns false if the message was not expected. */
  onmessage?: (message: JSONRPCMessage) => unknown;

  readonly #request: StartRequest;
  readonly #world: World;
  readonly #first: PlannedStart['first'];
  // The end of its output, in bounded memory.
  #tail = '';
  #companion: PipedCompanion | undefined;
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** The beginning of a line that is too long to keep. */
  #longHead: string | undefined;
  #noiseBytes = 0;
  #turn: { readonly began: number; messages: number } | undefined;
  #hasAnswered = false;
  #exit: ServerExit | undefined;
  #failure: string | undefined;

  constructor(request: StartRequest, world: World, first: PlannedStart['first']) {
    this.#request = request;
    this.#world = world;
    this.#first = first;
  }

  /** The process; undefined before it is started. */
  get pid(): number | undefined {
    return this.#companion?.pid;
  }

  /** How it ended; undefined while it runs. */
  get exit(): ServerExit | undefined {
    return this.#exit;
  }

  /** The last lines of its output, sanitized, oldest first. */
  get lastLines(): readonly string[] {
    const lines = sanitize(this.#tail)
      .split('\n')
      .map((line) => line.trimEnd());
    return lines
      .filter((line) => line !== '')
      .slice(-MAX_TAIL_LINES)
      .map((line) => (line.length > MAX_TAIL_LINE ? `${line.slice(0, MAX_TAIL_LINE - 1)}…` : line));
  }

  async start(): Promise<void> {
    const companion =
      this.#first === undefined
        ? await startPiped(this.#request, this.#world)
        : await startFirst({ ...this.#first, request: this.#request }, this.#world);
    this.#companion = companion;
    companion.stdout.on('data', (chunk: Buffer) => this.#onData(chunk, companion.stdout));
    // A server without stdout is useless; one that exits closes stdout first.
    companion.stdout.once('end', () => {
      inBackground(
        settlesWithin(companion.ended, DRAIN_MS).then((hasEnded) => hasEnded || this.fail('closed its stdout')),
        this.#world.debug,
      );
    });
    companion.stderr.on('data', (chunk: Buffer) => this.#addToTail(chunk));
    const onEnded = async ({ code, signal }: Awaited<typeof companion.ended>): Promise<void> => {
      await drained([companion.stdout, companion.stderr]);
      const how = signal === null ? `exited with status ${code}` : `was killed by ${signal}`;
      this.#end(this.#failure ?? how);
    };
    inBackground(companion.ended.then(onEnded), this.#world.debug);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const companion = this.#companion;
    if (companion === undefined || this.#exit !== undefined) throw new Error('the server has exited');
    if (companion.stdin.writableLength > MAX_UNREAD_BYTES) {
      this.fail('does not read its stdin');
      throw new Error('the server does not read its stdin');
    }
    companion.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Kills the process; `reason` becomes the reason of its exit. */
  fail(reason: string): void {
    this.#failure ??= reason;
    this.#companion?.kill();
  }

  async close(): Promise<void> {
    const companion = this.#companion;
    if (companion === undefined || this.#exit !== undefined) return;
    this.#failure ??= 'was closed';
    companion.stdin.end();
    if (this.#first !== undefined && !this.#hasAnswered) {
      await settlesWithin(finished(companion.stdin), DRAIN_MS);
      this.#end(this.#failure);
      return;
    }
    if (!(await settlesWithin(companion.ended, STDIN_GRACE_MS))) {
      try {
        process.kill(companion.pid, 'SIGTERM');
      } catch {
        // Already exited.
      }
      await settlesWithin(companion.ended, TERM_GRACE_MS);
    }
    // Also kills processes that it started in other groups.
    companion.kill();
    await companion.ended;
    this.#end(this.#failure);
  }

  /** Adds a line to its output. */
  note(line: string): void {
    this.#addToTail(Buffer.from(`${line}\n`));
  }

  #addToTail(chunk: Buffer): void {
    const all = this.#tail + chunk.toString('utf8');
    this.#tail = all.length > MAX_TAIL ? withoutBeginning(all.slice(-MAX_TAIL)) : all;
  }

  #end(reason: string): void {
    if (this.#exit !== undefined) return;
    this.#exit = { reason, lastLines: this.lastLines };
    for (const pipe of [this.#companion?.stdin, this.#companion?.stdout, this.#companion?.stderr]) pipe?.destroy();
    this.onclose?.();
  }

  // A server that sends messages all the time must not keep others waiting (UPS-4): the rest is handled in later turns.
  #onData(chunk: Buffer, stdout: Readable): void {
    let rest = this.#takeLines(chunk);
    if (rest === undefined) return;
    stdout.pause();
    const takeRest = (): void => {
      rest = this.#takeLines(rest!);
      if (rest === undefined) stdout.resume();
      else setImmediate(takeRest);
    };
    setImmediate(takeRest);
  }

  // Returns what is left when the turn is over.
  #takeLines(chunk: Buffer): Buffer | undefined {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      if (this.#isTurnOver()) return chunk.subarray(from);
      const piece = chunk.subarray(from, end);
      from = end + 1;
      if (this.#line.length === 0) this.#onLine(piece);
      else {
        this.#line.push(piece);
        const line = Buffer.concat(this.#line);
        const head = this.#longHead;
        this.#line = [];
        this.#lineBytes = 0;
        this.#longHead = undefined;
        if (head === undefined) this.#onLine(line);
        else this.#onLongLine(head, line);
      }
    }
    if (from === chunk.length) return undefined;
    this.#line.push(chunk.subarray(from));
    this.#lineBytes += chunk.length - from;
    if (this.#lineBytes > MAX_LINE_BYTES) this.#skip();
    return undefined;
  }

  // UPS-109: the rest of the line is read, so that the connection can be used again.
  #skip(): void {
    const [first = NEWLINE] = this.#line;
    this.#longHead ??= first.subarray(0, KEPT_BYTES).toString('utf8');
    this.#line = [Buffer.concat(this.#line.slice(-2)).subarray(-KEPT_BYTES)];
    if (!this.#longHead.trimStart().startsWith('{') || this.#lineBytes > MAX_SKIPPED_BYTES)
      this.fail('sent a message of more than 16 MiB');
  }

  #onLongLine(head: string, tail: Buffer): void {
    const refused = refuseLong(head, tail.toString('utf8'), '16 MiB');
    if (refused === undefined) this.fail('sent a message of more than 16 MiB');
    else this.onmessage?.(refused as JSONRPCMessage);
  }

  #isTurnOver(): boolean {
    if (this.#turn === undefined) {
      this.#turn = { began: performance.now(), messages: 0 };
      setImmediate(() => {
        this.#turn = undefined;
      });
    }
    const { began, messages } = this.#turn;
    this.#turn.messages++;
    return messages >= MAX_TURN_MESSAGES || performance.now() - began > MAX_TURN_MS;
  }

  #onLine(line: Buffer): void {
    if (this.#failure !== undefined) return;
    let expected: unknown = false;
    try {
      const message = readMessage(line.toString('utf8')) as JSONRPCMessage;
      if (typeof message !== 'object' || message === null) throw new SyntaxError('not a message');
      this.#hasAnswered = true;
      expected = this.onmessage?.(message);
    } catch (error) {
      if (!(error instanceof SyntaxError)) this.onerror?.(error as Error);
      // Many servers print a banner to stdout, which is treated like stderr.
      else if (line.length > 1) this.#addToTail(Buffer.concat([line.subarray(0, 1000), NEWLINE]));
    }
    if (expected !== false) this.#noiseBytes = 0;
    else this.#noiseBytes += line.length + 1;
    if (this.#noiseBytes > MAX_NOISE_BYTES) this.fail('floods its stdout with unexpected output');
  }
}

const NEWLINE = Buffer.from('\n');

// What is before the first line break may be the end of a secret, which would not be recognized (SEC-8).
function withoutBeginning(tail: string): string {
  const end = tail.indexOf('\n');
  return tail.slice(end === -1 || end > MAX_SECRET ? MAX_SECRET : end + 1);
}

async function drained(pipes: readonly Readable[]): Promise<void> {
  const ends = pipes.map((pipe) =>
    pipe.readableEnded || pipe.destroyed
      ? Promise.resolve()
      : new Promise<void>((resolve) => pipe.once('close', resolve)),
  );
  await settlesWithin(Promise.all(ends), DRAIN_MS);
}
