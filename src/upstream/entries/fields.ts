// Readers for the fields of a server entry: strings with references, tables, selectors, durations and switches.

import { isToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { isForRules, parseSelectors } from '../../core/selector.js';
import { parseDuration, quoteOutside } from '../../core/text.js';
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../../core/upstream.js';
import { parseServerValue } from './value.js';

export type Fields = Readonly<Record<string, unknown>>;

/** Reports a finding; `keyPath` leads from the entry to the field. */
export type Report = (keyPath: readonly string[], message: string, hint: string) => void;

/** The fields of an entry, and where errors go. An invalid field is reported and omitted. */
export interface FieldSource {
  readonly fields: Fields;
  readonly error: Report;
}

export function readString(source: FieldSource, key: string): string | undefined {
  const value = fieldOf(source, key);
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value.trim() === '') {
    source.error([key], 'is empty', 'write a value or remove the field');
    return undefined;
  }
  return checkString(source, value, [key]);
}

export function readStrings(source: FieldSource, key: string): string[] {
  const list = fieldOf(source, key) ?? [];
  if (!Array.isArray(list)) {
    source.error([key], 'must be an array of strings', `write "${key}": ["…"]`);
    return [];
  }
  return list.flatMap((value: unknown, at) => checkString(source, value, [key, String(at)]) ?? []);
}

/** Reads an object of strings; `findFault` returns what is wrong with a name. */
export function readTable(
  source: FieldSource,
  key: string,
  findFault: (name: string) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tableOf(source, key) ?? {}).flatMap(([name, value]) => {
      const fault = findFault(name);
      if (fault !== undefined) source.error([key, name], fault, 'rename or remove it');
      const text = checkString(source, value, [key, name]);
      return fault === undefined && text !== undefined ? [[name, text]] : [];
    }),
  );
}

export function readSelectors(source: FieldSource, key: 'allow' | 'deny'): readonly string[] | undefined {
  const value = fieldOf(source, key);
  if (value === undefined) return undefined;
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list) || list.some((text) => typeof text !== 'string')) {
    source.error([key], 'must be selectors, as a string or an array of strings', 'write "get_* list_*"');
    return undefined;
  }
  const fault = findSelectorFault(list as string[]);
  if (fault !== undefined) source.error([key], fault, 'write names of its tools, such as "get_* list_*"');
  return list as string[];
}

/** Reads a duration in milliseconds. */
export function readDuration(source: FieldSource, key: string): number | undefined {
  const value = fieldOf(source, key);
  if (value === undefined) return undefined;
  const duration = typeof value === 'string' || typeof value === 'number' ? parseDuration(String(value)) : undefined;
  if (duration === undefined) source.error([key], 'must be a duration such as "30s"', 'a bare number is in seconds');
  return duration;
}

export function readProtocol(source: FieldSource): ProtocolVersion | undefined {
  const value = fieldOf(source, 'protocol');
  const version = PROTOCOL_VERSIONS.find((one) => one === value);
  if (value !== undefined && version === undefined) {
    const known = PROTOCOL_VERSIONS.map((one) => `"${one}"`).join(' or ');
    source.error(['protocol'], `must be ${known}`, 'remove it to negotiate the version');
  }
  return version;
}

/** Reads `prefix`; true is the default. */
export function readPrefix(source: FieldSource): false | undefined {
  const value = fieldOf(source, 'prefix');
  if (value !== undefined && typeof value !== 'boolean')
    source.error(['prefix'], 'must be true or false', 'write false to keep the names of the server');
  return value === false ? false : undefined;
}

/** Reads `disabled`, or its opposite `enabled`. */
export function readDisabled(source: FieldSource): true | undefined {
  const states = (['disabled', 'enabled'] as const).flatMap((key) => {
    const flag = fieldOf(source, key);
    if (flag !== undefined && typeof flag !== 'boolean')
      source.error([key], 'must be true or false', 'write true or false');
    return typeof flag === 'boolean' ? [flag === (key === 'disabled')] : [];
  });
  if (states.includes(true) && states.includes(false))
    source.error(['enabled'], '"disabled" and "enabled" contradict each other', 'keep one of them');
  return states.includes(true) || undefined;
}

function fieldOf({ fields }: FieldSource, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

export function tableOf(source: FieldSource, key: string): Fields | undefined {
  const table = fieldOf(source, key);
  if (table === undefined || isRecord(table)) return table;
  source.error([key], 'must be an object of strings', `write "${key}": { "NAME": "value" }`);
  return undefined;
}

export function checkString(
  { error: report }: FieldSource,
  value: unknown,
  keyPath: readonly string[],
): string | undefined {
  if (typeof value !== 'string') {
    const isScalar = typeof value === 'number' || typeof value === 'boolean';
    report(keyPath, 'must be a string', isScalar ? 'put it in quotes' : 'write a string in quotes');
    return undefined;
  }
  if (value.includes('\u0000')) {
    report(keyPath, 'contains a NUL character', 'remove it');
    return undefined;
  }
  if (keyPath[0] === 'headers' && /[\u0001-\u0008\u000a-\u001f\u007f]/.test(value)) {
    report(keyPath, 'contains a control character, which a header cannot have', 'remove line breaks');
    return undefined;
  }
  try {
    parseServerValue(value, keyPath[0]!);
    return value;
  } catch (error) {
    if (!isToolError(error)) throw error;
    report(keyPath, error.message, error.hint ?? '');
    return undefined;
  }
}

// Selectors here choose which tools are offered; what may run is decided by rules.
function findSelectorFault(texts: readonly string[]): string | undefined {
  try {
    const selectors = parseSelectors(texts);
    const odd = selectors.find((one) => isForRules(one) || one.builtin || one.arguments.length > 0);
    if (odd === undefined) return undefined;
    return `contains "${quoteOutside(odd.text)}": arguments, directives and $names are for rules only`;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return `is not a valid selector: ${error.message}`;
  }
}
