// Builds the request of an operation from its input: address, headers and body.

import { ToolError } from '../../core/error.js';
import type { HttpAction, HttpBody, HttpField, HttpParameter, HttpStyle } from '../../core/http.js';
import { isRecord, type Json } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';

type Input = Readonly<Record<string, Json>>;

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: { readonly text: string } | { readonly base64: string };
}

/** Builds a request. Throws `invalid_input` for a value that cannot be sent in its place. */
export function buildRequest(action: HttpAction, server: string, input: Input): HttpRequest {
  const given = action.parameters.flatMap((parameter) => {
    const value = Object.hasOwn(input, parameter.property) ? input[parameter.property] : undefined;
    return value === undefined || value === null ? [] : [{ parameter, value }];
  });
  const of = (place: HttpParameter['in']) => given.filter(({ parameter }) => parameter.in === place);
  const path = action.path.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const found = of('path').find(({ parameter }) => parameter.name === name);
    return found === undefined ? whole : formatSegment(found.parameter, found.value);
  });
  assertPath(path, action);
  const query = of('query').flatMap(({ parameter, value }) => toPairs(parameter.name, value, parameter));
  const headers: Record<string, string> = { accept: action.accept };
  for (const { parameter, value } of of('header')) headers[parameter.name.toLowerCase()] = headerText(parameter, value);
  const cookies = of('cookie').flatMap(({ parameter, value }) => toPairs(parameter.name, value, parameter));
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  const body = action.body && buildBody(action.body, input);
  if (body !== undefined) headers['content-type'] = body.contentType;
  const url = server + path + (query.length === 0 ? '' : `?${query.join('&')}`);
  return { url, headers, ...(body === undefined ? {} : { body: body.body }) };
}

// `..` would leave the path that was declared, also in encoded form.
function assertPath(path: string, { parameters }: HttpAction): void {
  if (!path.split('/').some((step) => /^(?:\.|%2e){1,2}$/i.test(step))) return;
  const names = parameters.filter((one) => one.in === 'path').map(({ property }) => property);
  throw invalidValue(names.join(', '), 'is "." or "..", which would lead to another path');
}

function formatSegment(parameter: HttpParameter, value: Json): string {
  const { name, style, explode } = parameter;
  const encode = encodeURIComponent;
  if (style === 'json') return encode(JSON.stringify(value));
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
  const [start, separator] = style === 'label' ? ['.', explode ? '.' : ','] : ['', ','];
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
  const text = textOf(value);
  if (text === '') throw invalidValue(parameter.property, 'is empty, which would lead to another path');
  return start + encode(text);
}

/** Returns `name=value` pairs for a query, a cookie or a form. */
function toPairs(name: string, value: Json, { style, explode, allowReserved }: HttpStyle): string[] {
  const encode = allowReserved ? encodeReserved : encodeURIComponent;
  const key = encodeURIComponent(name);
  const pair = (text: string): string => `${key}=${text}`;
  if (style === 'json') return [pair(encode(JSON.stringify(value)))];
  if (Array.isArray(value)) {
    if (style === 'spaceDelimited' && !explode) return [pair(value.map((one) => encode(textOf(one))).join('%20'))];
    if (style === 'pipeDelimited' && !explode) return [pair(value.map((one) => encode(textOf(one))).join('|'))];
    if (!explode) return [pair(value.map((one) => encode(textOf(one))).join(','))];
    return value.map((one) => pair(encode(textOf(one))));
  }
  if (isRecord(value)) {
    if (style === 'deepObject') return deepPairs(key, value, encode);
    if (explode) return pairs(value).map(([one, text]) => `${encodeURIComponent(one)}=${encode(text)}`);
    const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '|' : ',';
    return [
      pair(
        pairs(value)
          .flatMap(([one, text]) => [encodeURIComponent(one), encode(text)])
          .join(separator),
      ),
    ];
  }
  return [pair(encode(textOf(value)))];
}

function deepPairs(key: string, value: Readonly<Record<string, unknown>>, encode: (text: string) => string): string[] {
  return Object.entries(value).flatMap(([name, one]) => {
    const inner = `${key}%5B${encodeURIComponent(name)}%5D`;
    if (one === null || one === undefined) return [];
    if (isRecord(one)) return deepPairs(inner, one, encode);
    if (Array.isArray(one)) return one.map((each) => `${inner}%5B%5D=${encode(textOf(each as Json))}`);
    return [`${inner}=${encode(textOf(one as Json))}`];
  });
}

// RFC 3986: reserved characters are kept, but not those that would end the query or start another parameter.
function encodeReserved(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B|3D)/g, decodeURIComponent);
}

function headerText({ property, style, explode }: HttpParameter, value: Json): string {
  const text =
    style === 'json'
      ? JSON.stringify(value)
      : Array.isArray(value)
        ? value.map(textOf).join(',')
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

function textOf(value: Json): string {
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface BuiltBody {
  readonly contentType: string;
  readonly body: NonNullable<HttpRequest['body']>;
}

function buildBody(body: HttpBody, input: Input): BuiltBody | undefined {
  const { contentType, kind, property } = body;
  const given = body.fields.flatMap((field) => {
    const value = Object.hasOwn(input, field.property) ? input[field.property] : undefined;
    return value === undefined ? [] : [{ field, value }];
  });
  const whole = property === undefined ? undefined : input[property];
  if (property === undefined ? given.length === 0 : whole === undefined) return undefined;
  const fields =
    property === undefined
      ? given
      : Object.entries(isRecord(whole) ? (whole as Input) : {}).map(([name, value]) => ({
          field: { name, property } as HttpField,
          value,
        }));
  switch (kind) {
    case 'json': {
      const value =
        property === undefined ? Object.fromEntries(given.map(({ field, value: one }) => [field.name, one])) : whole;
      return {
        contentType: contentType === '*/*' ? 'application/json' : contentType,
        body: { text: JSON.stringify(value) },
      };
    }
    case 'form': {
      const sent = fields.filter(({ value }) => value !== null);
      const text = sent.flatMap(({ field, value }) =>
        toPairs(field.name, value, { style: field.style ?? 'form', explode: field.explode ?? true }),
      );
      return { contentType, body: { text: text.join('&') } };
    }
    case 'multipart':
      return buildMultipart(contentType, fields);
    case 'text':
      return { contentType, body: { text: textOf(whole!) } };
    case 'binary':
      return {
        contentType: contentType === '*/*' ? 'application/octet-stream' : contentType,
        body: { base64: readBase64(property!, whole!).toString('base64') },
      };
  }
}

// The boundary depends on the parts, so that the same call has the same plan.
function buildMultipart(
  contentType: string,
  fields: readonly { readonly field: HttpField; readonly value: Json }[],
): BuiltBody {
  const parts = fields.flatMap(({ field, value }) =>
    (Array.isArray(value) ? value : [value]).filter((one) => one !== null).map((one) => toPart(field, one)),
  );
  const { createHash } = process.getBuiltinModule('node:crypto');
  const hash = createHash('sha256');
  for (const { bytes } of parts) hash.update(bytes);
  const boundary = `wield-${hash.digest('hex').slice(0, 32)}`;
  const lines = parts.flatMap(({ head, bytes }) => [
    Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
  const whole = Buffer.concat([...lines, Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `${contentType}; boundary=${boundary}`, body: { base64: whole.toString('base64') } };
}

function toPart(field: HttpField, value: Json): { readonly head: string; readonly bytes: Buffer } {
  const name = field.name.replace(/["\r\n]/g, (char) => encodeURIComponent(char));
  const isJson = typeof value === 'object';
  const type =
    field.contentType?.split(',')[0] ??
    (field.binary ? 'application/octet-stream' : isJson ? 'application/json' : undefined);
  const file = field.binary ? `; filename="${name}"` : '';
  const head = `Content-Disposition: form-data; name="${name}"${file}${type === undefined ? '' : `\r\nContent-Type: ${type}`}`;
  return { head, bytes: field.binary ? readBase64(field.property, value) : Buffer.from(textOf(value)) };
}

function readBase64(property: string, value: Json): Buffer {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
    throw invalidValue(property, 'is not base64');
  return Buffer.from(value, 'base64');
}

function invalidValue(property: string, fault: string): ToolError {
  return new ToolError('invalid_input', `${quoteOutside(property, 60)} ${fault}`, {
    hint: 'send another value',
    data: { param: property },
  });
}
