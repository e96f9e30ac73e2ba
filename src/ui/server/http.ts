// Answers requests of the page: checks them, finds the route, and sends a file, a document or a stream.

import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { type ErrorCode, ToolError, toToolError } from '../../core/error.js';
import { INPUT_BOUNDS } from '../../core/json.js';
import { findEntry } from '../../process/entry.js';
import { type AccessOptions, checkApi, checkHost, checkPeer, checkPerson, HEADERS, refuse } from './access.js';
import { type Asked, findRoute, type Handlers, type RouteName, readRequest } from './route.js';

interface ListenerOptions {
  readonly access: AccessOptions;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly handlers: Handlers;
  readonly debug: (message: string) => void;
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  not_found: 404,
  conflict: 409,
  denied: 403,
  needs_approval: 403,
  needs_trust: 403,
  too_large: 413,
  unavailable: 503,
  busy: 503,
  io: 500,
  internal: 500,
};

export function createListener({ access, files, handlers, debug }: ListenerOptions): RequestListener {
  const names = Object.keys(handlers);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = checkPeer(request.socket) ?? checkHost(request.headersDistinct.host, access);
    if (refusal !== undefined) return sendText(response, refusal.status, refusal.message);
    const { method = '', url = '' } = request;
    const [path = ''] = url.split('?', 1);
    if (!path.startsWith('/api/')) return sendFile(response, method === 'GET' ? files.get(path) : undefined);
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const [isRead, isLogin] = [method === 'GET', method === 'POST' && path === '/api/login'];
    const forbidden =
      checkApi({ headers: request.headers, isWrite: !isRead, isLogin }, access) ??
      (isRead ? undefined : await checkPerson(request.socket));
    if (forbidden !== undefined) return sendText(response, forbidden.status, forbidden.message);
    const route = findRoute(names, method, path);
    if (route === undefined) return sendText(response, 404, 'no such route');
    const body = method === 'GET' ? undefined : readRequest(route.name, await readBody(request));
    // The shape of the route was checked, so the types fit.
    const handle = handlers[route.name as RouteName] as (asked: Asked<never>) => Promise<unknown>;
    const document = await handle({
      params: route.params,
      body: body as never,
      signal: stop.signal,
      send: createSender(response),
      cookies: request.headers.cookie,
      setCookie: (cookie) => void response.setHeader('set-cookie', cookie),
    });
    if (document === undefined) response.end();
    else sendJson(response, 200, document);
  };
  return (request, response) => {
    answer(request, response).catch((thrown: unknown) => {
      const error = toToolError(thrown);
      if (error.code === 'internal') debug(`page: ${(thrown as Error)?.stack ?? String(thrown)}`);
      if (response.headersSent) response.destroy();
      else sendJson(response, STATUS[error.code] ?? 400, { error: error.toJSON() });
    });
  };
}

// What a client may leave unread before events are left out.
const MAX_UNREAD_BYTES = 256 * 1024;
// These are told by the next ones, or by `reset`; others are sent however slow the client is.
const DROPPABLE = new Set(['progress', 'catalog', 'servers', 'approvals', 'running', 'call']);

// UI-28: a client that does not read gets `reset` when it reads again, instead of everything that happened meanwhile.
function createSender(response: ServerResponse): (event: { readonly type: string }) => void {
  let hasMissed = false;
  const write = (event: object): void => {
    if (!response.headersSent) response.writeHead(200, { ...HEADERS, 'content-type': 'application/x-ndjson' });
    if (!response.writableEnded && !response.destroyed) response.write(`${JSON.stringify(event)}\n`);
  };
  return (event) => {
    if (DROPPABLE.has(event.type) && (hasMissed || response.writableLength > MAX_UNREAD_BYTES)) {
      if (hasMissed) return;
      hasMissed = true;
      response.once('drain', () => {
        hasMissed = false;
        if (event.type !== 'progress') write({ type: 'reset' });
      });
    } else write(event);
  };
}

/** Answers what cannot be read as a request, with the same headers as everything else (UI-5). */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  refuse(socket, error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > INPUT_BOUNDS.maxBytes)
      throw new ToolError('too_large', 'the request is too large', { hint: 'shorten the input' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendFile(response: ServerResponse, file: PageFile | undefined): void {
  if (file === undefined) sendText(response, 404, 'not found');
  else
    response
      .writeHead(200, { ...HEADERS, 'content-type': file.type, 'content-length': file.bytes.length })
      .end(file.bytes);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

function sendJson(response: ServerResponse, status: number, document: unknown): void {
  const body = JSON.stringify(document);
  response.writeHead(status, { ...HEADERS, 'content-type': 'application/json; charset=utf-8' }).end(body);
}

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

const FILES = [
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
] as const;

/** Returns the files of the page by their path. Throws `unavailable` if it was not built. */
export function loadPageFiles(): ReadonlyMap<string, PageFile> {
  const read = (name: string): Buffer => {
    const path = findEntry(`ui/${name}`);
    try {
      return readFileSync(path);
    } catch (cause) {
      const hint = 'build the package: npm run build';
      throw new ToolError('unavailable', `the files of the page are missing: ${dirname(path)}`, { hint, cause });
    }
  };
  return new Map(FILES.map(([path, name, type]) => [path, { type, bytes: read(name) }]));
}
