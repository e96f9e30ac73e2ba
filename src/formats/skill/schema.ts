// The JSON Schema of the frontmatter of a SKILL.md, for editors; it says what `wield check` reports.

import { middlewareEntry } from '../../core/middleware-settings.js';
import { openRequirements } from '../../core/requirements.js';
import type { JsonSchema } from '../../core/schema.js';
import { searchPath } from '../../core/search-path.js';
import { duration, stringOrStrings, text, when, withKey } from '../../core/shape.js';
import { PROMOTIONS, TYPES } from './metadata.js';

const FILLED = text().toSchema();
const orNull = (...schemas: readonly JsonSchema[]): JsonSchema => ({ anyOf: [...schemas, { type: 'null' }] });

const TRUST = orNull({
  type: 'object',
  required: ['rules'],
  properties: { rules: stringOrStrings.toSchema() },
  additionalProperties: false,
});

const IS_SCHEMA: JsonSchema = {
  anyOf: [
    { required: ['properties'], properties: { properties: { type: 'object' } } },
    { required: ['type'], properties: { type: { const: 'object' } } },
  ],
};
const PARAMS = orNull({
  type: 'object',
  ...when(
    IS_SCHEMA,
    { properties: { type: { const: 'object' } } },
    {
      additionalProperties: {
        anyOf: [{ enum: [...TYPES] }, { type: 'object', properties: { required: { type: 'boolean' } } }],
      },
    },
  ),
});

// A skill only narrows.
const RATE_LIMIT: JsonSchema = {
  allOf: [middlewareEntry.toSchema(), { properties: { use: { const: 'rate-limit' } } }],
};

// A list or text says something else.
const REQUIRES: JsonSchema = { anyOf: [openRequirements.toSchema(), { not: { type: 'object' } }] };

const METADATA: JsonSchema = {
  properties: {
    tags: orNull({ type: 'string' }, { type: 'array', items: { type: ['string', 'number'] } }),
    visibility: { enum: ['hidden', null] },
    params: PARAMS,
    delegate: orNull(FILLED, { type: 'object', required: ['code'], properties: { code: FILLED } }),
    $inherit: orNull({ const: false }, FILLED, { type: 'array', items: FILLED }),
    timeout: orNull(duration.toSchema()),
    requires: REQUIRES,
    trust: TRUST,
    middleware: orNull({ type: 'array', items: RATE_LIMIT }, RATE_LIMIT),
    paths: orNull({ type: 'string', pattern: '^[^\\x00]+$' }, searchPath.toSchema()),
    ...Object.fromEntries(PROMOTIONS.map((key) => [key, false])),
  },
};

const ALLOWED_TOOLS = orNull(stringOrStrings.toSchema());

export const SKILL_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name', 'description'],
  properties: {
    name: {
      anyOf: [
        { type: 'string', pattern: '^\\s*[\\p{L}\\p{N}][\\p{L}\\p{N} ._:-]{0,63}\\s*$' },
        { type: 'number', minimum: 0 },
      ],
    },
    description: { anyOf: [{ type: 'string', pattern: '[^\\s\\p{C}]' }, { type: 'number' }] },
    'allowed-tools': ALLOWED_TOOLS,
    metadata: METADATA,
    requires: REQUIRES,
    trust: TRUST,
  },
  allOf: [
    when({ not: { required: ['allowed-tools'] } }, { properties: { allowedTools: ALLOWED_TOOLS } }),
    // Rules in both places cannot both be meant.
    when(withKey('trust'), { properties: { metadata: { not: { type: 'object', required: ['trust'] } } } }),
  ],
};
