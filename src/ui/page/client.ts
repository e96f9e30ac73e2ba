// Requests to the API of the page, typed by its routes. The token is kept in memory only.

import type { ErrorValue } from '../../core/error.js';
import type { Routes } from '../api.js';

type Route = keyof Routes;
type RequestOf<R extends Route> = Routes[R] extends { request: infer B } ? B : undefined;

interface RequestOptions<R extends Route> {
  /** Values of the `:name` segments, in order. */
  readonly params?: readonly (string | number)[];
  readonly body?: RequestOf<R>;
  readonly signal?: AbortSignal;
}

/** An error of the API, with the code and hint of a tool's error. */
export class ApiError extends Error {
  readonly value: ErrorValue;

  constructor(value: ErrorValue) {
    super(value.message);
    this.value = value;
  }
}

const NO_TOKEN: ErrorValue = {
  code: 'denied',
  message: 'this address has no valid token',
  hint: 'the token is not kept when a page is loaded again: open the whole address that wield ui printed',
};

let token = '';

export function setToken(value: string): void {
  token = value;
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
  const response = await fetch(path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(method === 'POST' ? { 'content-type': 'application/json' } : {}) },
    ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.ok) return response;
  const text = await response.text();
  throw new ApiError(response.status === 401 ? NO_TOKEN : parseError(text));
}

// A request that is refused before it is routed is answered with a text.
function parseError(text: string): ErrorValue {
  try {
    return JSON.parse(text).error;
  } catch {
    return { code: 'unavailable', message: text.trim() };
  }
}
