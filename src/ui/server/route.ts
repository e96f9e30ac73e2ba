// Routes of the API: a handler for each, its parameters, and the schema of its request.

import { orNothing, ToolError } from '../../core/error.js';
import { parseJson } from '../../core/json.js';
import { formatFault, readShape } from '../../core/shape.js';
import type { Routes } from '../api.js';
import { REQUESTS, type RequestOf } from '../requests.js';

export type RouteName = keyof Routes;

export interface Asked<Name extends RouteName> {
  /** The segments of the path that the route names. */
  readonly params: Readonly<Record<string, string>>;
  /** Valid by the shape of the route. */
  readonly body: RequestOf<Name>;
  /** Aborted when the page closes the request. */
  readonly signal: AbortSignal;
  /** Of a stream: sends an event. */
  readonly send: (event: Routes[Name]['response']) => void;
  /** The cookies that were sent. */
  readonly cookies: string | undefined;
  readonly setCookie: (cookie: string) => void;
}

/** Returns a document, or undefined after a stream of them. */
export type Handler<Name extends RouteName> = (asked: Asked<Name>) => Promise<Routes[Name]['response'] | undefined>;

export type Handlers<Name extends RouteName = RouteName> = { readonly [Key in Name]: Handler<Key> };

/** Reads and checks the body of a request. Throws `invalid_input`. */
export function readRequest(name: string, body: string): unknown {
  const { value, faults } = readShape<unknown>(REQUESTS[name as keyof typeof REQUESTS], parseJson(body, 'the request'));
  if (faults.length === 0) return value;
  throw new ToolError('invalid_input', `the request is invalid: ${formatFault(faults[0]!)}`, {
    hint: 'reload the page',
  });
}

/** Finds the route of a request, with the segments of the path that it names. */
export function findRoute(names: readonly string[], method: string, path: string) {
  for (const name of names) {
    const pattern = new RegExp(`^${name.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);
    const found = pattern.exec(`${method} ${path}`);
    const given = Object.entries(found?.groups ?? {});
    const params = orNothing(() => Object.fromEntries(given.map(([key, text]) => [key, decodeURIComponent(text)])));
    if (found !== null && params !== undefined) return { name, params };
  }
  return undefined;
}
