// A schema's two faces: the JSON that callers are shown, and the check that is enforced.

import { isRecord, type Json } from './json.js';

/** A JSON Schema document (2020-12). */
export type JsonSchema = { readonly [keyword: string]: Json };

/** One thing wrong with a value. */
export interface Fault {
  /** JSON Pointer to the value, empty for the whole. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

export type Check =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly faults: readonly Fault[] };

export interface Schema {
  /** What callers are shown. */
  readonly json: JsonSchema;
  /** What is enforced; a value that passes comes back with defaults filled in where the schema's author asked. */
  check(value: Json): Check | Promise<Check>;
}

/** The published schema of a tool without parameters (TOOL-3). */
export const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

/** A node of a schema: an object of keywords. */
export type SchemaNode = Readonly<Record<string, unknown>>;

// A chain of references or unions longer than this is a circle.
const MAX_STEPS = 16;

/** A node with its local `$ref` followed, keywords beside the reference kept; empty where there is nothing. */
export function followRef(node: unknown, root: JsonSchema): SchemaNode {
  let here = node;
  for (let step = 0; step < MAX_STEPS && isRecord(here); step++) {
    const { $ref, ...beside }: Record<string, unknown> = here;
    if (typeof $ref !== 'string') return here;
    const target = lookUp(root, $ref);
    here = isRecord(target) ? { ...target, ...beside } : undefined;
  }
  return isRecord(here) ? here : {};
}

/** What a local reference points at; undefined where there is nothing, or where it is no pointer. */
export function lookUp(root: JsonSchema, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  let target: unknown = root;
  for (const step of ref.slice(2).split('/')) {
    const key = decodeStep(step).replace(/~1/g, '/').replace(/~0/g, '~');
    target =
      typeof target === 'object' && target !== null && Object.hasOwn(target, key)
        ? (target as SchemaNode)[key]
        : undefined;
  }
  return target;
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** The types that a node accepts; empty where it does not say. */
export function acceptedTypes(node: SchemaNode, root: JsonSchema, depth = 0): ReadonlySet<string> {
  const { type } = node;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((entry) => typeof entry === 'string'));
  if (Array.isArray(node.enum)) return new Set(node.enum.map(jsonType));
  if ('const' in node) return new Set([jsonType(node.const)]);
  if (depth > MAX_STEPS) return new Set();
  const typesOf = (branch: unknown) => acceptedTypes(followRef(branch, root), root, depth + 1);
  const branches = node.anyOf ?? node.oneOf;
  if (!Array.isArray(branches)) return Array.isArray(node.allOf) ? inAll(node.allOf.map(typesOf)) : new Set();
  const accepted = branches.map(typesOf);
  return accepted.some((types) => types.size === 0)
    ? new Set()
    : new Set(accepted.flatMap((types) => [...types]));
}

// What every part that says something accepts.
function inAll(parts: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first, ...others] = parts.filter((types) => types.size > 0);
  return new Set([...(first ?? [])].filter((type) => others.every((types) => types.has(type))));
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
