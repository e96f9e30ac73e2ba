// The wire to a server that is a process of ours: a message a line, bounded, and whatever else it says kept apart.

import type { Readable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { atMost } from '../../core/at-most.js';
import type { World } from '../../core/world.js';
import { type PipedCompanion, startPiped } from '../../process/companion.js';
import type { StartRequest } from '../../process/spawn.js';
import { createTail, type Tail } from './tail.js';

const MAX_LINE_BYTES = 16 * 1024 * 1024;
// What a server may say that is no message, or that nobody waits for, before it is taken for a flood.
const MAX_NOISE_BYTES = 16 * 1024 * 1024;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
// Between closing its input, asking it to end, and ending it.
const POLITE_MS = 500;
const TERM_MS = 500;
// How long output may still come after the process is gone.
const DRAIN_MS = 200;

/** How a server's process went, in words. */
export interface Ending {
  readonly why: string;
  readonly lastLines: readonly string[];
}

export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Returns false where nobody waits for the message. */
  onmessage?: (message: JSONRPCMessage) => unknown;

  readonly #request: StartRequest;
  readonly #world: World;
  readonly #tail: Tail = createTail();
  #companion: PipedCompanion | undefined;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #noiseBytes = 0;
  #ending: Ending | undefined;
  #blamed: string | undefined;

  constructor(request: StartRequest, world: World) {
    this.#request = request;
    this.#world = world;
  }

  /** What tells the protocol's client that this is a process: one that says nothing to a probe is an older one. */
  get pid(): number | null {
    return this.#companion?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  /** How it went; undefined while it runs. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  get lastLines(): readonly string[] {
    return this.#tail.lines();
  }

  async start(): Promise<void> {
    const companion = await startPiped(this.#request, this.#world);
    this.#companion = companion;
    companion.stdout.on('data', (chunk: Buffer) => this.#onData(chunk));
    // One that lives on without an output answers nobody; one that ends closes it too, and says how in a moment.
    companion.stdout.once('end', () => {
      void atMost(companion.ended, DRAIN_MS).then(
        (hasEnded) => hasEnded || this.fail('it closed its output'),
      );
    });
    companion.stderr.on('data', (chunk: Buffer) => this.#tail.add(chunk));
    void companion.ended.then(async ({ code, signal }) => {
      await drained([companion.stdout, companion.stderr]);
      const how = signal === null ? `it exited with status ${code}` : `it was ended by ${signal}`;
      this.#end(this.#blamed ?? how);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.write(JSON.stringify(message));
  }

  /** Writes a message that is text already. */
  write(message: string): void {
    const companion = this.#companion;
    if (companion === undefined || this.#ending !== undefined) throw new Error('the server is gone');
    if (companion.stdin.writableLength > MAX_UNREAD_BYTES) {
      this.fail('it does not read what it is sent');
      throw new Error('the server does not read what it is sent');
    }
    companion.stdin.write(`${message}\n`);
  }

  /** Ends it at once, for a reason that callers are told. */
  fail(why: string): void {
    this.#blamed ??= why;
    this.#companion?.kill();
  }

  async close(): Promise<void> {
    const companion = this.#companion;
    if (companion === undefined || this.#ending !== undefined) return;
    this.#blamed ??= 'it was closed';
    companion.stdin.end();
    if (!(await atMost(companion.ended, POLITE_MS))) {
      try {
        process.kill(companion.pid, 'SIGTERM');
      } catch {
        // Gone by now.
      }
      await atMost(companion.ended, TERM_MS);
    }
    // Also what it started and left behind in other groups.
    companion.kill();
    await companion.ended;
    this.#end(this.#blamed);
  }

  #end(why: string): void {
    if (this.#ending !== undefined) return;
    this.#ending = { why, lastLines: this.#tail.lines() };
    for (const pipe of [this.#companion?.stdin, this.#companion?.stdout, this.#companion?.stderr])
      pipe?.destroy();
    this.onclose?.();
  }

  #onData(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      const piece = chunk.subarray(from, end);
      from = end + 1;
      if (this.#line.length === 0) this.#onLine(piece);
      else {
        this.#line.push(piece);
        const line = Buffer.concat(this.#line);
        this.#line = [];
        this.#lineBytes = 0;
        this.#onLine(line);
      }
    }
    if (from === chunk.length) return;
    this.#line.push(chunk.subarray(from));
    this.#lineBytes += chunk.length - from;
    if (this.#lineBytes > MAX_LINE_BYTES) {
      this.#line = [];
      this.#lineBytes = 0;
      this.fail('it sent a message of more than 16 MiB');
    }
  }

  #onLine(line: Buffer): void {
    if (this.#blamed !== undefined) return;
    let wanted: unknown = false;
    try {
      const message = JSON.parse(line.toString('utf8')) as JSONRPCMessage;
      if (typeof message !== 'object' || message === null) throw new SyntaxError('no message');
      wanted = this.onmessage?.(message);
    } catch (error) {
      if (!(error instanceof SyntaxError)) this.onerror?.(error as Error);
      // Many servers greet on standard output: what is no message is kept with what they say beside it.
      else if (line.length > 1) this.#tail.add(Buffer.concat([line.subarray(0, 1000), NEWLINE]));
    }
    if (wanted !== false) this.#noiseBytes = 0;
    else this.#noiseBytes += line.length + 1;
    if (this.#noiseBytes > MAX_NOISE_BYTES) this.fail('it floods its output with what nobody asked for');
  }
}

const NEWLINE = Buffer.from('\n');

async function drained(pipes: readonly Readable[]): Promise<void> {
  const ends = pipes.map((pipe) =>
    pipe.readableEnded || pipe.destroyed
      ? Promise.resolve()
      : new Promise<void>((resolve) => pipe.once('close', resolve)),
  );
  await atMost(Promise.all(ends), DRAIN_MS);
}
