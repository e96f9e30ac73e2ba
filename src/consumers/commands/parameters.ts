// The parameters of a tool as a command line sees them: names, types, defaults, choices, order.

import { isRecord, type Json } from '../../core/json.js';
import { acceptedTypes, followRef, type JsonSchema } from '../../core/schema.js';

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
    const node = followRef(raw, schema);
    const flag = kebab(name);
    return {
      name,
      flag: OWN_FLAGS.has(flag) ? `param-${flag}` : flag,
      required: required.includes(name),
      description: typeof node.description === 'string' ? node.description : '',
      types: [...acceptedTypes(node, schema)],
      choices: Array.isArray(node.enum) ? (node.enum as Json[]) : [],
      ...(node.default === undefined ? {} : { default: node.default as Json }),
      schema: node,
    };
  });
}

/** Those that can be given without a flag: the named ones, else required ones of one plain type, in order. */
export function toPositionals(
  parameters: readonly Parameter[],
  named: readonly string[] | undefined,
): Parameter[] {
  if (named !== undefined)
    return named.flatMap((name) => parameters.find((parameter) => parameter.name === name) ?? []);
  return parameters.filter(
    (parameter) => parameter.required && parameter.types.every((type) => SCALAR.has(type)),
  );
}

const SCALAR = new Set(['string', 'number', 'integer', 'boolean']);

function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/_/g, '-')
    .toLowerCase();
}
