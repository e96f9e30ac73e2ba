// The JSON Schemas of a server entry and of a file of servers, for editors; they say what `readServer` reports as an error.

import { type Json, mapValues } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { type Shape, when } from '../../core/shape.js';
import { FOREIGN_RESTRICTIONS, HTTP_TYPES, MAX_NAME } from './entry.js';
import { COMMON, HTTP, STDIO } from './fields.js';
import { SANDBOX_TABLE } from './sandbox.js';

const schemasOf = (fields: Readonly<Record<string, Shape<unknown>>>): Record<string, JsonSchema> =>
  mapValues(fields, ({ toSchema }) => toSchema());

// Unknown keys that allow more are left out with a warning.
const PERMISSIONS = { '^allow': {} };
const { properties: parts, ...table } = SANDBOX_TABLE.toSchema() as { properties: Record<string, JsonSchema> };
const SANDBOX: JsonSchema = {
  ...table,
  properties: mapValues(parts, (part) => ({ ...part, patternProperties: PERMISSIONS })),
  patternProperties: PERMISSIONS,
};
const BOTH = ['disabled', 'enabled'];
const areBoth = (value: boolean): JsonSchema => ({
  required: BOTH,
  properties: Object.fromEntries(BOTH.map((key) => [key, { const: value }])),
});

// Both say the same, if both are there.
const ofType = (...types: readonly string[]) => ({ type: { enum: types }, transport: { enum: types } });

/** An entry. */
export const SERVER_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    ...schemasOf(COMMON.fields),
    envFile: false,
    ...Object.fromEntries(
      FOREIGN_RESTRICTIONS.fields.map((key) => [
        key,
        { enum: FOREIGN_RESTRICTIONS.unrestricted.map((value) => JSON.parse(value) as Json) },
      ]),
    ),
  },
  // Fields of the other kind have no effect.
  anyOf: [
    {
      required: ['command'],
      properties: {
        ...schemasOf(STDIO.fields),
        ...ofType('stdio'),
        url: false,
        sandbox: { anyOf: [{ type: 'string' }, { type: 'object' }] },
        sandboxEnabled: { type: 'boolean' },
      },
      ...when(
        { required: ['sandboxEnabled'], properties: { sandboxEnabled: { const: true } } },
        { properties: { sandbox: { anyOf: [{ type: 'string' }, SANDBOX] } } },
      ),
    },
    {
      required: ['url'],
      properties: { ...schemasOf(HTTP.fields), command: false },
      anyOf: [
        { properties: ofType(...HTTP_TYPES) },
        // It has the older protocol versions only.
        { properties: { ...ofType('sse'), protocol: { not: { const: '2026-07-28' } } } },
      ],
    },
  ],
  not: { anyOf: [areBoth(true), areBoth(false)] },
};

/** The name of an entry. */
export const SERVER_NAME_SCHEMA: JsonSchema = {
  type: 'string',
  maxLength: MAX_NAME,
  pattern: '^\\P{C}*[^\\s\\p{C}]\\P{C}*$',
};

const servers: JsonSchema = {
  type: 'object',
  propertyNames: SERVER_NAME_SCHEMA,
  additionalProperties: { $ref: '#/$defs/server' },
};

/** A file in the `mcpServers` shape. */
export const SERVERS_FILE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { $schema: {}, mcpServers: servers, servers },
  $defs: { server: SERVER_SCHEMA },
};
