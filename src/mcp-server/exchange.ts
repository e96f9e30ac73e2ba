// One HTTP request and its response, of Node's server or of the Fetch API.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR } from '../net/mcp.js';
import { isPersonsPeer } from '../net/peer.js';
import type { Identity } from './identity.js';
import type { RequestId } from './message.js';

export type Headers = Readonly<Record<string, string>>;
/** Parts of a body. */
export type Body = readonly (string | Buffer)[];

export interface Exchange {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** `name` is in lower case. */
  header(name: string): string | undefined;
  /** Who is logged in. */
  identity: Identity | undefined;
  /** The address of the connection, if it is known. */
  readonly peer: string | undefined;
  /** The address of the client. */
  address: string | undefined;
  /** Returns undefined if the body is too large. Rejects if the client disconnects. */
  readBody(maxBytes: number): Promise<string | undefined>;
  /** Called when the response begins. */
  onBegin: () => void;
  readonly hasBegun: boolean;
  /** Sends a whole response. */
  respond(status: number, headers: Headers, body?: Body): void;
  /** Begins a response that is written in pieces. */
  begin(headers: Headers): void;
  write(text: string): void;
  end(): void;
  /** Calls the listener if the client disconnects before the end of the response. */
  onDisconnect(listener: () => void): void;
  /** Whether consent can be taken from the client; reads /proc. */
  mayConsent(): Promise<boolean>;
}

/** Responds with an error of JSON-RPC. */
export function respondError(
  exchange: Exchange,
  status: number,
  message: string,
  code: number = ERROR.invalidRequest,
  { id = null, data }: { readonly id?: RequestId | null; readonly data?: unknown } = {},
): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } });
  exchange.respond(status, { 'content-type': 'application/json' }, [body]);
}

// Text is not encoded twice.
function joinBody(parts: Body): string | Buffer {
  if (parts.every((part) => typeof part === 'string')) return parts.join('');
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

// SRV-85: a client that leaves more unread is disconnected. It can resume the streams of a session.
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** An exchange of Node's server. */
export class NodeExchange implements Exchange {
  identity: Identity | undefined;
  address: string | undefined;
  onBegin = (): void => {};
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #readBody: BodyReader;

  constructor(request: IncomingMessage, response: ServerResponse, readBody: BodyReader) {
    this.#request = request;
    this.#response = response;
    this.#readBody = readBody;
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get target(): string {
    return this.#request.url ?? '/';
  }

  get peer(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  header(name: string): string | undefined {
    // Node keeps the first of two; a proxy may have looked at the other.
    if (name === 'authorization' && (this.#request.headersDistinct[name]?.length ?? 0) > 1) return undefined;
    return this.#request.headers[name] as string | undefined;
  }

  readBody(maxBytes: number): Promise<string | undefined> {
    return this.#readBody(this.#request, maxBytes);
  }

  respond(status: number, headers: Headers, body: Body = []): void {
    if (this.hasBegun) return;
    this.onBegin();
    const chunk = joinBody(body);
    this.#response.writeHead(status, {
      'content-length': Buffer.byteLength(chunk),
      ...headers,
      // The rest of a body that was not read could be long.
      ...(this.#request.complete ? {} : { connection: 'close' }),
    });
    this.#response.end(chunk);
  }

  begin(headers: Headers): void {
    if (this.hasBegun) return;
    this.onBegin();
    this.#response.writeHead(200, headers);
    this.#response.flushHeaders();
  }

  // A timer or an event may come after the end, and writing then would be an error that nobody handles (SRV-84).
  write(text: string): void {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return;
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(text);
  }

  end(): void {
    this.#response.end();
  }

  onDisconnect(listener: () => void): void {
    const response = this.#response;
    response.once('close', () => {
      if (!response.writableFinished) listener();
    });
  }

  mayConsent(): Promise<boolean> {
    return isPersonsPeer(this.#request.socket);
  }
}

/** An exchange of the Fetch API: `response` resolves when it begins. */
export class FetchExchange implements Exchange {
  identity: Identity | undefined;
  readonly peer = undefined;
  address: string | undefined;
  readonly method: string;
  readonly response: Promise<Response>;
  hasBegun = false;
  onBegin = (): void => {};
  readonly #request: Request;
  #resolve!: (response: Response) => void;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #disconnected: (() => void)[] = [];

  constructor(request: Request) {
    this.method = request.method;
    this.#request = request;
    this.response = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    request.signal.addEventListener('abort', this.#onDisconnect, { once: true });
  }

  get target(): string {
    const { pathname, search } = new URL(this.#request.url);
    return pathname + search;
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }

  async readBody(maxBytes: number): Promise<string | undefined> {
    if (Number(this.header('content-length') ?? 0) > maxBytes) return undefined;
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of this.#request.body ?? []) {
      bytes += chunk.length;
      if (bytes > maxBytes) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  respond(status: number, headers: Headers, body?: Body): void {
    this.#ended();
    this.#begin(new Response(body === undefined ? null : joinBody(body), { status, headers }));
  }

  begin(headers: Headers): void {
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      this.#stream = controller;
    };
    const size = (chunk?: Uint8Array): number => chunk?.length ?? 0;
    const body = new ReadableStream<Uint8Array>({ start, cancel: () => this.#onDisconnect() }, { size });
    this.#begin(new Response(body, { headers }));
  }

  write(text: string): void {
    const stream = this.#stream;
    if ((stream?.desiredSize ?? 0) >= -MAX_UNREAD_BYTES) stream?.enqueue(Buffer.from(text));
    else {
      stream!.error(new Error('the client does not read its response'));
      this.#onDisconnect();
    }
  }

  end(): void {
    const stream = this.#stream;
    this.#ended();
    stream?.close();
  }

  onDisconnect(listener: () => void): void {
    this.#disconnected.push(listener);
  }

  // The program that serves it knows its connections.
  async mayConsent(): Promise<boolean> {
    return true;
  }

  #begin(response: Response): void {
    this.hasBegun = true;
    this.onBegin();
    this.#resolve(response);
  }

  readonly #onDisconnect = (): void => {
    const listeners = this.#disconnected;
    this.#ended();
    for (const listener of listeners) listener();
  };

  #ended(): void {
    this.#disconnected = [];
    this.#stream = undefined;
    this.#request.signal.removeEventListener('abort', this.#onDisconnect);
  }
}

/** Returns undefined if the body is too large. Rejects if the client disconnects or is cut. */
export type BodyReader = (request: IncomingMessage, maxBytes: number) => Promise<string | undefined>;

/** Creates a reader that cuts the oldest unfinished requests while all of them have sent more than this (SRV-5). */
export function createBodyReader(maxUnfinishedBytes: number): BodyReader {
  // Bytes received; the oldest first.
  const unfinished = new Map<IncomingMessage, number>();
  let total = 0;
  const forget = (request: IncomingMessage): void => {
    total -= unfinished.get(request) ?? 0;
    unfinished.delete(request);
  };
  const count = (request: IncomingMessage, bytes: number): void => {
    total += bytes;
    unfinished.set(request, (unfinished.get(request) ?? 0) + bytes);
    while (total > maxUnfinishedBytes) {
      const oldest = unfinished.keys().next().value!;
      forget(oldest);
      oldest.destroy();
    }
  };
  return async (request, maxBytes) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return undefined;
    const chunks: Buffer[] = [];
    let bytes = 0;
    return new Promise((resolve, reject) => {
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) {
          chunks.length = 0;
          forget(request);
          resolve(undefined);
          return;
        }
        chunks.push(chunk);
        count(request, chunk.length);
      });
      request.once('end', () => {
        forget(request);
        resolve(Buffer.concat(chunks).toString('utf8'));
      });
      request.once('error', reject);
      request.once('close', () => {
        forget(request);
        if (!request.complete) reject(new Error('the client was disconnected before its request was complete'));
      });
    });
  };
}
