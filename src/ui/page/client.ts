// Requests to the API of the page, typed by its routes. The browser keeps the login: a cookie, and its key for this origin.

import type { ErrorValue } from '../../core/error.js';
import type { Routes } from '../api.js';
import type { RequestOf } from '../requests.js';

type Route = keyof Routes;

interface RequestOptions<R extends Route> {
  /** Values of the `:name` segments, in order. */
  readonly params?: readonly (string | number)[];
  readonly body?: RequestOf<R>;
  readonly signal?: AbortSignal;
}

/** An error of the API, with the code and hint of a tool's error. */
class ApiError extends Error {
  readonly value: ErrorValue;

  constructor(value: ErrorValue) {
    super(value.message);
    this.value = value;
  }
}

const NO_LOGIN: ErrorValue = {
  code: 'denied',
  message: 'this browser is not logged in',
  hint: 'open the whole address that wield ui printed; it works once, and wield ui prints another',
};

const KEY = 'wield-key';

let loggingIn: Promise<unknown> = Promise.resolve();

/** Exchanges the code of an address for a login. A code that was used before leaves the login that there may be. */
export function logIn(code: string): Promise<unknown> {
  loggingIn = post('/api/login', { code })
    .then(async (response) => {
      if (response.ok) localStorage.setItem(KEY, (await response.json()).key);
    })
    .catch(() => {});
  return loggingIn;
}

function post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...init.headers };
  return fetch(path, { ...init, method: 'POST', headers, body: JSON.stringify(body) });
}

/** Sends a request and returns the response; throws an `ApiError`. */
export async function request<R extends Route>(
  route: R,
  options: RequestOptions<R> = {},
): Promise<Routes[R]['response']> {
  return (await send(route, options)).json();
}

/** Sends a request and yields the documents of its response as they arrive. */
export async function* stream<R extends Route>(
  route: R,
  options: RequestOptions<R> = {},
): AsyncGenerator<Routes[R]['response']> {
  const response = await send(route, options);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + read.value).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line !== '') yield JSON.parse(line);
    }
  } finally {
    await reader.cancel();
  }
}

// A browser opens six connections to a server, and other requests must not wait for tools (UI-82).
const SLOTS = ['wield-run-1', 'wield-run-2', 'wield-run-3'];

/** Runs an action that keeps a connection for long, when one of the slots that all tabs share is free. */
export function inSlot(action: () => Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const others = new AbortController();
    const options = { signal: AbortSignal.any([signal, others.signal]) };
    const take = async (): Promise<void> => {
      if (others.signal.aborted) return;
      others.abort();
      await action().then(resolve, reject);
    };
    for (const slot of SLOTS)
      navigator.locks.request(slot, options, take).catch((error: unknown) => {
        if (!others.signal.aborted) reject(error);
      });
  });
}

/** Returns what went wrong, whatever was thrown. */
export function toErrorValue(thrown: unknown): ErrorValue {
  if (thrown instanceof ApiError) return thrown.value;
  return {
    code: 'unavailable',
    message: 'no connection to wield',
    hint: 'wield ui must still be running; start it again and open the address that it prints',
  };
}

async function send<R extends Route>(route: R, { params = [], body, signal }: RequestOptions<R>): Promise<Response> {
  const [method, pattern] = route.split(' ') as [string, string];
  const values = [...params];
  const path = pattern.replace(/:\w+/g, () => encodeURIComponent(values.shift() ?? ''));
  await loggingIn;
  // Another tab may have logged in again.
  const headers = { 'x-wield-key': localStorage.getItem(KEY) ?? '' };
  const init = { headers, signal: signal ?? null };
  const response = await (method === 'POST' ? post(path, body ?? {}, init) : fetch(path, init));
  if (response.ok) return response;
  const text = await response.text();
  throw new ApiError(response.status === 401 ? NO_LOGIN : parseError(text));
}

// A request that is refused before it is routed is answered with a text.
function parseError(text: string): ErrorValue {
  try {
    return JSON.parse(text).error;
  } catch {
    return { code: 'unavailable', message: text.trim() };
  }
}
