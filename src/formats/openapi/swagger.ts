// Reads Swagger 2.0 as if it were OpenAPI 3: servers, parameters, bodies and responses.

import { isRecord, mapValues } from '../../core/json.js';
import type { Located, Node, OpenDocument } from './document.js';

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isText) : []);

/** Returns the base URLs of a Swagger document. */
export function swaggerServers(root: Node): Node[] {
  const path = isText(root.basePath) ? root.basePath : '';
  if (!isText(root.host)) return [{ url: path === '' ? '/' : path }];
  const schemes = texts(root.schemes);
  const scheme = schemes.includes('https') || schemes.length === 0 ? 'https' : schemes[0];
  return [{ url: `${scheme}://${root.host}${path}` }];
}

const STYLES: Readonly<Record<string, Node>> = {
  csv: { style: 'form', explode: false },
  ssv: { style: 'spaceDelimited', explode: false },
  tsv: { style: 'tabDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
  multi: { style: 'form', explode: true },
};

const SIMPLE: Node = { style: 'simple', explode: false };

/** Returns an operation in the words of OpenAPI 3. `parameters` are all that apply to it. */
export function fromSwagger(
  operation: Located,
  parameters: readonly Located[],
  document: OpenDocument,
): { readonly operation: Located; readonly parameters: readonly Located[] } {
  const { node, file } = operation;
  const consumes = texts(node.consumes ?? document.root.consumes);
  const produces = texts(node.produces ?? document.root.produces);
  const plain = parameters.filter((one) => one.node.in !== 'body' && one.node.in !== 'formData');
  const body = parameters.find((one) => one.node.in === 'body');
  const form = parameters.filter((one) => one.node.in === 'formData');
  const requestBody =
    body !== undefined
      ? toBody(body.node, consumes)
      : form.length > 0
        ? toForm(
            form.map((one) => one.node),
            consumes,
          )
        : undefined;
  const responses = mapValues(isRecord(node.responses) ? node.responses : {}, (response) =>
    isRecord(response) && isRecord(response.schema)
      ? { ...response, content: toContent(produces, response.schema) }
      : response,
  );
  return {
    operation: { node: { ...node, responses, ...(requestBody && { requestBody }) }, file },
    parameters: plain.map((one) => ({ node: toParameter(one.node), file: one.file })),
  };
}

function toParameter(parameter: Node): Node {
  const { name, in: location, required, description, collectionFormat, ...schema } = parameter;
  const style =
    typeof collectionFormat === 'string' ? STYLES[collectionFormat] : schema.type === 'array' ? STYLES.csv : {};
  const isPlain = (location === 'path' || location === 'header') && style?.style === 'form';
  return { name, in: location, required, description, schema, ...(isPlain ? SIMPLE : style) };
}

function toBody({ schema, required, description }: Node, consumes: readonly string[]): Node {
  return { required, description, content: toContent(consumes, schema ?? {}) };
}

function toContent(types: readonly string[], schema: unknown): Node {
  return Object.fromEntries((types.length === 0 ? ['application/json'] : types).map((type) => [type, { schema }]));
}

function toForm(parameters: readonly Node[], consumes: readonly string[]): Node {
  const hasFile = parameters.some(({ type }) => type === 'file');
  const type =
    hasFile || consumes.includes('multipart/form-data') ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  const properties = Object.fromEntries(
    parameters.map(({ name, in: _place, required: _required, collectionFormat: _format, ...schema }) => [name, schema]),
  );
  const encoding = Object.fromEntries(
    parameters.flatMap(({ name, type: kind, collectionFormat = 'csv' }) =>
      kind === 'array' ? [[name, STYLES[String(collectionFormat)] ?? STYLES.csv]] : [],
    ),
  );
  const required = parameters.filter((one) => one.required === true).map(({ name }) => name);
  return {
    required: required.length > 0,
    content: { [type]: { schema: { type: 'object', properties, required }, encoding } },
  };
}
