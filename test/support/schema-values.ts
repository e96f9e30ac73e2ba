// Generates values of a JSON Schema; values that fail validation are skipped.

import fc from 'fast-check';

type Node = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 6;

/** Text that is hard to quote on a command line. */
export const awkwardText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  fc.constantFrom(
    '',
    ' ',
    '-',
    '--',
    '-x',
    '--help',
    '--json',
    '-5',
    '5',
    '1e21',
    'null',
    'true',
    '[',
    '[]',
    '[1]',
    '{}',
    '"',
    '"5"',
    "it's",
    'a=b',
    ':=',
    '@file',
    'a\nb',
    '$HOME',
    '…',
  ),
);

// No input may have the key __proto__ (RUN-5).
const json: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.stringify(value))
  .filter((text) => !text.includes('__proto__'))
  .map((text) => JSON.parse(text));

/** Generates values of a root schema. */
export function valuesOf(schema: Node): fc.Arbitrary<unknown> {
  return fromNode(schema, schema, 0);
}

function fromNode(raw: unknown, root: Node, depth: number): fc.Arbitrary<unknown> {
  const node = follow(raw, root);
  if (Array.isArray(node.enum)) return fc.constantFrom(...node.enum);
  if ('const' in node) return fc.constant(node.const);
  for (const union of ['anyOf', 'oneOf']) {
    const branches = node[union];
    if (Array.isArray(branches)) return fc.oneof(...branches.map((branch) => fromNode(branch, root, depth + 1)));
  }
  if (node.type === undefined && Array.isArray(node.allOf))
    return fromNode(Object.assign({}, ...node.allOf.map((part) => follow(part, root))), root, depth + 1);
  if (Array.isArray(node.type)) return fc.oneof(...node.type.map((type) => fromType(String(type), node, root, depth)));
  return typeof node.type === 'string' ? fromType(node.type, node, root, depth) : json;
}

function fromType(type: string, node: Node, root: Node, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return fromString(node);
    case 'integer':
      return fc.integer(bounds(node));
    case 'number':
      return fc.oneof(
        fc.integer(bounds(node)),
        fc.double({ ...bounds(node), noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      );
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fromArray(node, root, depth);
    default:
      return fromObject(node, root, depth);
  }
}

function bounds(node: Node): { min: number; max: number } {
  const at = (name: string, otherwise: number): number =>
    typeof node[name] === 'number' ? (node[name] as number) : otherwise;
  const min = Math.ceil(at('minimum', at('exclusiveMinimum', -(2 ** 31) - 1) + 1));
  return { min, max: Math.max(min, Math.floor(at('maximum', at('exclusiveMaximum', 2 ** 31) - 1))) };
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-02',
  'date-time': '2026-01-02T03:04:05Z',
  email: 'ada@example.org',
  uri: 'https://example.org/a?b=c',
  uuid: '3b241101-e2bb-4255-8caf-4136c566a962',
};

function fromString(node: Node): fc.Arbitrary<unknown> {
  if (typeof node.pattern === 'string') return fc.stringMatching(new RegExp(node.pattern, 'u'));
  if (typeof node.format === 'string' && node.format in FORMATS) return fc.constant(FORMATS[node.format]);
  const min = typeof node.minLength === 'number' ? node.minLength : 0;
  const max = typeof node.maxLength === 'number' ? node.maxLength : undefined;
  if (min === 0 && max === undefined) return awkwardText;
  return fc.string({ minLength: min, maxLength: max ?? min + 8 });
}

function fromArray(node: Node, root: Node, depth: number): fc.Arbitrary<unknown> {
  if (Array.isArray(node.prefixItems))
    return fc.tuple(...node.prefixItems.map((item) => fromNode(item, root, depth + 1)));
  const minLength = typeof node.minItems === 'number' ? node.minItems : 0;
  const maxLength = Math.max(minLength, Math.min(typeof node.maxItems === 'number' ? node.maxItems : 3, minLength + 3));
  const items = depth > MAX_DEPTH ? fc.constant('deep') : fromNode(node.items ?? {}, root, depth + 1);
  return fc.array(items, { minLength, maxLength });
}

function fromObject(node: Node, root: Node, depth: number): fc.Arbitrary<unknown> {
  const properties = (node.properties ?? {}) as Node;
  const required = Array.isArray(node.required) ? (node.required as string[]) : [];
  const own: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [name, child] of Object.entries(properties)) {
    if (depth > MAX_DEPTH && !required.includes(name)) continue;
    own[name] = fromNode(child, root, depth + 1);
  }
  const declared = fc.record(own, { requiredKeys: required.filter((name) => name in own) });
  const isMap = Object.keys(properties).length === 0 && depth > 0 && node.additionalProperties !== false;
  return isMap
    ? fc.dictionary(
        fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
        json,
        { maxKeys: 2, noNullPrototype: true },
      )
    : declared.map((value) => ({ ...value }));
}

function follow(raw: unknown, root: Node): Node {
  let node = raw as Node;
  for (let step = 0; step < 8 && typeof node?.$ref === 'string'; step++) {
    const { $ref, ...beside } = node;
    let target: unknown = root;
    for (const key of ($ref as string).replace(/^#\/?/, '').split('/')) target = (target as Node)[key];
    node = { ...(target as Node), ...beside };
  }
  return typeof node === 'object' && node !== null ? node : {};
}
