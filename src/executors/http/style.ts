// Turns values into text, as the styles of OpenAPI say.

import { ToolError } from '../../core/error.js';
import type { HttpParameter, HttpStyle } from '../../core/http.js';
import { isRecord, type Json } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';

/** Returns a value as a part of a path. */
export function formatSegment(parameter: HttpParameter, value: Json): string {
  const { name, style, explode } = parameter;
  const encode = encodeURIComponent;
  if (style === 'json') return encode(JSON.stringify(value));
  if (isEmpty(value)) throw invalidValue(parameter.property, 'is empty, which would lead to another path');
  if (style === 'matrix') {
    if (Array.isArray(value))
      return explode ? value.map((one) => `;${name}=${encode(textOf(one))}`).join('') : `;${name}=${list(value, ',')}`;
    if (isRecord(value))
      return explode
        ? pairs(value)
            .map(([key, one]) => `;${encode(key)}=${encode(one)}`)
            .join('')
        : `;${name}=${flat(value)}`;
    return `;${name}=${encode(textOf(value))}`;
  }
  const [start, separator] = style === 'label' ? ['.', explode ? '.' : ','] : ['', separatorOf(style)];
  if (Array.isArray(value)) return start + list(value, separator);
  if (isRecord(value))
    return (
      start +
      (explode
        ? pairs(value)
            .map(([key, one]) => `${encode(key)}=${encode(one)}`)
            .join(separator)
        : flat(value))
    );
  return start + encode(textOf(value));
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
    if (!explode) return [pair(value.map((one) => encode(textOf(one))).join(separatorOf(style)))];
    return value.map((one) => pair(encode(textOf(one))));
  }
  if (isRecord(value)) {
    if (style === 'deepObject') return deepPairs(key, value, encode);
    if (explode) return pairs(value).map(([one, text]) => `${encodeURIComponent(one)}=${encode(text)}`);
    const texts = pairs(value).flatMap(([one, text]) => [encodeURIComponent(one), encode(text)]);
    return [pair(texts.join(separatorOf(style)))];
  }
  return [pair(encode(textOf(value)))];
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
    return [`${inner}=${encode(textOf(one as Json))}`];
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
    return [`${key}%5B%5D=${encode(textOf(one as Json))}`];
  });
}

// RFC 3986: reserved characters are kept, but not those that would end the query or start another parameter.
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B|3D)/g, decodeURIComponent);
}

/** Returns a value as the text of a header. */
export function headerText({ property, style, explode }: HttpParameter, value: Json): string {
  const text =
    style === 'json'
      ? JSON.stringify(value)
      : Array.isArray(value)
        ? value.map(textOf).join(decodeURIComponent(separatorOf(style)))
        : isRecord(value)
          ? pairs(value)
              .map((entry) => entry.join(explode ? '=' : ','))
              .join(',')
          : textOf(value);
  if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(text))
    throw invalidValue(property, 'has a character that a header cannot have');
  return text;
}

function list(values: readonly Json[], separator: string): string {
  return values.map((one) => encodeURIComponent(textOf(one))).join(separator);
}

function flat(value: Readonly<Record<string, unknown>>): string {
  return pairs(value).flat().map(encodeURIComponent).join(',');
}

function pairs(value: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(value).flatMap(([name, one]) =>
    one === null || one === undefined ? [] : [[name, textOf(one as Json)]],
  );
}

export function textOf(value: Json): string {
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The error of a value that cannot be sent in its place. */
export function invalidValue(property: string, fault: string): ToolError {
  return new ToolError('invalid_input', `${quoteOutside(property, 60)} ${fault}`, {
    hint: 'send another value',
    data: { param: property },
  });
}
