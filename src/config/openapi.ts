// Parses `[openapi.NAME]`: an OpenAPI document, its server, its operations and its credentials.

import type { HttpSettings } from '../core/http.js';
import { isRecord } from '../core/json.js';
import { nearest } from '../core/text.js';
import type { ConfigValue } from './value.js';

const KEYS = ['spec', 'server', 'include', 'exclude', 'auth'];
const REFERENCE = /\$\{[^}]+\}|^file:/;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isReference = (value: unknown): boolean => isText(value) && REFERENCE.test(value);

export function parseOpenApiTable(value: unknown): HttpSettings | undefined {
  return findOpenApiFault(value) === undefined ? (value as HttpSettings) : undefined;
}

export function findOpenApiFault(value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be a table';
  for (const key of Object.keys(value)) {
    if (KEYS.includes(key)) continue;
    const [close] = nearest(key, KEYS);
    return `has an unknown key "${key}"${close === undefined ? '' : `, did you mean ${close}?`}`;
  }
  const { spec, server, include, exclude, auth } = value;
  if (spec !== undefined && !isText(spec)) return 'has an invalid spec: the path of a document';
  if (isText(spec) && /^https?:/i.test(spec)) return `has a spec on another machine: run wield add ${spec}`;
  if (server !== undefined && !(isText(server) && /^https?:\/\/[^\s@]+$/i.test(server) && URL.canParse(server)))
    return 'has an invalid server: an address such as "https://api.example.com/v1"';
  for (const [name, list] of Object.entries({ include, exclude }))
    if (list !== undefined && !isTexts(list)) return `has an invalid ${name}: an array of patterns`;
  return auth === undefined ? undefined : findAuthFault(auth, server);
}

// A secret is sent only to a server that stands next to it.
function findAuthFault(auth: unknown, server: unknown): string | undefined {
  const values = isRecord(auth) ? Object.values(auth) : [auth];
  if (!values.every(isReference)) return 'has an auth that is no reference: write "${VARIABLE}" or "file:~/path"';
  return server === undefined ? 'has auth but no server: name the server that may receive it' : undefined;
}

export function toOpenApiSettings(values: Iterable<ConfigValue>): ReadonlyMap<string, HttpSettings> {
  const found = [...values].filter(({ path }) => path[0] === 'openapi');
  return new Map(found.map(({ path, value }) => [path[1]!, value as HttpSettings]));
}
