// Random values for large schemas, most of which are valid. Optional parts are left out where a value gets deep.

import fc from 'fast-check';
import { isRecord, type Json } from '../../src/core/json.js';
import { lookUp } from './valid-values.js';

type Node = Readonly<Record<string, unknown>>;
export type Random = (below: number) => number;

const WORDS = ['a', 'left out', 'ä/b', 'x&y=z', '100%', 'q?#', 'a,b', 'plain', '日本', 'a|b c', '[0]', "it's+1"];
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-11-16',
  'date-time': '2026-11-16T05:00:00Z',
  time: '05:00:00Z',
  uri: 'https://example.org/a?b=c&d',
  url: 'https://example.org/a',
  'uri-reference': '/a',
  email: 'a@example.org',
  hostname: 'example.org',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '0b6c52f4-57ee-4d5c-9a05-1b1d9ffe4ac8',
};
const MAX_DEPTH = 5;

/** Returns a generator of the same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = (seed * 2654435761 + 1) >>> 0;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    return (state >>> 8) % Math.max(1, below);
  };
}

/** Returns a value; `whole`: with all properties of the outermost object. */
export function randomValue(root: Node, random: Random, whole = false): Json {
  return makeValue(root, root, random, 0, whole) ?? {};
}

function makeValue(root: Node, node: unknown, random: Random, depth: number, whole: boolean): Json | undefined {
  if (!isRecord(node)) return WORDS[random(WORDS.length)]!;
  if (typeof node.$ref === 'string') return makeValue(root, lookUp(root, node.$ref), random, depth + 1, whole);
  if ('const' in node) return node.const as Json;
  if (Array.isArray(node.enum) && node.enum.length > 0) return node.enum[random(node.enum.length)] as Json;
  for (const key of ['anyOf', 'oneOf']) {
    const branches = node[key];
    if (!Array.isArray(branches) || branches.length === 0) continue;
    const { [key]: _, ...own } = node;
    return makeValue(root, merge(root, [own, branches[random(branches.length)]]), random, depth + 1, whole);
  }
  if (Array.isArray(node.allOf)) {
    const { allOf, ...own } = node;
    return makeValue(root, merge(root, [own, ...allOf]), random, depth + 1, whole);
  }
  const types = [node.type].flat();
  const type = types[random(types.length)] ?? (isRecord(node.properties) ? 'object' : node.items ? 'array' : 'string');
  const limit = (key: string, otherwise: number): number => (typeof node[key] === 'number' ? node[key] : otherwise);
  switch (type) {
    case 'object':
      return objectOf(root, node, random, depth, whole);
    case 'array': {
      const least = limit('minItems', depth > 12 ? 0 : 1);
      const length = Math.min(limit('maxItems', least + 2), least + random(2));
      const items = Array.from({ length }, () => makeValue(root, node.items, random, depth + 1, whole));
      return items.filter((one) => one !== undefined);
    }
    case 'integer':
    case 'number': {
      const step = limit('multipleOf', 1);
      const least = limit('minimum', limit('exclusiveMinimum', 0) + (node.exclusiveMinimum === undefined ? 0 : step));
      const most = limit(
        'maximum',
        limit('exclusiveMaximum', least + 100) - (node.exclusiveMaximum === undefined ? 0 : step),
      );
      return Math.ceil(least / step) * step + random(Math.max(1, Math.floor((most - least) / step))) * step;
    }
    case 'boolean':
      return random(2) === 0;
    case 'null':
      return null;
    default:
      return textFor(node, random);
  }
}

function textFor(node: Node, random: Random): string {
  if (node.contentEncoding === 'base64') return 'AAEC';
  const known = FORMATS[String(node.format)];
  if (known !== undefined) return known;
  const pattern = typeof node.pattern === 'string' ? new RegExp(node.pattern, 'u') : /(?:)/;
  const least = typeof node.minLength === 'number' ? node.minLength : 1;
  const most = typeof node.maxLength === 'number' ? node.maxLength : Infinity;
  const candidates = [
    ...WORDS,
    'A1',
    'abc-1',
    '1',
    '12',
    'aaaaaaaa',
    '2026-11-16',
    'https://example.org/',
    '0x1f',
    'a'.repeat(40),
    'a1'.repeat(32),
    '1.2.3',
    'refs/heads/a',
    `sha256:${'a'.repeat(64)}`,
    'ssh-rsa a',
    'do:vpc:1',
    'a-b:1',
    'a.jsonl',
  ];
  const start = random(WORDS.length);
  const at = candidates.map((_, index) => candidates[(start + index) % candidates.length]!);
  const fitting = at.map((word) => word.padEnd(least, 'a').slice(0, most));
  const fits = (word: string): boolean => pattern.test(word) && [...word].length >= least && [...word].length <= most;
  return fitting.find(fits) ?? matching(pattern, random).find(fits) ?? fitting[0]!;
}

// Empty for expressions that fast-check does not support.
function matching(pattern: RegExp, random: Random): readonly string[] {
  try {
    return fc.sample(fc.stringMatching(pattern), { seed: random(1 << 16), numRuns: 20 });
  } catch {
    return [];
  }
}

function objectOf(root: Node, node: Node, random: Random, depth: number, whole: boolean): Json {
  const properties = isRecord(node.properties) ? node.properties : {};
  const required = Array.isArray(node.required) ? node.required : [];
  const made: Record<string, Json> = {};
  for (const [name, one] of Object.entries(properties)) {
    const isWanted = required.includes(name) || (depth < MAX_DEPTH && ((whole && depth < 2) || random(3) === 0));
    if (!isWanted) continue;
    const value = depth > 30 ? null : makeValue(root, one, random, depth + 1, whole && depth < 1);
    if (value !== undefined) made[name] = value;
  }
  const [first] = Object.entries(properties);
  if (first !== undefined && Object.keys(made).length === 0 && depth < 30) {
    const value = makeValue(root, first[1], random, depth + 1, false);
    if (value !== undefined && value !== null) made[first[0]] = value;
  }
  for (const name of required) if (!Object.hasOwn(made, String(name))) made[String(name)] = 'a';
  const isMap = isRecord(node.additionalProperties) && Object.keys(properties).length === 0;
  if (isMap && depth < MAX_DEPTH) {
    const value = makeValue(root, node.additionalProperties, random, depth + 1, false);
    if (value !== undefined) made.key = value;
  }
  return made;
}

function merge(root: Node, nodes: readonly unknown[]): Node {
  const all = nodes.map((node) => {
    let here = node;
    while (isRecord(here) && typeof here.$ref === 'string') here = lookUp(root, here.$ref);
    return isRecord(here) ? here : {};
  });
  const inner = all.map((one) =>
    Array.isArray(one.allOf) ? merge(root, [{ ...one, allOf: undefined }, ...one.allOf]) : one,
  );
  return {
    ...Object.assign({}, ...inner),
    properties: Object.assign({}, ...inner.map(({ properties }) => properties)),
    required: inner.flatMap(({ required }) => (Array.isArray(required) ? required : [])),
    ...(inner.some(({ properties }) => isRecord(properties)) ? {} : { properties: undefined }),
  };
}
