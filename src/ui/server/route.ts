// Routes of the API: a handler for each, its parameters, and the schema of its request.

import { ToolError } from '../../core/error.js';
import { type Json, parseJson } from '../../core/json.js';
import type { JsonSchema, Schema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { createJsonSchema } from '../../schema/json.js';
import type { Routes } from '../api.js';

export type RouteName = keyof Routes;

type RequestOf<Name extends RouteName> = Routes[Name] extends { request: infer Request } ? Request : undefined;

export interface Asked<Name extends RouteName> {
  /** The segments of the path that the route names. */
  readonly params: Readonly<Record<string, string>>;
  /** Valid by the schema of the route. */
  readonly body: RequestOf<Name>;
  /** Aborted when the page closes the request. */
  readonly signal: AbortSignal;
  /** Of a stream: sends an event. */
  readonly send: (event: Routes[Name]['response']) => void;
  /** The cookies that were sent. */
  readonly cookies: string | undefined;
  readonly setCookie: (cookie: string) => void;
}

/** A route that answers with one document, or with a stream of them. */
export type Handler<Name extends RouteName> = (asked: Asked<Name>) => Promise<Routes[Name]['response'] | undefined>;

export type Handlers<Name extends RouteName = RouteName> = { readonly [Key in Name]: Handler<Key> };

/** Routes that answer with a stream. */
export const STREAMS: ReadonlySet<string> = new Set<RouteName>(['POST /api/run', 'GET /api/events']);

const text = { type: 'string', maxLength: 4096 } as const;
const named = (properties: JsonSchema, required: readonly string[] = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const caller = named({ kind: { enum: ['person', 'model', 'code'] }, door: text, name: text }, ['kind', 'door']);
const object = { type: 'object', additionalProperties: true } as const;
const plan = named({ id: text, digest: text });

// UI-6: nothing that could be started is among them: no command, path or address.
const REQUESTS: { readonly [Name in RouteName & `POST ${string}`]: JsonSchema } = {
  'POST /api/login': named({ code: text }),
  'POST /api/plan': named({ tool: text, input: true }),
  'POST /api/run': named({ tool: text, input: true, digest: text }),
  'POST /api/answers': named({ question: text, action: { enum: ['accept', 'decline', 'cancel'] }, content: object }, [
    'question',
    'action',
  ]),
  'POST /api/approvals/:id': named({ answer: { enum: ['once', 'always', 'deny'] }, digest: text, reason: text }, [
    'answer',
    'digest',
  ]),
  'POST /api/approvals': named({ deny: { type: 'array', items: plan, maxItems: 1000 }, reason: text }, ['deny']),
  'POST /api/explain': named({ tool: text, input: true, caller }, ['tool', 'caller']),
  'POST /api/cases': named({ call: text, name: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,63}$' } }),
  'POST /api/changes': named({ tool: text, digest: text }),
  'POST /api/servers/:name/restart': named({}),
  'POST /api/servers/:name/login': named({}),
};

/** Reads and checks the body of a request. Throws `invalid_input`. */
export async function readRequest(name: string, body: string): Promise<Json> {
  const schema = schemaOf(name);
  const check = await schema.check(parseJson(body, 'the request'));
  if (check.ok) return check.value;
  const [{ path, expected, got }] = check.faults as [(typeof check.faults)[number]];
  throw new ToolError(
    'invalid_input',
    `the request is invalid at ${quoteOutside(path, 200) || '/'}: ${expected}, not ${got}`,
    { hint: 'reload the page' },
  );
}

const schemas = new Map<string, Schema>();

function schemaOf(name: string): Schema {
  const known = schemas.get(name) ?? createJsonSchema(REQUESTS[name as keyof typeof REQUESTS], { closed: true });
  schemas.set(name, known);
  return known;
}

export interface FoundRoute {
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the route of a method and path. */
export function findRoute(names: readonly string[], method: string, path: string): FoundRoute | undefined {
  const given = path.split('/');
  for (const name of names) {
    const [verb, pattern] = name.split(' ') as [string, string];
    const steps = pattern.split('/');
    if (verb !== method || steps.length !== given.length) continue;
    const params: Record<string, string> = {};
    const matches = steps.every((step, at) => {
      if (!step.startsWith(':')) return step === given[at];
      const value = decode(given[at]!);
      if (value === undefined || value === '') return false;
      params[step.slice(1)] = value;
      return true;
    });
    if (matches) return { name, params };
  }
  return undefined;
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
