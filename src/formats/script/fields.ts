// Parses the values of header tags: parameters, types, durations, examples and environment variables.

import { type Json, parseJson } from '../../core/json.js';
import { normalizeTags, variableName } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import { parseDuration, quoteOutside } from '../../core/text.js';

export type ParameterType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

export interface TypedValue {
  readonly type: ParameterType;
  readonly description: string;
}

export interface HeaderParameter extends TypedValue {
  readonly name: string;
  readonly required: boolean;
}

const TYPES: Readonly<Record<string, ParameterType>> = {
  string: 'string',
  str: 'string',
  number: 'number',
  num: 'number',
  float: 'number',
  integer: 'integer',
  int: 'integer',
  boolean: 'boolean',
  bool: 'boolean',
  array: 'array',
  list: 'array',
  object: 'object',
  obj: 'object',
  map: 'object',
};
const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function readParameters(
  declarations: readonly string[],
  errors: Finding[],
  warnings: Finding[],
): HeaderParameter[] {
  const parameters: HeaderParameter[] = [];
  const variables = new Map<string, string>();
  for (const declaration of declarations) {
    const [first = '', type, ...rest] = declaration.split(/\s+/);
    const required = first.startsWith('*');
    const name = required ? first.slice(1) : first;
    if (name === '') {
      warnings.push({
        message: '@param without a name is ignored',
        hint: 'write # @param NAME TYPE Description; put * before the name if it is required',
      });
      continue;
    }
    // Input never contains a key __proto__ (RUN-5).
    if (!PARAMETER_NAME.test(name) || name === '__proto__') {
      errors.push({
        message: `@param name "${quoteOutside(name, 60)}" is not allowed`,
        hint: 'start with a letter or _, then use letters, digits, _ and -',
      });
      continue;
    }
    const variable = variableName(name);
    const other = variables.get(variable);
    if (other !== undefined) {
      errors.push(
        other === name
          ? { message: `@param ${name} is declared twice`, hint: 'remove or rename one of them' }
          : {
              message: `@param ${other} and ${name} would both be passed as ${variable}`,
              hint: 'rename one of them',
            },
      );
      continue;
    }
    variables.set(variable, name);
    parameters.push({ name, required, type: readType(name, type, warnings), description: rest.join(' ') });
  }
  return parameters;
}

function readType(name: string, given: string | undefined, warnings: Finding[]): ParameterType {
  if (given === undefined || given === '') return 'string';
  const type = toType(given);
  if (type !== undefined) return type;
  warnings.push({
    message: `@param ${name} has the unknown type "${quoteOutside(given, 40)}", using string`,
    hint: `if this is part of the description, write: @param ${name} string ${quoteOutside(given, 40)} …`,
  });
  return 'string';
}

function toType(given: string): ParameterType | undefined {
  const lower = given.toLowerCase();
  return Object.hasOwn(TYPES, lower) ? TYPES[lower] : undefined;
}

export function readTimeout(text: string | undefined, warnings: Finding[]): number | undefined {
  if (text === undefined) return undefined;
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    warnings.push({
      message: `@timeout "${quoteOutside(text, 40)}" is not a duration, using the default`,
      hint: 'write it as 500ms, 30s, 5m or 1h',
    });
  }
  return milliseconds;
}

export function readReturns(text: string | undefined, warnings: Finding[]): TypedValue | undefined {
  const [given = '', ...rest] = (text ?? '').trim().split(/\s+/);
  if (given === '') return undefined;
  const type = toType(given);
  if (type === undefined) {
    warnings.push({
      message: `@returns has the unknown type "${quoteOutside(given, 40)}", so output is not checked`,
      hint: 'write @returns TYPE Description; TYPE is string, number, integer, boolean, array or object',
    });
    return undefined;
  }
  return { type, description: rest.join(' ') };
}

// Reserved tags are removed later, for tools of all formats (RES-31).
export function readTags(values: readonly string[]): string[] {
  return normalizeTags(values.flatMap((value) => value.split(/[\s,]+/)));
}

export function readExamples(values: readonly string[], warnings: Finding[]): Json[] {
  return values.flatMap((value) => {
    try {
      return [parseJson(value, '@example')];
    } catch (error) {
      warnings.push({
        message: (error as Error).message,
        hint: 'write the input as one JSON object: # @example {"name":"Ada"}',
      });
      return [];
    }
  });
}

export function readEnv(values: readonly string[], warnings: Finding[]): string[] {
  return values
    .map((value) => value.split(/\s+/)[0] ?? '')
    .filter((name) => {
      if (VARIABLE.test(name)) return true;
      warnings.push({
        message: `@env "${quoteOutside(name, 40)}" is not a variable name`,
        hint: 'write # @env NAME What it is for',
      });
      return false;
    });
}
