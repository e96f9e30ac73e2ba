// The parameters of a tool as flags and positionals.

import { fieldsOf } from '../core/fields.js';
import type { Json } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import type { FlagKind } from './arguments.js';
import { kebab } from './names.js';
import { choicesOf, typesOf } from './shape.js';

/** A parameter of a tool, as a flag. */
export interface Parameter {
  /** The name in the schema. */
  readonly name: string;
  /** Unique, without leading dashes. */
  readonly flag: string;
  /** Whether it must be given. */
  readonly required: boolean;
  /** What it means. */
  readonly description: string;
  /** Accepted types; empty means any. */
  readonly types: readonly string[];
  /** The accepted values; empty if any. */
  readonly choices: readonly Json[];
  /** The value if it is not given. */
  readonly default?: Json;
  /** Its part of the input schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

const OWN_FLAG_KINDS = new Map<string, FlagKind>([
  ['json', 'switch'],
  ['input', 'value'],
  ['dry-run', 'switch'],
  ['timeout', 'value'],
  ['sandbox', 'value'],
  ['trust', 'switch'],
  ['yes', 'switch'],
  ['full', 'switch'],
  ['cwd', 'value'],
  ['verbose', 'switch'],
  ['plain', 'switch'],
  ['help', 'switch'],
]);

/** Flags that wield adds to every tool. After the name of a tool, its parameters take precedence (CLI-13). */
export const OWN_FLAGS: ReadonlySet<string> = new Set(OWN_FLAG_KINDS.keys());

/** The flags that no parameter can have; one with such a name is passed as `--param-<name>`. */
const RESERVED_FLAGS: ReadonlySet<string> = new Set(['help']);

export function kindOfOwnFlag(name: string): FlagKind | undefined {
  return OWN_FLAG_KINDS.get(name);
}

/** Returns a tool's parameters in schema order. */
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
    default: node.default as Json | undefined,
    schema: node,
  }));
}

// Kebab-case if unique, else the name itself, else with a number (MOD-22). A name that is kebab-case already always
// keeps it, so that adding a parameter never changes the flag of another.
function assignFlags(names: readonly string[]): ReadonlyMap<string, string> {
  const wanted = names.map((name) => {
    const flag = kebab(name) || 'param';
    return { name, flag: RESERVED_FLAGS.has(flag) ? `param-${flag}` : flag };
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
    const own = /^[\w-]+$/.test(name) && !name.startsWith('-') && !RESERVED_FLAGS.has(name) ? name : flag;
    let free = own;
    for (let number = 2; taken.has(free); number++) free = `${flag}-${number}`;
    take(name, free);
  }
  return flags;
}

/** Looks up parameters by flag, name, `param-<name>`, and other names that the tool accepts. */
export function createFlagTable(
  parameters: readonly Parameter[],
  aliases: Readonly<Record<string, string>> = {},
): (word: string) => Parameter | undefined {
  const table = new Map<string, Parameter>();
  const add = (word: string, parameter: Parameter): void => {
    if (!table.has(word)) table.set(word, parameter);
  };
  for (const parameter of parameters) add(parameter.flag, parameter);
  // A trailing colon in a flag always means a JSON value.
  const others = parameters.filter(({ name }) => !name.endsWith(':'));
  for (const parameter of others) if (!RESERVED_FLAGS.has(kebab(parameter.name))) add(parameter.name, parameter);
  for (const parameter of others) add(`param-${parameter.name}`, parameter);
  for (const parameter of parameters) add(`param-${parameter.flag}`, parameter);
  for (const [other, name] of Object.entries(aliases))
    for (const parameter of parameters.filter((one) => one.name === name))
      for (const word of [other, kebab(other)]) add(word, parameter);
  return (word) => table.get(word);
}

/** Whether the flag takes no value: `--x` or `--no-x`. */
export function isSwitch({ types }: Parameter): boolean {
  return types.includes('boolean') && types.every((type) => type === 'boolean' || type === 'null');
}

const SCALAR = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/** Returns the parameters that can be passed without a flag, in order: those a definition names, else required scalars (MOD-21). */
export function toPositionals(
  parameters: readonly Parameter[],
  named: readonly string[] | undefined,
): readonly Parameter[] {
  if (named === undefined)
    return parameters.filter(({ required, types }) => required && types.every((type) => SCALAR.has(type)));
  return named.flatMap((name) => parameters.filter((parameter) => parameter.name === name));
}

/** Whether a positional takes all remaining arguments. */
export function isVariadic({ types }: Parameter): boolean {
  return types.includes('array');
}
