// The page: starts `wield ui` in this process, and sends requests as a browser on it would, or as others would.

import { type IncomingHttpHeaders, request as send } from 'node:http';
import type { PageEvent } from '../../src/ui/api.js';
import { createIo, runCommand } from './cli.js';
import { onEnd } from './share.js';
import type { Workspace } from './workspace.js';

export interface PageResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents whose shape they are there to prove
  readonly json: any;
}

export interface PageRequest {
  readonly method?: string;
  /** Replaces headers of the page; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

export interface Page {
  /** Works once in a browser, unless `credentials` are those of its login. */
  readonly url: string;
  readonly origin: string;
  /** Of `wield ui --json`; empty for other commands. */
  readonly token: string;
  /** Headers: the token, or the cookie and key of a login. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Exchanges a code as a browser does. */
  logIn(code: string, headers?: PageRequest['headers']): Promise<PageResponse>;
  /** Sends exactly the headers of the page, changed as asked. */
  request(path: string, options?: PageRequest): Promise<PageResponse>;
  get(path: string): Promise<PageResponse>;
  post(path: string, body: unknown): Promise<PageResponse>;
  stderr(): string;
  /** Everything on stdout so far. */
  printed(): string;
  /** Ends the command before the test ends. */
  stop(): Promise<void>;
}

/** Starts `wield ui`, or another command that prints the URL of the page; it ends after the test. */
export async function openPage(
  workspace: Pick<Workspace, 'dir' | 'env'>,
  args: readonly string[] = ['ui', '--json'],
): Promise<Page> {
  const { url, stderr, printed, stop } = await start(workspace, args);
  const token = /"token": ?"([\w-]+)"/.exec(printed())?.[1] ?? '';
  return { ...(await connectToPage(url, token)), stderr, printed, stop };
}

/** Logs in to a page that runs, or uses its token. */
export async function connectToPage(url: string, token = ''): Promise<Omit<Page, 'stderr' | 'printed' | 'stop'>> {
  const { origin, port, hash } = new URL(url);
  let credentials: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
  const request: Page['request'] = (path, { method = 'GET', headers = {}, body } = {}) => {
    const own: Record<string, string | undefined> = {
      host: `127.0.0.1:${port}`,
      origin: method === 'GET' ? undefined : origin,
      'sec-fetch-site': 'same-origin',
      ...credentials,
      'content-type': body === undefined ? undefined : 'application/json',
      'content-length': body === undefined ? undefined : String(Buffer.byteLength(body)),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    return exchange(Number(port), { path, method, headers: sent as Record<string, string> }, body);
  };
  const logIn: Page['logIn'] = (code, headers = {}) =>
    request('/api/login', {
      method: 'POST',
      body: JSON.stringify({ code }),
      headers: { authorization: undefined, ...headers },
    });
  if (token === '') credentials = toCredentials(await logIn(hash.slice(1)));
  return {
    url,
    origin,
    token,
    credentials,
    request,
    logIn,
    get: (path) => request(path),
    post: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
  };
}

/** Returns the headers that a browser sends after it logged in. */
export function toCredentials({ headers, json }: PageResponse): Record<string, string> {
  const [cookie = ''] = headers['set-cookie']![0]!.split(';');
  return { cookie, 'x-wield-key': json.key };
}

function start(workspace: Pick<Workspace, 'dir' | 'env'>, args: readonly string[]) {
  return new Promise<Pick<Page, 'url' | 'stderr' | 'printed' | 'stop'>>((resolve, reject) => {
    let printed = '';
    const onOutput = (chunk: Uint8Array): void => {
      printed += Buffer.from(chunk).toString('utf8');
      const url = /http:\/\/127\.0\.0\.1:\d+\/#[\w-]+/.exec(printed)?.[0];
      if (url !== undefined && printed.endsWith('\n')) resolve({ url, stderr, printed: () => printed, stop });
    };
    const { io, signal, stderr } = createIo(workspace, { onOutput });
    const ended = runCommand(args, io);
    void ended.then((status) => reject(new Error(`wield ${args[0]} exited with ${status}: ${printed}${stderr()}`)));
    const stop = async (): Promise<void> => {
      signal('SIGTERM');
      await ended;
    };
    onEnd(stop);
  });
}

function exchange(
  port: number,
  options: { readonly path: string; readonly method: string; readonly headers: Record<string, string> },
  body: string | undefined,
): Promise<PageResponse> {
  return new Promise((resolve, reject) => {
    const request = send({ host: '127.0.0.1', port, setHost: false, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text,
          get json() {
            return JSON.parse(text);
          },
        });
      });
    });
    request.once('error', reject);
    request.end(body);
  });
}

/** Parses the lines of a stream. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export function eventsOf({ text }: PageResponse): any[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Follows the event stream, or that of a run; events arrive in the array until `end`. */
export async function followPage<Event = PageEvent>(
  { origin, credentials }: Page,
  run?: object,
): Promise<{ events: Event[]; end(): void }> {
  const stop = new AbortController();
  const { signal } = stop;
  const headers = { ...credentials, origin, 'sec-fetch-site': 'same-origin' };
  const asJson = { ...headers, 'content-type': 'application/json' };
  const response = await (run === undefined
    ? fetch(`${origin}/api/events`, { headers, signal })
    : fetch(`${origin}/api/run`, { method: 'POST', headers: asJson, body: JSON.stringify(run), signal }));
  const events: Event[] = [];
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body!) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop()!;
      events.push(...lines.map((line) => JSON.parse(line) as Event));
    }
  };
  read().catch(() => {});
  onEnd(() => stop.abort());
  return { events, end: () => stop.abort() };
}
