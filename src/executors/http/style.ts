// Turns values into text, as the styles of OpenAPI say.

import { ToolError } from '../../core/error.js';
import type { HttpParameter, HttpStyle } from '../../core/http.js';
import { isRecord, type Json, showValue } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';

// What a value in a path begins with, and what separates its parts if they are exploded.
const MARKS: Partial<Record<HttpStyle['style'], string>> = { matrix: ';', label: '.' };

/** Returns a value as a part of a path. */
export function formatSegment({ name, property, style, explode }: HttpParameter, value: Json): string {
  const encode = encodeURIComponent;
  if (style === 'json') return encode(JSON.stringify(value));
  if (isEmpty(value)) throw invalidValue(property, 'is empty, which would lead to another path');
  const isMatrix = style === 'matrix';
  const named = (text: string): string => (isMatrix ? `${name}=${text}` : text);
  const mark = MARKS[style];
  const separator = (explode ? mark : undefined) ?? separatorOf(style);
  if (separator !== ',' && !isMatrix) assertItems(property, value, decodeURIComponent(separator));
  const format = (): string => {
    const items = itemsOf(value).map(encode);
    if (Array.isArray(value))
      return isMatrix && explode ? items.map(named).join(separator) : named(items.join(separator));
    if (!isRecord(value)) return named(encode(showValue(value)));
    const entries = pairs(value).map(([key, one]) => `${encode(key)}=${encode(one)}`);
    return explode ? entries.join(separator) : named(items.join(','));
  };
  return (mark ?? '') + format();
}

function isEmpty(value: Json): boolean {
  if (Array.isArray(value)) return value.every((one) => one === '');
  return isRecord(value) ? pairs(value).length === 0 : value === '';
}

/** Returns `name=value` pairs for a query, a cookie or a form. */
export function toPairs(name: string, value: Json, { style, explode, allowReserved }: HttpStyle): string[] {
  const encode = allowReserved ? encodeReserved : encodeURIComponent;
  const key = encodeURIComponent(name);
  const pair = (text: string): string => `${key}=${text}`;
  if (style === 'json') return [pair(encode(JSON.stringify(value)))];
  if (Array.isArray(value)) {
    // The specification has none for lists; servers that read it (Stripe, Rails, PHP, qs) read this.
    if (style === 'deepObject') return deepList(key, value, encode);
    if (!explode) return [pair(joinItems(name, value, style, encode))];
    return value.map((one) => pair(encode(showValue(one))));
  }
  if (isRecord(value)) {
    if (style === 'deepObject') return deepPairs(key, value, encode);
    if (explode) return pairs(value).map(([one, text]) => `${encodeURIComponent(one)}=${encode(text)}`);
    return [pair(joinItems(name, value as Json, style, encode))];
  }
  return [pair(encode(showValue(value)))];
}

// A comma that is encoded belongs to an item; other separators are encoded themselves, or never.
function joinItems(name: string, value: Json, style: HttpStyle['style'], encode: (text: string) => string): string {
  const separator = separatorOf(style);
  if (separator !== ',') assertItems(name, value, decodeURIComponent(separator));
  return itemsOf(value)
    .map((item) => encode(item).replaceAll(',', '%2C'))
    .join(separator);
}

function itemsOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.map(showValue) : isRecord(value) ? pairs(value).flat() : [];
}

// The server would see two items (OAS-3).
function assertItems(property: string, value: Json, separator: string): void {
  if (!itemsOf(value).some((item) => item.includes(separator))) return;
  const shown = separator === ' ' ? 'a blank' : separator === '\t' ? 'a tab' : `"${separator}"`;
  throw invalidValue(property, `has an item with ${shown}, which separates its items`);
}

const SEPARATORS: Partial<Record<HttpStyle['style'], string>> = {
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
  tabDelimited: '%09',
};

function separatorOf(style: HttpStyle['style']): string {
  return SEPARATORS[style] ?? ',';
}

function deepPairs(key: string, value: Readonly<Record<string, unknown>>, encode: (text: string) => string): string[] {
  return Object.entries(value).flatMap(([name, one]) => {
    const inner = `${key}%5B${encodeURIComponent(name)}%5D`;
    if (one === null || one === undefined) return [];
    if (isRecord(one)) return deepPairs(inner, one, encode);
    if (Array.isArray(one)) return deepList(inner, one, encode);
    return [`${inner}=${encode(showValue(one))}`];
  });
}

// Objects in a list need its index, or their fields could not be told apart.
function deepList(key: string, values: readonly unknown[], encode: (text: string) => string): string[] {
  return values.flatMap((one, at) => {
    if (isRecord(one)) {
      const fields = deepPairs(`${key}%5B${at}%5D`, one, encode);
      if (fields.length > 0) return fields;
      throw invalidValue(decodeURIComponent(key), `has an empty object at ${at}, which cannot be sent`);
    }
    if (Array.isArray(one)) return deepList(`${key}%5B${at}%5D`, one, encode);
    return [`${key}%5B%5D=${encode(showValue(one))}`];
  });
}

// RFC 3986: reserved characters are kept, but not those that would end the query or start another parameter.
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B|3D)/g, decodeURIComponent);
}

/** Returns a value as the text of a header; one that contains lists or objects is JSON. */
export function headerText({ property, style, explode }: HttpParameter, value: Json): string {
  const isNested = typeof value === 'object' && value !== null && Object.values(value).some(isNode);
  const separator = decodeURIComponent(separatorOf(style));
  if (style !== 'json' && !isNested) assertItems(property, value, separator);
  const text =
    style === 'json' || isNested
      ? JSON.stringify(value)
      : isRecord(value)
        ? pairs(value)
            .map((entry) => entry.join(explode ? '=' : ','))
            .join(',')
        : Array.isArray(value)
          ? itemsOf(value).join(separator)
          : showValue(value);
  if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(text))
    throw invalidValue(property, 'has a character that a header cannot have');
  return text;
}

function isNode(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function pairs(value: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(value).flatMap(([name, one]) =>
    one === null || one === undefined ? [] : [[name, showValue(one)]],
  );
}

/** The error of a value that cannot be sent in its place. */
export function invalidValue(property: string, fault: string): ToolError {
  return new ToolError('invalid_input', `${quoteOutside(property, 60)} ${fault}`, {
    hint: 'send another value',
    data: { param: property },
  });
}
