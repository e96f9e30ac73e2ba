// Describes the constraints of a schema in words: ranges, formats and patterns.

import type { SchemaNode } from './schema.js';
import { count } from './text.js';

// Formats of JSON Schema and OpenAPI.
const STANDARD: Readonly<Record<string, string>> = {
  email: 'an email address',
  'idn-email': 'an email address',
  date: 'a date such as 2026-01-31',
  time: 'a time such as 09:30:00Z',
  'date-time': 'a date and time such as 2026-01-31T09:30:00Z',
  duration: 'a duration such as PT15M',
  uri: 'a URI such as https://example.com',
  iri: 'a URI such as https://example.com',
  url: 'a URL such as https://example.com',
  'uri-reference': 'a URI or a path',
  'uri-template': 'a URI template such as /users/{id}',
  uuid: 'a UUID',
  hostname: 'a host name',
  'idn-hostname': 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  byte: 'Base64 text',
  regex: 'a regular expression',
  'json-pointer': 'a JSON Pointer such as /users/0',
};

// Formats of zod, which writes the pattern of each too.
const OF_LIBRARY: Readonly<Record<string, string>> = {
  guid: 'a UUID',
  ulid: 'a ULID',
  cuid: 'a CUID',
  cuid2: 'a CUID',
  nanoid: 'a Nano ID',
  xid: 'an XID',
  ksuid: 'a KSUID',
  cidrv4: 'an IPv4 range such as 192.0.2.0/24',
  cidrv6: 'an IPv6 range such as 2001:db8::/32',
  mac: 'a MAC address',
  e164: 'a phone number such as +442079460123',
  base64: 'Base64 text',
  base64url: 'Base64url text',
  jwt: 'a JSON Web Token',
  json_string: 'JSON text',
  hex: 'hexadecimal text',
  emoji: 'emoji',
  lowercase: 'text without capital letters',
  uppercase: 'text without small letters',
};

const FORMATS = { ...STANDARD, ...OF_LIBRARY };

// Longer patterns are written by libraries.
const MAX_PATTERN = 40;

/** Returns what a format expects, such as `an email address`; undefined if it is unknown. */
export function describeFormat(format: unknown): string | undefined {
  return typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
}

// A time without an offset, which no format of JSON Schema is: zod writes only the pattern of its `iso.time()`.
const LOCAL_TIME =
  /^\^\(\?:\[01\]\\d\|2\[0-3\]\):\[0-5\]\\d(?:(\(\?::\[0-5\]\\d\(\?:\\\.\\d\+\)\?\)\?)|(:\[0-5\]\\d)(?:\\\.\\d\{(\d)\})?)?\$$/;

function describeLocalTime(pattern: string): string | undefined {
  const [found, , seconds, digits] = LOCAL_TIME.exec(pattern) ?? [];
  if (found === undefined) return undefined;
  const fraction = digits === undefined ? '' : `.${'0'.repeat(Number(digits))}`;
  return `a time such as 09:30${seconds === undefined ? '' : `:00${fraction}`}`;
}

/** Returns what a pattern expects; one that a library writes for a format is not shown. */
export function describePattern(pattern: string, format: unknown): string {
  const known = describeFormat(format);
  if (known === undefined) return describeLocalTime(pattern) ?? `text that matches ${pattern}`;
  return isOfFormat(pattern, format) ? known : `${known} that matches ${pattern}`;
}

// Whether a pattern only repeats what the format says.
function isOfFormat(pattern: string, format: unknown): boolean {
  return (
    Object.hasOwn(OF_LIBRARY, String(format)) || (describeFormat(format) !== undefined && pattern.length > MAX_PATTERN)
  );
}

/** Returns the constraints of a node, one sentence each: `1 to 10`, `at least 1 item`, `an email address`. */
export function describeConstraints(node: SchemaNode): string[] {
  const { pattern, format, multipleOf, uniqueItems } = node;
  return [
    rangeText(node, 'imum'),
    exclusiveText(node.exclusiveMinimum, 'more than'),
    exclusiveText(node.exclusiveMaximum, 'less than'),
    typeof multipleOf === 'number' ? `a multiple of ${multipleOf}` : '',
    node.minLength === 1 && node.maxLength === undefined ? 'not empty' : rangeText(node, 'Length', 'character'),
    rangeText(node, 'Items', 'item'),
    uniqueItems === true ? 'no item twice' : '',
    rangeText(node, 'Properties', 'property'),
    describeFormat(format) ?? '',
    typeof pattern === 'string' && !isOfFormat(pattern, format)
      ? (describeLocalTime(pattern) ?? `matches ${shorten(pattern)}`)
      : '',
  ].filter((text) => text !== '');
}

function shorten(pattern: string): string {
  return pattern.length > MAX_PATTERN ? 'a pattern' : pattern;
}

// Libraries write the range of a type for every number of it.
const TYPE_LIMITS = new Set([-(2 ** 31), 2 ** 31 - 1, 2 ** 32 - 1]);

function isChosen(bound: unknown): bound is number {
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER && !TYPE_LIMITS.has(bound);
}

function exclusiveText(bound: unknown, text: string): string {
  return isChosen(bound) ? `${text} ${bound}` : '';
}

function rangeText(node: SchemaNode, what: string, unit?: string): string {
  const [least, most] = [node[`min${what}`], node[`max${what}`]];
  const of = (bound: number): string => (unit === undefined ? String(bound) : count(bound, unit).replace('ys', 'ies'));
  if (isChosen(least) && isChosen(most)) return least === most ? `exactly ${of(most)}` : `${least} to ${of(most)}`;
  if (isChosen(least)) return `at least ${of(least)}`;
  return isChosen(most) ? `at most ${of(most)}` : '';
}
