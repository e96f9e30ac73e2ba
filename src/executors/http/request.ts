// Builds the request of an operation from its input: address, headers and body.

import type { HttpAction, HttpBody, HttpField, HttpParameter, HttpStyle } from '../../core/http.js';
import { isRecord, type Json, showValue } from '../../core/json.js';
import { formatSegment, headerText, invalidValue, toPairs } from './style.js';

/** Builds a request. Throws `invalid_input` for a value that cannot be sent in its place. */
export function buildRequest(
  action: HttpAction,
  server: string,
  input: Input,
  required: readonly string[],
): HttpRequest {
  const given = action.parameters.flatMap((parameter) => {
    const value = Object.hasOwn(input, parameter.property) ? input[parameter.property] : undefined;
    return value === undefined || value === null ? [] : [{ parameter, value }];
  });
  for (const { parameter, value } of given) assertWellFormed(parameter.property, value);
  const of = (location: HttpParameter['in']) => given.filter(({ parameter }) => parameter.in === location);
  const path = action.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = of('path').find(({ parameter }) => parameter.name === name);
    if (found === undefined) throw invalidValue(name, 'is missing, which would lead to another path');
    return formatSegment(found.parameter, found.value);
  });
  assertPath(path, action);
  const query = of('query').flatMap(({ parameter, value }) => toPairs(parameter.name, value, parameter));
  const headers: Record<string, string> = { accept: action.accept };
  for (const { parameter, value } of of('header')) headers[parameter.name.toLowerCase()] = headerText(parameter, value);
  const cookies = of('cookie').flatMap(({ parameter, value }) => toPairs(parameter.name, value, parameter));
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  for (const { property, in: location, name, ...style } of action.parameters)
    if (location !== 'path' && required.includes(property)) assertSent(property, input[property] ?? null, style);
  const body = action.body && buildBody(action.body, input, required);
  if (body !== undefined) headers['content-type'] = body.contentType;
  const url = server + path + (query.length === 0 ? '' : `${path.includes('?') ? '&' : '?'}${query.join('&')}`);
  return { url, headers, ...(body === undefined ? {} : { body: body.body }) };
}

// `..` would leave the path that was declared, also in encoded form: some servers decode a path before they follow it.
function assertPath(path: string, { parameters }: HttpAction): void {
  if (!path.split(/[/\\]|%2f|%5c/i).some((step) => /^(?:\.|%2e){1,2}$/i.test(step))) return;
  const names = parameters.filter((one) => one.in === 'path').map(({ property }) => property);
  throw invalidValue(names.join(', '), 'is "." or "..", which would lead to another path');
}

// A lone surrogate has no bytes: it could be sent as another character only.
function assertWellFormed(property: string, value: Json): void {
  if (typeof value === 'string' && /\p{Cs}/u.test(value)) throw invalidValue(property, 'is not valid Unicode');
  if (typeof value !== 'object' || value === null) return;
  for (const entry of Object.entries(value)) for (const one of entry) assertWellFormed(property, one as Json);
}

export type Input = Readonly<Record<string, Json>>;

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: { readonly text: string } | { readonly base64: string };
}

export interface BuiltBody {
  readonly contentType: string;
  readonly body: NonNullable<HttpRequest['body']>;
}

/** Builds a body; undefined if the input has nothing for it. */
function buildBody(body: HttpBody, input: Input, required: readonly string[]): BuiltBody | undefined {
  const { contentType, kind, property } = body;
  const given = body.fields.flatMap((field) => {
    const value = Object.hasOwn(input, field.property) ? input[field.property] : undefined;
    return value === undefined ? [] : [{ field, value }];
  });
  const whole = property !== undefined && Object.hasOwn(input, property) ? input[property] : undefined;
  // In JSON, it is an escape sequence.
  if (kind !== 'json') {
    for (const { field, value } of given) assertWellFormed(field.property, value);
    if (whole !== undefined) assertWellFormed(property!, whole);
  }
  if (property === undefined ? given.length === 0 && !body.required : whole === undefined) return undefined;
  const missing = body.fields.find((field) => field.required && !given.some((one) => one.field === field));
  if (missing !== undefined)
    throw invalidValue(missing.property, `is missing, and needed with ${given[0]!.field.property}`);
  const fields =
    property === undefined
      ? given
      : Object.entries(isRecord(whole) ? (whole as Input) : {}).map(([name, value]) => ({
          field: body.fields.find((one) => one.name === name) ?? { name, property },
          value,
        }));
  if (property === undefined && (kind === 'form' || kind === 'multipart'))
    for (const { field, value } of given)
      if (field.required || required.includes(field.property))
        assertSent(field.property, value, kind === 'form' ? formStyle(field, value) : EACH);
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
      const text = sent.flatMap(({ field, value }) => toPairs(field.name, value, formStyle(field, value)));
      return { contentType, body: { text: text.join('&') } };
    }
    case 'multipart':
      return buildMultipart(contentType, fields);
    case 'text':
      return { contentType, body: { text: showValue(whole!) } };
    case 'binary':
      return {
        contentType: contentType === '*/*' ? 'application/octet-stream' : contentType,
        body: { base64: readBase64(property!, whole!).toString('base64') },
      };
  }
}

// Every item of a list is a part.
const EACH: HttpStyle = { style: 'form', explode: true };

// Outside of JSON, null and most empty lists are sent as nothing: a required value would be missing (OAS-13).
function assertSent(property: string, value: Json, style: HttpStyle): void {
  if (value === null || (Array.isArray(value) && toPairs(property, value, style).length === 0))
    throw invalidValue(property, `is required, and ${value === null ? 'null' : 'an empty list'} cannot be sent`);
}

// Without a style, the fields of an object would be fields of the form.
function formStyle({ style, explode = true, allowReserved }: HttpField, value: Json): HttpStyle {
  return { style: style ?? (isRecord(value) ? 'json' : 'form'), explode, ...(allowReserved && { allowReserved }) };
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
  return { head, bytes: field.binary ? readBase64(field.property, value) : Buffer.from(showValue(value)) };
}

function readBase64(property: string, value: Json): Buffer {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
    throw invalidValue(property, 'is not base64');
  return Buffer.from(value, 'base64');
}
