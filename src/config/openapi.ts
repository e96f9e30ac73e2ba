// The table `[openapi.NAME]`: an OpenAPI document, its server, its operations and its credentials.

import { toToolError } from '../core/error.js';
import type { HttpSettings } from '../core/http.js';
import { checked, either, list, object, optional, record, type Shape, text } from '../core/shape.js';
import { command } from '../upstream/entries/fields.js';
import { parseServerValue } from '../upstream/entries/value.js';
import type { ConfigValue } from './value.js';

const EXPECTED = 'a reference such as "${VARIABLE}", "file:~/path", "keychain:NAME" or { cmd = ["op", "read", "…"] }';
/** Where a secret is. */
export const reference = checked(
  either([text('a reference', /\$\{[^}]+\}|^file:|^keychain:|^cmd:\[/), command], EXPECTED),
  (value, fail) => {
    try {
      const isText = parseServerValue(value, 'env').every(({ kind }) => kind === 'text');
      if (isText) fail([], `must be ${EXPECTED}`);
    } catch (error) {
      const { message, hint } = toToolError(error);
      fail([], message, hint);
    }
  },
);
const patterns = optional(list(text('a pattern', /[\s\S]/), 'an array of patterns'));

export const openApiTable: Shape<HttpSettings> = checked(
  object({
    spec: optional(text('the path of a document', /[\s\S]/)),
    server: optional(text('an address such as "https://api.example.com/v1"', /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s@?#]+$/)),
    include: patterns,
    exclude: patterns,
    auth: optional(either([reference, record(reference)], EXPECTED)),
  }),
  ({ spec = '', server, auth }, fail) => {
    if (/^https?:/i.test(spec)) fail(['spec'], `is on another machine: run wield add ${spec}`);
    if (server !== undefined && !URL.canParse(server)) fail(['server'], 'must be an address');
    // A secret is sent only to a server that stands next to it.
    if (auth !== undefined && server === undefined)
      fail(['auth'], 'has no server: name the server that may receive it', 'add server');
  },
  {
    dependentRequired: { auth: ['server'] },
    allOf: [{ properties: { spec: { not: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:' } } } }],
  },
);

export function toOpenApiSettings(values: Iterable<ConfigValue>): ReadonlyMap<string, HttpSettings> {
  const found = [...values].filter(({ path }) => path[0] === 'openapi');
  return new Map(
    found.map(({ path, value, file, line }) => [path[1]!, { ...(value as HttpSettings), position: { file, line } }]),
  );
}
