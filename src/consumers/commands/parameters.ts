// The parameters of a tool as a command line sees them: names, types, defaults, choices, order.

import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';

export interface Parameter {
  /** As the schema has it. */
  readonly name: string;
  /** Kebab-case, without dashes in front. */
  readonly flag: string;
  readonly required: boolean;
  readonly description: string;
  /** The types it takes; empty: anything. */
  readonly types: readonly string[];
  readonly choices: readonly Json[];
  readonly default?: Json;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Flags of wield itself on every tool; a parameter of such a name is given as `--param-<name>` (CLI-13). */
export const OWN_FLAGS: ReadonlySet<string> = new Set([
  'json',
  'input',
  'dry-run',
  'timeout',
  'trust',
  'yes',
  'full',
  'cwd',
  'verbose',
  'plain',
  'help',
]);

/** A tool's parameters, in schema order. */
export function toParameters(schema: JsonSchema): Parameter[] {
  const properties = schema.properties;
  if (!isRecord(properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, raw]) => {
    const node = resolveLocal(raw, schema);
    const flag = kebab(name);
    return {
      name,
      flag: OWN_FLAGS.has(flag) ? `param-${flag}` : flag,
      required: required.includes(name),
      description: typeof node.description === 'string' ? node.description : '',
      types: typesOf(node, schema),
      choices: Array.isArray(node.enum) ? (node.enum as Json[]) : [],
      ...(node.default === undefined ? {} : { default: node.default as Json }),
      schema: node,
    };
  });
}

/** Those that can be given without a flag: required ones of one plain type, in order. */
export function toPositionals(parameters: readonly Parameter[]): Parameter[] {
  return parameters.filter(
    (parameter) => parameter.required && parameter.types.every((type) => SCALAR.has(type)),
  );
}

const SCALAR = new Set(['string', 'number', 'integer', 'boolean']);

export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/_/g, '-')
    .toLowerCase();
}

/** A schema node with a local reference followed. */
export function resolveLocal(node: unknown, root: JsonSchema): Record<string, unknown> {
  if (!isRecord(node)) return {};
  const ref = node.$ref;
  if (typeof ref !== 'string' || !ref.startsWith('#/')) return node;
  let target: unknown = root;
  for (const step of ref.slice(2).split('/')) {
    target = isRecord(target) ? target[step.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined;
  }
  return isRecord(target) ? { ...target, ...node } : node;
}

/** The types a node takes; empty where it does not say. */
export function typesOf(node: Readonly<Record<string, unknown>>, root: JsonSchema): string[] {
  const { type } = node;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((entry) => typeof entry === 'string');
  if (Array.isArray(node.enum)) return [...new Set(node.enum.map((choice) => jsonType(choice)))];
  const branches = node.anyOf ?? node.oneOf;
  if (!Array.isArray(branches)) return [];
  const inner = branches.map((branch) => typesOf(resolveLocal(branch, root), root));
  return inner.some((types) => types.length === 0) ? [] : [...new Set(inner.flat())];
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
