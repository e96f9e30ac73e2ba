// Parses the values of header tags: parameters, types, durations, examples and environment variables.

import { isProgramName } from '../../core/command.js';
import { type Json, parseJson } from '../../core/json.js';
import { normalizeTags, variableName } from '../../core/name.js';
import { type Finding, HIDDEN_CHARACTERS } from '../../core/problem.js';
import { isVersions, joinRequirements, type Requirements, VARIABLE } from '../../core/requirements.js';
import type { JsonSchema } from '../../core/schema.js';
import { parseDuration, quoteOutside, sanitize } from '../../core/text.js';
import type { TagValue } from './tags.js';
import { type ParameterType, type ParsedType, parseType } from './types.js';

export interface HeaderParameter {
  readonly name: string;
  readonly required: boolean;
  readonly type: ParameterType;
  /** Further keywords of its schema: choices, ranges, items and default. */
  readonly keywords?: JsonSchema;
  readonly description: string;
}

const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const MAX_NAME_LENGTH = 128;

export function readParameters(
  declarations: readonly TagValue[],
  errors: Finding[],
  warnings: Finding[],
): HeaderParameter[] {
  const parameters = new Map<string, HeaderParameter>();
  const variables = new Map<string, string>();
  for (const declaration of declarations) {
    const { text } = declaration;
    const first = /^\S*/.exec(text)![0];
    const required = first.startsWith('*');
    const name = required ? first.slice(1) : first;
    const finding = checkName(name);
    const isError = finding?.severity === 'error';
    if (finding !== undefined) add(isError ? errors : warnings, declaration, finding.message, finding.hint);
    if (name === '' || isError) continue;
    const variable = variableName(name);
    const other = variables.get(variable);
    if (other !== undefined && other !== name) {
      const message = `@param ${other} and ${name} would both be passed as ${variable}`;
      add(errors, declaration, message, 'rename one of them');
      continue;
    }
    if (other !== undefined) {
      const message = `@param ${quoteOutside(name, 60)} is declared twice, using the last`;
      add(warnings, declaration, message, 'remove the others');
    }
    variables.set(variable, name);
    const parameter = readDeclaration(name, required, declaration, first.length, errors, warnings);
    if (parameter !== undefined) parameters.set(name, parameter);
  }
  return [...parameters.values()];
}

// Adds what is wrong with a value, `offset` characters after its beginning.
function add(to: Finding[], { line, column }: TagValue, message: string, hint: string, offset = 0): void {
  to.push({ message, hint, line, column: column + offset });
}

function checkName(name: string): Finding | undefined {
  if (name === '') {
    return {
      message: '@param without a name is ignored',
      hint: 'write # @param NAME TYPE Description; put * before the name if it is required',
    };
  }
  const shown = quoteOutside(name, 60);
  // Input never contains a key __proto__ (RUN-5).
  if (name === '__proto__' || quoteOutside(name, MAX_NAME_LENGTH) !== name) {
    return {
      severity: 'error',
      message: `@param name "${shown}" is not allowed`,
      hint: 'start with a letter or _, then use letters, digits, _ and -',
    };
  }
  if (PARAMETER_NAME.test(name)) return undefined;
  return {
    message: `@param name "${shown}" is not a variable name, so it is passed as WIELD_PARAM_${variableName(name)}`,
    hint: 'start with a letter or _, then use letters, digits, _ and -',
  };
}

function readDeclaration(
  name: string,
  required: boolean,
  declaration: TagValue,
  start: number,
  errors: Finding[],
  warnings: Finding[],
): HeaderParameter | undefined {
  const after = declaration.text.slice(start);
  const rest = after.trimStart();
  const offset = start + after.length - rest.length;
  const parsed = rest === '' ? PLAIN_STRING : parseType(rest);
  if (parsed !== undefined && 'message' in parsed) {
    add(errors, declaration, `@param ${name}: ${parsed.message}`, parsed.hint, offset + parsed.offset);
    return undefined;
  }
  if (parsed === undefined) {
    const { message, hint } = unknownType(name, wordOf(rest));
    add(warnings, declaration, message, hint, offset);
  }
  const { type, keywords, length } = parsed ?? { ...PLAIN_STRING, length: wordOf(rest).length };
  if (required && 'default' in keywords) {
    const message = `@param ${name} is required, so its default is never used`;
    add(warnings, declaration, message, 'remove the * or the default', offset);
  }
  const description = cleanDescription(rest.slice(length), declaration, warnings).replace(/\s+/g, ' ');
  return { name, required, type, ...(Object.keys(keywords).length > 0 && { keywords }), description };
}

/** Removes invisible characters from a description, with a warning (ERR-7). */
export function cleanDescription(text: string, value: TagValue, warnings: Finding[]): string {
  const clean = sanitize(text);
  if (clean !== text) add(warnings, value, HIDDEN_CHARACTERS.message, HIDDEN_CHARACTERS.hint);
  return clean.trim();
}

const PLAIN_STRING: ParsedType = { type: 'string', keywords: {}, length: 0 };

function wordOf(text: string): string {
  return /^\S*/.exec(text)![0];
}

function unknownType(name: string, given: string): Finding {
  const named = `@param ${quoteOutside(name, 60)}`;
  const shown = quoteOutside(given, 40);
  return {
    message: `${named} has the unknown type "${shown}", using string`,
    hint:
      given.toLowerCase() === 'enum'
        ? `name the values: ${named} enum(fast|slow)`
        : `if this is part of the description, write: ${named} string ${shown} …`,
  };
}

export function readTimeout(value: TagValue | undefined, warnings: Finding[]): number | undefined {
  if (value === undefined) return undefined;
  const { text } = value;
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    const message = `@timeout "${quoteOutside(text, 40)}" is not a duration, using the default`;
    add(warnings, value, message, 'write it as 500ms, 30s, 5m or 1h');
  }
  return milliseconds;
}

/** Returns the schema that `@returns` describes. */
export function readReturns(value: TagValue | undefined, warnings: Finding[]): JsonSchema | undefined {
  const text = value?.text ?? '';
  if (value === undefined || text === '') return undefined;
  const parsed = parseType(text);
  if (parsed === undefined || 'message' in parsed) {
    const what =
      parsed === undefined ? `has the unknown type "${quoteOutside(wordOf(text), 40)}"` : `: ${parsed.message}`;
    const hint = 'write @returns TYPE Description; TYPE is string, number, integer, boolean, array or object';
    add(warnings, value, `@returns ${what}, so output is not checked`.replace(' :', ':'), hint, parsed?.offset);
    return undefined;
  }
  const { default: _, ...keywords } = parsed.keywords;
  const description = cleanDescription(text.slice(parsed.length), value, warnings).replace(/\s+/g, ' ');
  return { type: parsed.type, ...keywords, ...(description === '' ? {} : { description }) };
}

// Reserved tags are removed later, for tools of all formats (RES-31).
export function readTags(values: readonly TagValue[]): string[] {
  return normalizeTags(values.flatMap(({ text }) => text.split(/[\s,]+/)));
}

export function readExamples(values: readonly TagValue[], warnings: Finding[]): Json[] {
  return values.flatMap((value) => {
    try {
      return [parseJson(value.text, '@example')];
    } catch (error) {
      const hint = 'write the input as one JSON object: # @example {"name":"Ada"}';
      add(warnings, value, (error as Error).message, hint);
      return [];
    }
  });
}

export function readEnv(values: readonly TagValue[], warnings: Finding[]): string[] {
  return values.flatMap((value) => {
    const name = wordOf(value.text);
    if (VARIABLE.test(name)) return [name];
    const message = `@env "${quoteOutside(name, 40)}" is not a variable name`;
    add(warnings, value, message, 'write # @env NAME What it is for');
    return [];
  });
}

const REQUIRED = /^(?:(?:bins?:)?([^:<>=]+)|env:(.+)|(python|node)(?::|(?=[<>=]))(.*))$/;

/** Reads `@requires jq rg|grep env:TOKEN python>=3.10 node>=20`. */
export function readRequires(values: readonly TagValue[], warnings: Finding[]): Requirements | undefined {
  return joinRequirements(
    values.flatMap((value) => {
      // `python >= 3.10` is one requirement.
      const words = value.text.replace(/\s*([<>]=?|={1,2})\s*/g, '$1').split(/[\s,]+/);
      return words.filter((word) => word !== '').map((word) => readRequired(word, value, warnings));
    }),
  );
}

function readRequired(word: string, value: TagValue, warnings: Finding[]): Requirements | undefined {
  const [, bins = '', variable = '', language, versions = ''] = REQUIRED.exec(word) ?? [];
  const none: Requirements = { programs: [], env: [] };
  if (bins === 'python' || bins === 'node') return { ...none, [bins]: '' };
  if (bins !== '' && bins.split('|').every(isProgramName))
    return { ...none, programs: [bins.split('|').map((name) => [name])] };
  if (VARIABLE.test(variable)) return { ...none, env: [variable] };
  if (language !== undefined && isVersions(versions)) return { ...none, [language]: versions };
  const message = `@requires "${quoteOutside(word, 40)}" is not a requirement`;
  add(warnings, value, message, 'write # @requires jq env:TOKEN python>=3.10 node>=20');
  return undefined;
}
