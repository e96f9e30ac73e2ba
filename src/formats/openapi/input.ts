// The input of an operation, its parameters and body in one, with where each value goes; and its output.

import type { HttpBody, HttpField, HttpLocation, HttpParameter, HttpStyle } from '../../core/http.js';
import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { words } from '../../core/text.js';
import { inspectSchema } from '../../schema/inspect.js';
import type { Located, Node, OpenDocument } from './document.js';
import { findFree } from './name.js';
import { isReadOnly, type SchemaWriter } from './schema.js';

export interface OperationInput {
  readonly schema: JsonSchema;
  readonly parameters: readonly HttpParameter[];
  readonly body?: HttpBody;
  /** Definitions that were left out. */
  readonly left: number;
}

const PLACES: readonly string[] = ['path', 'query', 'header', 'cookie'];
// Set by the media types and the security of the operation.
const OWN_HEADERS = /^(?:accept|content-type|authorization)$/i;
const STYLES = words('simple label matrix form spaceDelimited pipeDelimited tabDelimited deepObject');
const MAX_NAME = 64;

/** Returns the input of an operation; its parameters are in the words of OpenAPI 3. */
export function toInput(
  operation: Located,
  parameters: readonly Located[],
  document: OpenDocument,
  writer: SchemaWriter,
): OperationInput {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  const sent: HttpParameter[] = [];
  for (const { node, file } of parameters) {
    const { name, in: location } = node;
    if (typeof name !== 'string' || typeof location !== 'string' || !PLACES.includes(location)) continue;
    if (location === 'header' && OWN_HEADERS.test(name)) continue;
    const property = freeName(name, location, properties);
    const [media] = mediaOf(node.content);
    const schema = isRecord(media?.[1].schema) ? media[1].schema : isRecord(node.schema) ? node.schema : {};
    properties[property] = describe(writer.convert({ node: schema, file }), node.description);
    if (node.required === true || location === 'path') required.push(property);
    sent.push({
      name,
      property,
      in: location as HttpLocation,
      ...styleOf(node, location as HttpLocation, media !== undefined),
    });
  }
  const given = isRecord(operation.node.requestBody)
    ? document.follow({ node: operation.node.requestBody, file: operation.file })
    : undefined;
  const body = given && addBody(given, document, writer, properties, required);
  const whole: JsonSchema = { type: 'object', properties, ...(required.length > 0 ? { required } : {}) };
  const { schema, left } = writer.define(whole);
  return { schema, parameters: sent, ...(body && { body }), left };
}

function addBody(
  { node, file }: Located,
  document: OpenDocument,
  writer: SchemaWriter,
  properties: Record<string, Json>,
  required: string[],
): HttpBody | undefined {
  const [contentType, media] = chooseMedia(node.content) ?? [];
  if (contentType === undefined || media === undefined) return undefined;
  const kind = kindOf(contentType, media, document, file);
  const schema: Located = { node: isRecord(media.schema) ? media.schema : {}, file };
  const encodings = isRecord(media.encoding) ? media.encoding : {};
  const object = kind === 'text' || kind === 'binary' ? undefined : toPlainObject(document.follow(schema));
  if (object === undefined) {
    const property = freeName('body', 'body', properties);
    const written =
      kind === 'binary'
        ? { type: 'string', contentEncoding: 'base64' }
        : kind === 'text'
          ? { type: 'string', description: `Text of the type ${contentType}` }
          : writer.convert(schema);
    properties[property] = describe(written, node.description);
    if (node.required === true) required.push(property);
    return { contentType, kind, property, fields: fieldsOfWhole(schema, property, encodings, kind, document) };
  }
  const needed = Array.isArray(object.node.required) ? object.node.required : [];
  const isOptional = node.required !== true;
  const fields: HttpField[] = [];
  // A name that is required, but not declared, is any value.
  const undeclared = needed.filter((name) => !Object.hasOwn(object.node.properties as Node, String(name)));
  const declared = [
    ...Object.entries(object.node.properties as Node),
    ...undeclared.map((name) => [String(name), {}] as const),
  ];
  for (const [name, one] of declared) {
    const field: Located = { node: isRecord(one) ? one : {}, file: object.file };
    if (isReadOnly(field, document)) continue;
    const property = freeName(name, 'body', properties);
    properties[property] = writer.convert(field);
    const isNeeded = needed.includes(name);
    if (isNeeded && !isOptional) required.push(property);
    const how = fieldOf(field, encodings[name], kind, document);
    fields.push({ name, property, ...(isNeeded && isOptional ? { required: true } : {}), ...how });
  }
  return { contentType, kind, ...(isOptional ? {} : { required: true }), fields };
}

// A body whose fields can be properties of the input: nothing but an object with named properties.
function toPlainObject(located: Located): Located | undefined {
  const { node } = located;
  const { additionalProperties } = node;
  const isOpen = additionalProperties === true || isRecord(additionalProperties) || isRecord(node.patternProperties);
  const isCombined = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'discriminator'].some((key) => node[key] !== undefined);
  const isObject = node.type === undefined || node.type === 'object';
  return isObject && !isOpen && !isCombined && isRecord(node.properties) ? located : undefined;
}

// The fields of a combined body that are declared, for how they are sent.
function fieldsOfWhole(
  body: Located,
  property: string,
  encodings: Node,
  kind: HttpBody['kind'],
  document: OpenDocument,
): HttpField[] {
  if (kind !== 'form' && kind !== 'multipart') return [];
  const found = new Map<string, HttpField>();
  const collect = (located: Located, depth: number): void => {
    const { node, file } = document.follow(located);
    for (const [name, one] of Object.entries(isRecord(node.properties) ? node.properties : {}))
      if (isRecord(one) && !found.has(name))
        found.set(name, { name, property, ...fieldOf({ node: one, file }, encodings[name], kind, document) });
    if (depth === MAX_COMBINED) return;
    for (const key of ['allOf', 'anyOf', 'oneOf'])
      for (const one of Array.isArray(node[key]) ? node[key].filter(isRecord) : [])
        collect({ node: one, file }, depth + 1);
  };
  collect(body, 0);
  return [...found.values()];
}

const MAX_COMBINED = 4;

function fieldOf(
  field: Located,
  encoding: unknown,
  kind: HttpBody['kind'],
  document: OpenDocument,
): Omit<HttpField, 'name' | 'property'> {
  const given = isRecord(encoding) ? encoding : {};
  if (kind === 'multipart') {
    const { node, file } = document.follow(field);
    const item = isRecord(node.items) ? document.follow({ node: node.items, file }).node : node;
    return {
      ...(typeof given.contentType === 'string' ? { contentType: given.contentType } : {}),
      ...(isFile(item) ? { binary: true } : {}),
    };
  }
  if (kind !== 'form') return {};
  const isStyled = ['style', 'explode', 'allowReserved'].some((key) => given[key] !== undefined);
  return isStyled ? styleOf(given, 'query', false) : {};
}

function isFile({ type, format, contentMediaType }: Node): boolean {
  return (
    type === 'file' ||
    format === 'binary' ||
    (contentMediaType !== undefined && !/json/i.test(String(contentMediaType)))
  );
}

function styleOf(node: Node, location: HttpLocation, isJson: boolean): HttpStyle {
  if (isJson) return { style: 'json', explode: false };
  const usual = location === 'query' || location === 'cookie' ? 'form' : 'simple';
  const style = (
    typeof node.style === 'string' && STYLES.includes(node.style) ? node.style : usual
  ) as HttpStyle['style'];
  const explode = typeof node.explode === 'boolean' ? node.explode : style === 'form';
  return { style, explode, ...(location === 'query' && node.allowReserved === true ? { allowReserved: true } : {}) };
}

function mediaOf(content: unknown): [string, Node][] {
  if (!isRecord(content)) return [];
  return Object.entries(content).filter((entry): entry is [string, Node] => isRecord(entry[1]));
}

const PREFERRED = [
  /^application\/json\b/i,
  // Takes an object, other than a list of changes.
  /^application\/merge-patch\+json\b/i,
  /\+json\b/i,
  /^multipart\/form-data\b/i,
  /^application\/x-www-form-urlencoded\b/i,
  /^text\//i,
];

// Returns the media type that is used of those that are declared.
function chooseMedia(content: unknown): [string, Node] | undefined {
  const all = mediaOf(content);
  for (const pattern of PREFERRED) {
    const found = all.find(([type]) => pattern.test(type));
    if (found !== undefined) return found;
  }
  return all[0];
}

function kindOf(type: string, media: Node, document: OpenDocument, file: string): HttpBody['kind'] {
  if (/json\b/i.test(type)) return 'json';
  if (/^multipart\//i.test(type)) return 'multipart';
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return 'form';
  const schema = isRecord(media.schema) ? document.follow({ node: media.schema, file }).node : {};
  if (/^text\/|xml\b|yaml\b/i.test(type)) return 'text';
  // A missing or general type is JSON, unless it is said to be bytes.
  return type === '*/*' && schema.format !== 'binary' ? 'json' : 'binary';
}

function describe(schema: JsonSchema, description: unknown): JsonSchema {
  return typeof description === 'string' && schema.description === undefined ? { ...schema, description } : schema;
}

/** Returns a name that every provider accepts and no other property has. */
function freeName(name: string, location: string, taken: Readonly<Record<string, Json>>): string {
  const plain =
    name
      .replace(/[^\w.-]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, MAX_NAME) || location;
  if (!Object.hasOwn(taken, plain)) return plain;
  const placed = `${location}_${plain}`.slice(0, MAX_NAME);
  return findFree(placed, (free) => Object.hasOwn(taken, free), MAX_NAME - 4);
}

/** Returns the schema of the response of a success, if that is an object. */
export function toOutput(
  { node, file }: Located,
  document: OpenDocument,
  writer: SchemaWriter,
): { readonly schema?: JsonSchema; readonly accept: string } {
  const responses = isRecord(node.responses) ? node.responses : {};
  const status = Object.keys(responses).find((one) => /^2(?:\d\d|XX)$/i.test(one)) ?? 'default';
  const given = responses[status];
  if (!isRecord(given)) return { accept: ANYTHING };
  const response = document.follow({ node: given, file });
  const [type, media] = chooseMedia(response.node.content) ?? [];
  const accept = type === undefined || type === '*/*' ? ANYTHING : `${type.split(';')[0]}, */*;q=0.5`;
  if (media === undefined || !/json\b/i.test(type!) || !isRecord(media.schema) || status === 'default')
    return { accept };
  const schema: Located = { node: media.schema, file: response.file };
  const target = document.follow(schema).node;
  if (target.type !== 'object' && !isRecord(target.properties)) return { accept };
  try {
    const { schema: defined, left } = writer.define({ type: 'object', ...unwrap(writer.convert(schema)) });
    if (left > 0) return { accept };
    inspectSchema(defined, { foreign: true });
    return { accept, schema: defined };
  } catch {
    // A call needs no output schema, so one that is invalid does not keep the operation out.
    return { accept };
  }
}

const ANYTHING = 'application/json, */*;q=0.5';

// The whole response is never null.
function unwrap(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf) && isRecord(schema.anyOf[0])) return { allOf: [schema.anyOf[0]] } as typeof schema;
  return { ...schema, type: 'object' };
}
