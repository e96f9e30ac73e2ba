// Parameters that are repeated in HTTP headers: `x-mcp-header` in an input schema, and their values in a request.

import { orNothing } from '../core/error.js';
import { isRecord, type Json } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';

/** A parameter that a request over HTTP repeats as `Mcp-Param-<name>`. */
export interface ParamHeader {
  /** Property names from the root of the input. */
  readonly path: readonly string[];
  readonly name: string;
  readonly isNumber: boolean;
}

const KEY = 'x-mcp-header';
// A token of RFC 9110.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
// Keywords whose values are data, not schemas.
const DATA: readonly string[] = ['const', 'enum', 'default', 'examples'];

/** Returns the declared headers of an input schema. Throws an Error that says which declaration is invalid. */
export function readParamHeaders(schema: JsonSchema): readonly ParamHeader[] {
  // Most schemas have none.
  if (!JSON.stringify(schema).includes(`"${KEY}"`)) return [];
  const found: ParamHeader[] = [];
  const visit = (node: unknown, path: readonly string[], isReachable: boolean): void => {
    if (Array.isArray(node)) {
      for (const entry of node) visit(entry, path, false);
      return;
    }
    if (!isRecord(node)) return;
    if (Object.hasOwn(node, KEY)) found.push(readDeclaration(node, path, isReachable, found));
    for (const [keyword, value] of Object.entries(node)) {
      if (keyword === 'properties' && isRecord(value))
        for (const [name, property] of Object.entries(value)) visit(property, [...path, name], isReachable);
      else if (isNamed(keyword) && isRecord(value)) for (const child of Object.values(value)) visit(child, path, false);
      else if (!DATA.includes(keyword)) visit(value, path, false);
    }
  };
  visit(schema, [], true);
  return found;
}

// Keywords whose keys are names.
function isNamed(keyword: string): boolean {
  return ['patternProperties', 'dependentSchemas', '$defs', 'definitions'].includes(keyword);
}

function readDeclaration(
  { [KEY]: name, type }: Readonly<Record<string, unknown>>,
  path: readonly string[],
  isReachable: boolean,
  others: readonly ParamHeader[],
): ParamHeader {
  const at = path.length === 0 ? 'the root' : path.join('.');
  if (!isReachable || path.length === 0) throw new Error(`${KEY} at ${at} is not on a property that every input has`);
  if (typeof name !== 'string' || !TOKEN.test(name)) throw new Error(`${KEY} of ${at} is not a header name`);
  if (!TYPES.includes(type)) throw new Error(`${KEY} of ${at} needs the type string, integer or boolean`);
  if (others.some((other) => other.name.toLowerCase() === name.toLowerCase()))
    throw new Error(`${KEY} of ${at} is declared twice: ${name}`);
  return { path, name, isNumber: type === 'integer' };
}

/** Returns what is wrong with the headers of a request, if anything. */
export function findHeaderMismatch(
  declared: readonly ParamHeader[],
  input: unknown,
  headerOf: (name: string) => string | null,
): { readonly header: string; readonly problem: string } | undefined {
  for (const { path, name, isNumber } of declared) {
    const value = valueAt(input, path);
    if (value === undefined || value === null || typeof value === 'object') continue;
    const header = `Mcp-Param-${name}`;
    const sent = headerOf(header);
    if (sent === null) return { header, problem: `the header ${header} is missing` };
    const decoded = decodeHeader(sent);
    if (decoded === undefined) return { header, problem: `the header ${header} is not valid Base64` };
    const isEqual =
      isNumber && /^-?\d+(?:\.\d+)?$/.test(decoded) ? Number(decoded) === value : decoded === String(value);
    if (!isEqual) return { header, problem: `the header ${header} differs from ${path.join('.')} in the body` };
  }
  return undefined;
}

export function toParamHeaders(declared: readonly ParamHeader[], input: unknown): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const { path, name } of declared) {
    const value = valueAt(input, path);
    const isExact = typeof value === 'number' && (!Number.isInteger(value) || Number.isSafeInteger(value));
    if (isExact || typeof value === 'string' || typeof value === 'boolean')
      headers[`Mcp-Param-${name}`] = encode(String(value));
  }
  return headers;
}

function valueAt(input: unknown, path: readonly string[]): Json | undefined {
  return path.reduce<unknown>((node, key) => (isRecord(node) ? node[key] : undefined), input) as Json | undefined;
}

// What HTTP would change, and what looks encoded, is encoded.
function encode(text: string): string {
  if (/^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Decodes the value of a header; undefined if it is marked as Base64 and is not. */
export function decodeHeader(sent: string): string | undefined {
  if (!sent.startsWith('=?base64?') || !sent.endsWith('?=')) return sent;
  const base64 = ENCODED.exec(sent)?.[1];
  if (base64 === undefined) return undefined;
  return orNothing(() => new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64')));
}
