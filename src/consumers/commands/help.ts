// The help of a tool: usage, parameters, an example and where it comes from, all from its schema.

import type { Json } from '../../core/json.js';
import { sanitize } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { type Parameter, toParameters, toPositionals } from './parameters.js';

/** `--help` of a tool; `command` is what comes before its arguments. */
export function formatToolHelp(tool: Tool, command: string): string {
  const parameters = toParameters(tool.input.json);
  const lines = [tool.description, '', `  ${[command, ...usage(tool, parameters)].join(' ')}`, ''];
  if (parameters.length > 0) lines.push(...parameterRows(parameters), '');
  lines.push(
    'Example',
    `  ${[command, ...exampleArguments(tool, parameters)].join(' ')}`,
    '',
    `from ${tool.origin.uri ?? tool.origin.format}`,
    '',
  );
  return sanitize(lines.join('\n'));
}

function usage(tool: Tool, parameters: readonly Parameter[]): string[] {
  const positionals = toPositionals(parameters, tool.traits.positional);
  return [
    ...positionals.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`)),
    ...parameters
      .filter((parameter) => !positionals.includes(parameter))
      .map((parameter) => (parameter.required ? flagUsage(parameter) : `[${flagUsage(parameter)}]`)),
  ];
}

function flagUsage(parameter: Parameter): string {
  if (parameter.types.length === 1 && parameter.types[0] === 'boolean') return `--${parameter.flag}`;
  const value =
    parameter.default === undefined ? typeName(parameter).toUpperCase() : inline(parameter.default);
  return `--${parameter.flag} ${value}${parameter.types.includes('array') ? ' …' : ''}`;
}

/** One row a parameter: a star for required, name, type, what it is. */
export function parameterRows(parameters: readonly Parameter[]): string[] {
  const rows = parameters.map((parameter) => ({
    name: `${parameter.required ? '*' : ' '}${parameter.flag}`,
    type: typeName(parameter),
    about: [
      parameter.description,
      parameter.choices.length > 0 ? `one of ${parameter.choices.map(inline).join(', ')}` : '',
      parameter.default === undefined ? '' : `default ${inline(parameter.default)}`,
    ]
      .filter((text) => text !== '')
      .join('; '),
  }));
  const nameWidth = Math.max(...rows.map((row) => row.name.length));
  const typeWidth = Math.max(...rows.map((row) => row.type.length));
  return rows.map(({ name, type, about }) =>
    `  ${name.padEnd(nameWidth)}   ${type.padEnd(typeWidth)}   ${about}`.trimEnd(),
  );
}

function typeName(parameter: Parameter): string {
  return parameter.types.length === 0 ? 'any' : parameter.types.join('|');
}

/** Arguments that show how the tool is called: its own example, else a value for each required parameter. */
export function exampleArguments(tool: Tool, parameters: readonly Parameter[]): string[] {
  const [example] = tool.traits.examples;
  if (example !== undefined && typeof example === 'object' && example !== null && !Array.isArray(example)) {
    const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
    return Object.entries(example).flatMap(([name, value]) => flagsFor(known.get(name)?.flag ?? name, value));
  }
  return parameters
    .filter((parameter) => parameter.required)
    .flatMap((parameter) => flagsFor(parameter.flag, sample(parameter)));
}

function flagsFor(flag: string, value: Json): string[] {
  if (typeof value === 'boolean') return [value ? `--${flag}` : `--no-${flag}`];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) {
    return value.map((entry) => `--${flag} ${quote(entry)}`);
  }
  return [`--${flag} ${quote(inline(value))}`];
}

function sample(parameter: Parameter): Json {
  if (parameter.choices.length > 0) return parameter.choices[0]!;
  const [type = 'string'] = parameter.types;
  const samples: Readonly<Record<string, Json>> = {
    number: 1.5,
    integer: 1,
    boolean: true,
    array: ['a', 'b'],
    object: {},
    null: null,
  };
  return Object.hasOwn(samples, type) ? samples[type]! : parameter.name;
}

function inline(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}
