// Schemas that forms often fail at, each with a value that is not trivial to reach.

import type { JsonSchema } from '../../src/core/schema.js';

const TREE = {
  type: 'object',
  properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
  required: ['name'],
} as const;

export const ODD_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  'no properties': { type: 'object' },
  'an empty schema': {},
  'a recursive tree': {
    type: 'object',
    properties: { root: { $ref: '#/$defs/tree' } },
    required: ['root'],
    $defs: { tree: TREE },
  },
  'a schema that is its own child': {
    type: 'object',
    properties: { next: { $ref: '#' }, id: { type: 'integer' } },
    required: ['id'],
  },
  'recursion through a union': {
    type: 'object',
    required: ['filter'],
    properties: { filter: { $ref: '#/$defs/filter' } },
    $defs: {
      filter: {
        oneOf: [
          {
            type: 'object',
            required: ['and'],
            additionalProperties: false,
            properties: { and: { type: 'array', minItems: 1, items: { $ref: '#/$defs/filter' } } },
          },
          {
            type: 'object',
            required: ['field', 'equals'],
            additionalProperties: false,
            properties: { field: { type: 'string' }, equals: { type: ['string', 'number', 'null'] } },
          },
        ],
      },
    },
  },
  'branches told apart by a constant': {
    type: 'object',
    required: ['shape'],
    properties: {
      shape: {
        oneOf: [
          {
            type: 'object',
            required: ['kind', 'radius'],
            properties: { kind: { const: 'circle' }, radius: { type: 'number', exclusiveMinimum: 0 } },
          },
          {
            type: 'object',
            required: ['kind', 'sides'],
            properties: { kind: { const: 'square' }, sides: { type: 'integer', minimum: 4, maximum: 4 } },
          },
        ],
      },
    },
  },
  'branches that only require': {
    type: 'object',
    properties: { id: { type: 'string' }, name: { type: 'string' } },
    anyOf: [{ required: ['id'] }, { required: ['name'] }],
  },
  'exactly one of two': {
    type: 'object',
    properties: { id: { type: 'string' }, name: { type: 'string' } },
    oneOf: [
      { required: ['id'], not: { required: ['name'] } },
      { required: ['name'], not: { required: ['id'] } },
    ],
  },
  'two unions at once': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    allOf: [
      { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { anyOf: [{ required: ['c'] }, { required: ['b'] }] },
    ],
  },
  'allOf with references': {
    type: 'object',
    allOf: [{ $ref: '#/$defs/named' }, { properties: { size: { type: 'integer', minimum: 3 } }, required: ['size'] }],
    $defs: { named: { type: 'object', properties: { name: { type: 'string', minLength: 2 } }, required: ['name'] } },
  },
  'a property in two parts of allOf': {
    type: 'object',
    required: ['n'],
    allOf: [
      { properties: { n: { type: 'number', minimum: 5 } } },
      { properties: { n: { type: 'integer', maximum: 6 } } },
    ],
  },
  'nullable in three ways': {
    type: 'object',
    required: ['a', 'b', 'c'],
    properties: {
      a: { type: ['string', 'null'] },
      b: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      c: { enum: ['x', null] },
    },
  },
  'a tuple': {
    type: 'object',
    required: ['at'],
    properties: {
      at: {
        type: 'array',
        prefixItems: [{ type: 'number' }, { type: 'number' }, { type: 'string' }],
        items: false,
        minItems: 2,
      },
    },
  },
  'a tuple of an older draft': {
    type: 'object',
    required: ['at'],
    properties: {
      at: {
        type: 'array',
        items: [{ type: 'string' }, { type: 'boolean' }],
        additionalItems: { type: 'integer' },
        minItems: 3,
      },
    },
  },
  'a map': {
    type: 'object',
    required: ['env'],
    properties: { env: { type: 'object', additionalProperties: { type: 'string' }, minProperties: 2 } },
  },
  'a map with names': {
    type: 'object',
    required: ['env'],
    properties: {
      env: {
        type: 'object',
        patternProperties: { '^[A-Z]{3,5}$': { type: 'integer' } },
        additionalProperties: false,
        minProperties: 1,
      },
    },
  },
  'a map with propertyNames': {
    type: 'object',
    required: ['by'],
    properties: {
      by: {
        type: 'object',
        propertyNames: { enum: ['left', 'right'] },
        additionalProperties: { type: 'boolean' },
        minProperties: 1,
      },
    },
  },
  'a condition': {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: ['file', 'url'] } },
    if: { properties: { type: { const: 'url' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { url: { type: 'string', format: 'uri' } }, required: ['url'] },
    else: { properties: { path: { type: 'string' } }, required: ['path'] },
  },
  'dependent schemas': {
    type: 'object',
    required: ['card'],
    properties: { card: { type: 'string' } },
    dependentSchemas: { card: { properties: { address: { type: 'string' } }, required: ['address'] } },
  },
  dependentRequired: {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string' }, b: { type: 'integer' } },
    dependentRequired: { a: ['b'] },
  },
  'required without a declaration': { type: 'object', required: ['x'], additionalProperties: { type: 'integer' } },
  'boolean schemas': { type: 'object', required: ['any'], properties: { any: true, none: false } },
  'an impossible branch': {
    type: 'object',
    required: ['x'],
    properties: { x: { anyOf: [false, { type: 'string', enum: [] }, { type: 'integer' }] } },
  },
  'a dynamic reference': {
    $dynamicAnchor: 'node',
    type: 'object',
    properties: { value: { type: 'integer' }, child: { $dynamicRef: '#node' } },
    required: ['value'],
  },
  'anchors and escaped names': {
    type: 'object',
    required: ['a'],
    properties: { a: { $ref: '#/$defs/x~1y%20z' } },
    $defs: { 'x/y z': { $anchor: 'xy', type: 'string', pattern: '^[a-c]{2}-\\d+$' } },
  },
  'lists of unions of lists': {
    type: 'object',
    required: ['rows'],
    properties: {
      rows: {
        type: 'array',
        minItems: 2,
        items: {
          anyOf: [
            { type: 'array', items: { type: ['number', 'string'] }, minItems: 1 },
            { type: 'object', additionalProperties: { type: 'number' } },
          ],
        },
      },
    },
  },
  'different items': {
    type: 'object',
    required: ['tags'],
    properties: { tags: { type: 'array', uniqueItems: true, minItems: 2, items: { enum: ['a', 'b', 'c'] } } },
  },
  'constants of every kind': {
    type: 'object',
    required: ['a', 'b', 'c', 'd'],
    properties: { a: { const: null }, b: { const: { x: [1] } }, c: { const: false }, d: { enum: [[1, 2], { y: 1 }] } },
  },
  'names of the language': {
    type: 'object',
    required: ['constructor', 'toString'],
    properties: { constructor: { type: 'string' }, toString: { type: 'integer' } },
  },
  'types without type': {
    type: 'object',
    required: ['o', 'l', 's', 'n'],
    properties: {
      o: { properties: { a: { minLength: 1 } } },
      l: { items: { minimum: 2 } },
      s: { maxLength: 4 },
      n: { multipleOf: 0.5 },
    },
  },
  unevaluatedProperties: {
    type: 'object',
    allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }],
    unevaluatedProperties: false,
  },
  'a union beside properties': {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string' } },
    oneOf: [
      { properties: { mode: { const: 'a' }, x: { type: 'integer' } }, required: ['mode', 'x'] },
      { properties: { mode: { const: 'b' }, y: { type: 'boolean' } }, required: ['mode', 'y'] },
    ],
  },
};
