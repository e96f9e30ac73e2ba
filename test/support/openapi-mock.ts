// Checks requests against an OpenAPI document, with decoders of its own and ajv.

import { Ajv, type ValidateFunction } from 'ajv';
import { isRecord } from '../../src/core/json.js';
import {
  decode,
  decodeParts,
  fromPath,
  fromQuery,
  fromSimple,
  isArray,
  isObject,
  listOf,
  matchPath,
  type Node,
  toPair,
} from './openapi-decoders.js';

export interface Sent {
  readonly method: string;
  /** Path and query below the base. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface Received {
  /** What the document does not allow. */
  readonly faults: readonly string[];
  /** Decoded parameters, by `in name`. */
  readonly parameters: ReadonlyMap<string, unknown>;
  readonly body: unknown;
  /** Schemas that ajv cannot compile. */
  readonly unchecked: number;
}

export interface Mock {
  /** Checks the request of an operation. */
  check(sent: Sent, method: string, path: string): Received;
}

/** `root` is a document without references to other files. */
export function createMock(given: Node): Mock {
  const isSwagger = given.swagger !== undefined;
  const root = toJsonSchemas(given, given) as Node;
  const exact = createAjv(false, root);
  // A number that is sent as text is both a string and a number.
  const loose = createAjv('array', withAnyOf(root) as Node);
  // Parameters may be what the server sets elsewhere.
  loose.removeKeyword('readOnly');

  const follow = (node: unknown): Node => {
    let here = node;
    while (isRecord(here) && typeof here.$ref === 'string') here = lookUp(root, here.$ref);
    return isRecord(here) ? here : {};
  };

  const check = (sent: Sent, method: string, path: string): Received => {
    const item = follow(isRecord(root.paths) ? root.paths[path] : undefined);
    const operation = follow(item[method.toLowerCase()]);
    const report = { faults: [] as string[], unchecked: 0 };
    const parameters = new Map<string, unknown>();
    if (sent.method !== method) report.faults.push(`${sent.method} instead of ${method}`);
    const [before = '', query = ''] = sent.url.split(/\?(.*)/s);
    // A fragment tells operations of one path apart, and is not sent.
    const segments = matchPath(path.replace(/#.*/, ''), before);
    if (segments === undefined) report.faults.push(`${before} is not ${path}`);
    const pairs = query === '' ? [] : query.split('&').map(toPair);
    const used = new Set<string>();
    const cookies = new Set<string>();
    const declared = [...listOf(item.parameters), ...listOf(operation.parameters)].map(follow);
    const all = new Map(declared.map((one) => [`${one.in} ${one.name}`, one]));
    // An object whose fields are parameters takes what is left.
    const isOpen = (node: Node): boolean => isObject(follow(node.schema), follow);
    for (const [key, node] of [...all].sort(([, a], [, b]) => Number(isOpen(a)) - Number(isOpen(b)))) {
      if (node.in === 'body' || node.in === 'formData' || isIgnored(node)) continue;
      const { schema, ...given } = isSwagger ? fromSwagger(node) : node;
      const how = { style: node.in === 'query' || node.in === 'cookie' ? 'form' : 'simple', ...given };
      const target = contentSchema(node) ?? schema;
      const raw = rawOf(node, sent, segments, pairs, node.in === 'cookie' ? cookies : used, follow(target), how);
      if (raw === undefined) {
        if (node.required === true || node.in === 'path') report.faults.push(`${key} is missing`);
        continue;
      }
      const value = contentSchema(node) === undefined ? raw : JSON.parse(decode(String(raw)));
      parameters.set(key, value);
      validate(loose, toLoose(follow(target)), value, key, report);
    }
    for (const [name] of pairs) if (!used.has(name)) report.faults.push(`the query has ${name}, which is not declared`);
    const body = checkBody(sent, operation, all, report);
    return { faults: report.faults, parameters, body, unchecked: report.unchecked };
  };

  const checkBody = (sent: Sent, operation: Node, all: ReadonlyMap<string, Node>, report: Report): unknown => {
    const declared = isSwagger ? swaggerBody(operation, root, [...all.values()]) : follow(operation.requestBody);
    const content = isRecord(declared.content) ? declared.content : {};
    const type = String(sent.headers['content-type'] ?? '');
    if (sent.body.length === 0 && type === '') {
      if (declared.required === true) report.faults.push('the body is missing');
      return undefined;
    }
    const bare = type.split(';')[0]!.trim();
    const key =
      Object.keys(content).find((one) => one.split(';')[0]!.trim() === bare) ??
      (content['*/*'] === undefined ? undefined : '*/*');
    if (key === undefined) {
      report.faults.push(`the body is ${bare}, declared are ${Object.keys(content).join(', ') || 'none'}`);
      return undefined;
    }
    const media = follow(content[key]);
    if (/json/.test(bare)) {
      const value = JSON.parse(sent.body.toString('utf8')) as unknown;
      validate(exact, media.schema, value, 'the body', report);
      return value;
    }
    const encodings = isRecord(media.encoding) ? media.encoding : {};
    if (bare === 'application/x-www-form-urlencoded') {
      const value = decodeForm(sent.body.toString('utf8'), media.schema, encodings, report);
      validate(loose, toLoose(media.schema), structuredClone(value), 'the form', report);
      return value;
    }
    if (bare.startsWith('multipart/')) {
      const value = decodeParts(sent.body, type, propertiesOf(media.schema), follow);
      validate(loose, toLoose(media.schema), structuredClone(value), 'the parts', report);
      return value;
    }
    return sent.body.toString('utf8');
  };

  const propertiesOf = (schema: unknown): Node => {
    const node = follow(schema);
    const inner = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => listOf(node[key]));
    return Object.assign({}, ...inner.map(propertiesOf), isRecord(node.properties) ? node.properties : {}) as Node;
  };

  const decodeForm = (text: string, schema: unknown, encodings: Node, report: Report): Record<string, unknown> => {
    const value: Record<string, unknown> = {};
    const pairs = text.split('&').map(toPair);
    const used = new Set<string>();
    for (const [name, one] of Object.entries(propertiesOf(schema))) {
      const given = follow(encodings[name]);
      const isStyled = given.style !== undefined || given.explode !== undefined;
      const node = follow(one);
      const raw = fromQuery(name, pairs, used, isObject(node, follow), isArray(node, follow), given);
      if (raw !== undefined) value[name] = raw;
      else if (!isStyled) {
        const found = pairs.find(([key]) => decode(key) === name);
        if (found === undefined) continue;
        used.add(found[0]);
        value[name] = JSON.parse(decode(found[1]));
      }
    }
    for (const [name] of pairs) if (!used.has(name)) report.faults.push(`the form has ${name}, which is not declared`);
    return value;
  };

  const rawOf = (
    node: Node,
    sent: Sent,
    segments: ReadonlyMap<string, string> | undefined,
    pairs: readonly (readonly [string, string])[],
    used: Set<string>,
    schema: Node,
    how: Node,
  ): unknown => {
    const name = String(node.name);
    const shape = [isObject(schema, follow), isArray(schema, follow)] as const;
    switch (node.in) {
      case 'path':
        return fromPath(name, segments?.get(name), ...shape, how);
      case 'query':
        if (isRecord(node.content)) {
          const found = pairs.find(([key]) => decode(key) === name);
          if (found) used.add(found[0]);
          return found?.[1];
        }
        return fromQuery(name, pairs, used, ...shape, how);
      case 'header': {
        const text = sent.headers[name.toLowerCase()];
        if (typeof text !== 'string') return undefined;
        // Styles have no form for lists of objects.
        if (/^[[{]/.test(text) && (shape[0] || shape[1])) return JSON.parse(text) as unknown;
        return fromSimple(text, ...shape, how, (one) => one);
      }
      default: {
        const cookies = String(sent.headers.cookie ?? '')
          .split('; ')
          .filter((one) => one !== '')
          .map(toPair);
        return fromQuery(name, cookies, used, ...shape, how);
      }
    }
  };

  return { check };
}

// "If in is "header" and the name field is "Accept", "Content-Type" or "Authorization", the definition SHALL be ignored."
function isIgnored({ in: place, name }: Node): boolean {
  return place === 'header' && /^(?:accept|content-type|authorization)$/i.test(String(name));
}

interface Report {
  readonly faults: string[];
  unchecked: number;
}

function validate(ajv: Ajv, schema: unknown, value: unknown, what: string, report: Report): void {
  if (!isRecord(schema)) return;
  let compiled: ValidateFunction;
  try {
    compiled = ajv.compile(withBase(schema) as Node);
  } catch {
    report.unchecked++;
    return;
  }
  const wrapped = { value };
  if (!compiled(wrapped))
    report.faults.push(`${what}: ${ajv.errorsText(compiled.errors)} (${JSON.stringify(value)?.slice(0, 200)})`);
}

const wrappers = new WeakMap<object, Node>();

// One object for each schema, so that ajv compiles it once.
function withBase(schema: Node): Node {
  const known = wrappers.get(schema);
  if (known !== undefined) return known;
  const made = { type: 'object', properties: { value: absolute(schema) } };
  wrappers.set(schema, made);
  return made;
}

function absolute(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(absolute);
  if (!isRecord(node)) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, one]) => [key, absolute(one)]));
  if (typeof node.$ref === 'string' && node.$ref.startsWith('#')) return { $ref: `doc:x${node.$ref}` };
  return copy;
}

function createAjv(coerceTypes: 'array' | false, root: Node): Ajv {
  const ajv = new Ajv({
    coerceTypes,
    strict: false,
    validateFormats: false,
    validateSchema: false,
    addUsedSchema: false,
    unicodeRegExp: false,
    logger: false,
  });
  ajv.removeKeyword('readOnly');
  ajv.addKeyword({ keyword: 'readOnly', validate: (readOnly: unknown) => readOnly !== true });
  ajv.addSchema(root, 'doc:x');
  return ajv;
}

// Words of OpenAPI 2.0 and 3.0 that JSON Schema has not.
function toJsonSchemas(node: unknown, root: Node): unknown {
  if (Array.isArray(node)) return node.map((one) => toJsonSchemas(one, root));
  if (!isRecord(node)) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, one]) => [key, toJsonSchemas(one, root)]));
  for (const side of ['Minimum', 'Maximum'])
    if (typeof copy[`exclusive${side}`] === 'boolean') {
      const limit = side.toLowerCase();
      if (copy[`exclusive${side}`] === true && limit in copy) copy[`exclusive${side}`] = copy[limit];
      else delete copy[`exclusive${side}`];
    }
  if (typeof copy.id === 'string' && (copy.type !== undefined || copy.properties !== undefined)) delete copy.id;
  if (copy.type === 'file') copy.type = 'string';
  if (copy.nullable === true || copy['x-nullable'] === true) {
    delete copy.nullable;
    if (Array.isArray(copy.enum)) copy.enum = [...copy.enum, null];
    if (typeof copy.type === 'string') copy.type = [copy.type, 'null'];
    else if (typeof copy.$ref === 'string') return { anyOf: [{ $ref: copy.$ref }, { type: 'null' }] };
  } else delete copy.nullable;
  if (Array.isArray(copy.required) && isRecord(copy.properties)) {
    const { properties } = copy;
    copy.required = copy.required.filter((name) => !isSetByServer(properties[String(name)], root));
  }
  return copy;
}

function isSetByServer(node: unknown, root: Node): boolean {
  if (!isRecord(node)) return false;
  if (typeof node.$ref === 'string') return node.readOnly === true || isSetByServer(lookUp(root, node.$ref), root);
  return node.readOnly === true || listOf(node.allOf).some((one) => isSetByServer(one, root));
}

const loosened = new WeakMap<object, unknown>();

function toLoose(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const known = loosened.get(schema);
  if (known !== undefined) return known;
  const made = withAnyOf(schema);
  loosened.set(schema, made);
  return made;
}

function withAnyOf(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withAnyOf);
  if (!isRecord(node)) return node;
  const { oneOf, ...rest } = node;
  const entries = Object.entries(rest).map(([key, one]) => [key, withAnyOf(one)]);
  if (Array.isArray(oneOf) && rest.anyOf === undefined) entries.push(['anyOf', withAnyOf(oneOf)]);
  return Object.fromEntries(entries);
}

function lookUp(root: unknown, ref: string): unknown {
  return ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((step) => step !== '')
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((here, step) => (here as Node | undefined)?.[step], root);
}

function contentSchema({ content }: Node): unknown {
  return isRecord(content) ? (Object.values(content)[0] as Node).schema : undefined;
}

const COLLECTIONS: Readonly<Record<string, Node>> = {
  csv: { style: 'form', explode: false },
  ssv: { style: 'spaceDelimited', explode: false, separator: '%20' },
  tsv: { style: 'tab', explode: false, separator: '%09' },
  pipes: { style: 'pipeDelimited', explode: false, separator: '%7C' },
  multi: { style: 'form', explode: true },
};

function fromSwagger(node: Node): Node {
  const { name: _name, in: _in, required: _required, description: _description, collectionFormat, ...schema } = node;
  return { schema, ...COLLECTIONS[String(collectionFormat ?? 'csv')] };
}

function swaggerBody(operation: Node, root: Node, parameters: readonly Node[]): Node {
  const types = [...listOf(operation.consumes ?? root.consumes)].map(String);
  const body = parameters.find((one) => one.in === 'body');
  if (body !== undefined) {
    const media = types.length === 0 ? ['application/json'] : types;
    return { required: body.required, content: Object.fromEntries(media.map((one) => [one, { schema: body.schema }])) };
  }
  const form = parameters.filter((one) => one.in === 'formData');
  if (form.length === 0) return {};
  const fields = form.map((one) => [String(one.name), fromSwagger(one)] as const);
  const properties = Object.fromEntries(fields.map(([name, { schema }]) => [name, schema]));
  const required = form.filter((one) => one.required === true).map(({ name }) => name);
  const encoding = Object.fromEntries(
    fields.flatMap(([name, { schema: _, ...how }]) =>
      (properties[name] as Node).type === 'array' ? [[name, how]] : [],
    ),
  );
  const media = { schema: { type: 'object', properties, required }, encoding };
  const both = { 'multipart/form-data': media, 'application/x-www-form-urlencoded': media };
  return { required: required.length > 0, content: both };
}
