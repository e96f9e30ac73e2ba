// The parameters of a tool as a command line sees them: flags, types, defaults, choices, order.

import type { Json } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import { kebab } from './names.js';
import { choicesOf, fieldsOf, typesOf } from './shape.js';

export interface Parameter {
  /** As the schema has it. */
  readonly name: string;
  /** Without the dashes in front; no two parameters have the same. */
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
  const fields = fieldsOf(schema, schema);
  const flags = assignFlags(fields.map((field) => field.name));
  return fields.map(({ name, node, required }) => ({
    name,
    flag: flags.get(name)!,
    required,
    description: typeof node.description === 'string' ? node.description : '',
    types: typesOf(node, schema),
    choices: choicesOf(node, schema),
    ...(node.default === undefined ? {} : { default: node.default as Json }),
    schema: node,
  }));
}

// Kebab-case where that is one parameter's alone, else the name itself, else a number behind (MOD-22). Whoever is
// named in kebab-case already keeps its name, so that no other parameter changes how it is given.
function assignFlags(names: readonly string[]): ReadonlyMap<string, string> {
  const wanted = names.map((name) => {
    const flag = kebab(name) || 'param';
    return { name, flag: OWN_FLAGS.has(flag) ? `param-${flag}` : flag };
  });
  const claims = new Map<string, number>();
  for (const { flag } of wanted) claims.set(flag, (claims.get(flag) ?? 0) + 1);
  const flags = new Map<string, string>();
  const taken = new Set<string>();
  const take = (name: string, flag: string): void => {
    flags.set(name, flag);
    taken.add(flag);
  };
  for (const { name, flag } of wanted) if (name === flag) take(name, flag);
  for (const { name, flag } of wanted)
    if (!flags.has(name) && claims.get(flag) === 1 && !taken.has(flag)) take(name, flag);
  for (const { name, flag } of wanted) {
    if (flags.has(name)) continue;
    const own = /^[\w-]+$/.test(name) && !name.startsWith('-') && !OWN_FLAGS.has(name) ? name : flag;
    let free = own;
    for (let number = 2; taken.has(free); number++) free = `${flag}-${number}`;
    take(name, free);
  }
  return flags;
}

/** Finds the parameter that a flag without its dashes names: by flag, by name, by `param-` and name. */
export function createFlagTable(parameters: readonly Parameter[]): (word: string) => Parameter | undefined {
  const table = new Map<string, Parameter>();
  const add = (word: string, parameter: Parameter): void => {
    if (!table.has(word)) table.set(word, parameter);
  };
  for (const parameter of parameters) add(parameter.flag, parameter);
  // A colon at the end of a flag says that its value is JSON, whatever the parameter is called.
  const others = parameters.filter(({ name }) => !name.endsWith(':'));
  for (const parameter of others) if (!OWN_FLAGS.has(kebab(parameter.name))) add(parameter.name, parameter);
  for (const parameter of others) add(`param-${parameter.name}`, parameter);
  return (word) => table.get(word);
}

/** Whether it is given as `--x` and `--no-x`. */
export function isSwitch({ types }: Parameter): boolean {
  return types.includes('boolean') && types.every((type) => type === 'boolean' || type === 'null');
}

const SCALAR = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/**
 * Those that can be given without a flag, in order (MOD-21): the ones that a definition names, else the required
 * ones of a plain type.
 */
export function toPositionals(
  parameters: readonly Parameter[],
  named: readonly string[] | undefined,
): readonly Parameter[] {
  if (named === undefined)
    return parameters.filter(({ required, types }) => required && types.every((type) => SCALAR.has(type)));
  return named.flatMap((name) => parameters.filter((parameter) => parameter.name === name));
}

/** Whether a positional takes all that is left. */
export function isVariadic({ types }: Parameter): boolean {
  return types.includes('array');
}
