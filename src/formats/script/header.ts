// Reads the comment header of a script: pure, text in, declarations and complaints out.

import { type Json, parseJson } from '../../core/json.js';
import { normalizeTags, variableName } from '../../core/name.js';
import { parseDuration, quoteOutside } from '../../core/text.js';

/** How many physical lines the header may take, the shebang's included (SCR-3). */
export const HEADER_LINES = 80;

export type ParameterType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

export interface HeaderParameter {
  readonly name: string;
  readonly type: ParameterType;
  readonly required: boolean;
  readonly description: string;
}

export interface ScriptHeader {
  /** The interpreter line without `#!`. */
  readonly shebang: string;
  readonly description: string;
  readonly parameters: readonly HeaderParameter[];
  readonly returns?: { readonly type: ParameterType; readonly description: string };
  readonly group?: string;
  readonly tags: readonly string[];
  readonly timeoutMs?: number;
  readonly flags: ReadonlySet<HeaderFlag>;
  readonly examples: readonly Json[];
  readonly needs: readonly string[];
  readonly sandbox?: string;
}

export type HeaderFlag = 'readonly' | 'destructive' | 'terminal' | 'hidden';

/** Something wrong with a header, with what to do about it. */
export interface Complaint {
  readonly message: string;
  readonly hint: string;
  /** The command that mends it, to be ended with the file's path. */
  readonly command?: string;
}

export interface HeaderReading {
  /** Absent where an error keeps the script from being a tool. */
  readonly header?: ScriptHeader;
  readonly errors: readonly Complaint[];
  readonly warnings: readonly Complaint[];
  /** Tags that nobody here knows, for the debug log (SCR-5). */
  readonly unknownTags: readonly string[];
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
const FLAGS: ReadonlySet<string> = new Set<HeaderFlag>(['readonly', 'destructive', 'terminal', 'hidden']);
const ALIASES: Readonly<Record<string, string>> = { desc: 'description', arg: 'param' };
const KNOWN = new Set([
  'description',
  'param',
  'group',
  'tag',
  'timeout',
  'returns',
  'example',
  'env',
  'sandbox',
  ...FLAGS,
]);
const COMMENT = /^(?:#|\/\/|--)\s?(.*)$/s;
const TAG = /^@([A-Za-z][\w-]*)(?:\s+(.*))?$/s;
const PARAMETER_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Reads the first lines of a script, given as text with or without everything that follows the header. */
export function readScriptHeader(text: string): HeaderReading {
  const shebang = readShebang(text);
  if ('message' in shebang) return { errors: [shebang], warnings: [], unknownTags: [] };
  const errors: Complaint[] = [];
  const warnings: Complaint[] = [];
  const unknownTags: string[] = [];
  const values = collectTags(text, unknownTags);

  const description = (values.get('description') ?? []).join('\n').trim();
  if (description === '') {
    errors.push({
      message: 'missing @description',
      hint: 'add a line below the shebang: # @description What it does, in a sentence.',
    });
  }
  const parameters = readParameters(values.get('param') ?? [], errors, warnings);
  const timeoutMs = readTimeout(values.get('timeout'), warnings);
  const returns = readReturns(values.get('returns'), warnings);
  const needs = readNeeds(values.get('env') ?? [], warnings);
  const group = values.get('group')?.[0]?.trim();
  const sandbox = values.get('sandbox')?.[0]?.trim();
  if (errors.length > 0) return { errors, warnings, unknownTags };
  return {
    header: {
      shebang: shebang.line,
      description,
      parameters,
      ...(returns === undefined ? {} : { returns }),
      ...(group ? { group } : {}),
      tags: readTags(values.get('tag') ?? []),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      flags: new Set([...FLAGS].filter((flag) => values.has(flag)) as HeaderFlag[]),
      examples: readExamples(values.get('example') ?? [], warnings),
      needs,
      ...(sandbox === undefined || sandbox === 'none' ? {} : { sandbox: sandbox || 'unnamed' }),
    },
    errors,
    warnings,
    unknownTags,
  };
}

function readShebang(text: string): { readonly line: string } | Complaint {
  if (text.startsWith('\ufeff')) {
    return {
      message:
        'begins with a byte-order mark (EF BB BF) before the shebang, so the system would run it in sh',
      hint: 'remove the mark',
      command: "sed -i '1s/^\\xEF\\xBB\\xBF//'",
    };
  }
  const line = /^[^\n]*/.exec(text)![0];
  if (!line.startsWith('#!') || line.slice(2).trim() === '') {
    return {
      message: 'does not begin with a shebang, so the system cannot tell what runs it',
      hint: 'add a first line such as #!/usr/bin/env bash',
    };
  }
  if (line.endsWith('\r')) {
    return {
      message:
        'has a shebang that ends in a carriage return (0D), so the system would look for an interpreter of that name',
      hint: 'save it with Unix line ends',
      command: "sed -i 's/\\r$//'",
    };
  }
  return { line: line.slice(2).trim() };
}

// Tags in header order; a tag's values are its occurrences, continuation lines joined in (SCR-4).
function collectTags(text: string, unknownTags: string[]): Map<string, string[]> {
  const values = new Map<string, string[]>();
  let current: { tag: string; values: string[] } | undefined;
  const lines = text.split(/\r?\n/, HEADER_LINES);
  for (let number = 1; number < lines.length; number++) {
    const line = lines[number]!.trim();
    if (line === '') {
      // The header goes on below a blank line, a tag's text does not: what follows is often about the code.
      current = undefined;
      continue;
    }
    const comment = COMMENT.exec(line);
    if (!comment) break;
    const content = comment[1]!.trim();
    const tag = TAG.exec(content);
    if (tag) {
      const lower = tag[1]!.toLowerCase();
      const name = ALIASES[lower] ?? lower;
      if (!KNOWN.has(name)) {
        unknownTags.push(tag[1]!);
        current = undefined;
        continue;
      }
      const list = values.get(name) ?? [];
      list.push(tag[2]?.trim() ?? '');
      values.set(name, list);
      current = { tag: name, values: list };
    } else if (current) {
      continueTag(current.tag, current.values, content);
    }
  }
  return values;
}

function continueTag(tag: string, values: string[], content: string): void {
  const last = values.length - 1;
  if (tag === 'description') values[last] += `\n${content}`;
  else if (tag === 'param' || tag === 'returns' || tag === 'example') values[last] += ` ${content}`;
}

function readParameters(
  declarations: readonly string[],
  errors: Complaint[],
  warnings: Complaint[],
): HeaderParameter[] {
  const parameters: HeaderParameter[] = [];
  const variables = new Map<string, string>();
  for (const declaration of declarations) {
    const [first = '', typeWord, ...rest] = declaration.split(/\s+/);
    const required = first.startsWith('*');
    const name = required ? first.slice(1) : first;
    if (name === '') {
      warnings.push({
        message: 'has an @param without a name, which declares nothing',
        hint: 'write # @param NAME TYPE Description, with * before the name of a required one',
      });
      continue;
    }
    // No input can hold a key __proto__ (RUN-5), so such a parameter could never be given.
    if (!PARAMETER_NAME.test(name) || name === '__proto__') {
      errors.push({
        message: `@param name "${quoteOutside(name, 60)}" is not allowed`,
        hint: 'begin it with a letter or _, and go on with letters, digits, _ and -',
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
              message: `@param ${other} and ${name} would both be given as ${variable}`,
              hint: 'rename one of them',
            },
      );
      continue;
    }
    variables.set(variable, name);
    parameters.push({
      name,
      required,
      type: readType(name, typeWord, warnings),
      description: rest.join(' '),
    });
  }
  return parameters;
}

function readType(name: string, word: string | undefined, warnings: Complaint[]): ParameterType {
  if (word === undefined || word === '') return 'string';
  const type = Object.hasOwn(TYPES, word.toLowerCase()) ? TYPES[word.toLowerCase()] : undefined;
  if (type !== undefined) return type;
  warnings.push({
    message: `@param ${name} has the unknown type "${quoteOutside(word, 40)}", taken as string`,
    hint: `if that word belongs to the description, write: @param ${name} string ${quoteOutside(word, 40)} …`,
  });
  return 'string';
}

function readTimeout(values: readonly string[] | undefined, warnings: Complaint[]): number | undefined {
  const text = values?.[0];
  if (text === undefined) return undefined;
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    warnings.push({
      message: `@timeout "${quoteOutside(text, 40)}" is not a duration, so the default limit holds`,
      hint: 'write it as 500ms, 30s, 5m or 1h',
    });
  }
  return milliseconds;
}

function readReturns(
  values: readonly string[] | undefined,
  warnings: Complaint[],
): { type: ParameterType; description: string } | undefined {
  const text = values?.[0]?.trim();
  if (!text) return undefined;
  const [word = '', ...rest] = text.split(/\s+/);
  const type = Object.hasOwn(TYPES, word.toLowerCase()) ? TYPES[word.toLowerCase()] : undefined;
  if (type === undefined) {
    warnings.push({
      message: `@returns has the unknown type "${quoteOutside(word, 40)}", so output is not checked`,
      hint: `write @returns TYPE Description, TYPE being one of string, number, integer, boolean, array, object`,
    });
    return undefined;
  }
  return { type, description: rest.join(' ') };
}

// Reserved ones are taken away where tools of all formats meet (RES-31).
function readTags(values: readonly string[]): string[] {
  return normalizeTags(values.flatMap((value) => value.split(/[\s,]+/)));
}

function readExamples(values: readonly string[], warnings: Complaint[]): Json[] {
  const examples: Json[] = [];
  for (const value of values) {
    try {
      examples.push(parseJson(value, '@example'));
    } catch (error) {
      warnings.push({
        message: (error as Error).message,
        hint: 'write the input as one JSON object: # @example {"name":"Ada"}',
      });
    }
  }
  return examples;
}

function readNeeds(values: readonly string[], warnings: Complaint[]): string[] {
  const names = values.map((value) => value.split(/\s+/)[0] ?? '');
  return names.filter((name) => {
    if (VARIABLE.test(name)) return true;
    warnings.push({
      message: `@env "${quoteOutside(name, 40)}" is not the name of a variable`,
      hint: 'write # @env NAME What it is for',
    });
    return false;
  });
}
