// Turns the operations of a document into tools.

import { pathToFileURL } from 'node:url';
import type { Place } from '../../core/format.js';
import type { HttpAction, HttpSettings } from '../../core/http.js';
import { isRecord } from '../../core/json.js';
import { normalizeTags } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import { count, quoteOutside, sanitize } from '../../core/text.js';
import type { FileIdentity, Tool } from '../../core/tool.js';
import { createJsonSchema } from '../../schema/json.js';
import { DocumentFault, type Located, type Node, type OpenDocument } from './document.js';
import { createFilter } from './filter.js';
import { toInput } from './input.js';
import { METHODS, operationName, qualifiedName } from './name.js';
import { toOutput } from './response.js';
import { createSchemaWriter, type SchemaWriter } from './schema.js';
import { toSecurity, toServer } from './security.js';
import { fromSwagger, swaggerServers } from './swagger.js';

export interface ReadOperations {
  readonly tools: readonly Tool[];
  readonly findings: readonly Finding[];
}

export interface OperationOptions {
  /** The name of the document. */
  readonly name: string;
  readonly identity: FileIdentity;
  readonly place: Place;
  readonly settings: HttpSettings;
  /** Names that other files of the directory have. */
  readonly taken: ReadonlySet<string>;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly located: Located;
  readonly parameters: readonly Located[];
  readonly servers: unknown;
}

interface Writers {
  readonly input: SchemaWriter;
  readonly output: SchemaWriter;
}

const READS = new Set(['get', 'head', 'options', 'trace']);
const MAX_DESCRIPTION = 1024;
const MAX_SHOWN = 5;
// How many values of schemas the operations of a document may have, in addition to one for each of its bytes.
const MIN_VALUES = 200_000;

/** Reads all operations. Throws DocumentFault if the document as a whole cannot be used. */
export function readOperations(document: OpenDocument, options: OperationOptions): ReadOperations {
  const isSwagger = assertVersion(document.root);
  const spend = createBudget(document);
  const writers = {
    input: createSchemaWriter(document, { spend }),
    output: createSchemaWriter(document, { spend, loose: true }),
  };
  const findings: Finding[] = [];
  const named: { readonly operation: Operation; readonly name: string }[] = [];
  const isWanted = createFilter(options.settings);
  for (const operation of listOperations(document, isSwagger, findings)) {
    const name = operationName(operation.located.node.operationId, operation.method, operation.path);
    if (isWanted(name, { ...operation, node: operation.located.node })) named.push({ operation, name });
  }
  const tools: Tool[] = [];
  const used = new Set(options.taken);
  let left = 0;
  for (const { operation, name } of named) {
    try {
      const free = qualifiedName(name, options.name, used);
      const made = toTool(free, operation, document, writers, options);
      left += made.left;
      tools.push(made.tool);
      used.add(free);
    } catch (error) {
      findings.push(toFinding(operation, error as Error));
    }
  }
  const homeless = tools.filter(({ action }) => action.kind === 'http' && action.server === '').length;
  if (homeless > 0)
    findings.push({
      severity: 'warning',
      message: `${count(homeless, 'operation')} cannot be called: no absolute server`,
      hint: `set server = "https://…" in [openapi.${options.name}] of ~/.wield/config.toml`,
    });
  if (left > 0)
    findings.push({
      severity: 'warning',
      message: `${left} large parts of schemas are not shown, and accept anything`,
      hint: 'none of them is needed for a call',
    });
  return { tools, findings: shorten(findings) };
}

// References and aliases let a small document write the same schemas many times.
function createBudget({ size }: OpenDocument): (values: number) => void {
  let spent = 0;
  return (values) => {
    spent += values;
    if (spent > MIN_VALUES + size())
      throw new DocumentFault('the schemas have too many values', 'repeat fewer of them');
  };
}

function assertVersion({ openapi, swagger }: Node): boolean {
  if (typeof openapi === 'string' && /^3\.[012]\b/.test(openapi)) return false;
  if (swagger === '2.0' || swagger === 2) return true;
  throw new DocumentFault(
    `is not an OpenAPI document${openapi === undefined && swagger === undefined ? '' : ` of a known version: ${quoteOutside(String(openapi ?? swagger), 40)}`}`,
    'it needs openapi: 3.0.x or 3.1.x, or swagger: "2.0"',
  );
}

function* listOperations(document: OpenDocument, isSwagger: boolean, findings: Finding[]): Generator<Operation> {
  const { root, file } = document;
  const paths = isRecord(root.paths) ? root.paths : {};
  for (const [path, value] of Object.entries(paths)) {
    if (!path.startsWith('/') || !isRecord(value)) continue;
    try {
      const item = document.follow({ node: value, file });
      for (const method of METHODS) {
        const given = item.node[method];
        if (!isRecord(given)) continue;
        // Some documents keep each operation in a file of its own.
        const own = document.follow({ node: given, file: item.file });
        const { node } = own;
        const parameters = joinParameters(item, own, document);
        const whole = isSwagger ? fromSwagger(own, parameters, document) : { operation: own, parameters };
        const servers = isSwagger ? swaggerServers(root) : (node.servers ?? item.node.servers ?? root.servers);
        yield { method, path, located: whole.operation, parameters: whole.parameters, servers };
      }
    } catch (error) {
      findings.push(toFinding({ method: '', path }, error as Error));
    }
  }
}

// Parameters of the operation replace those of its path.
function joinParameters(item: Located, operation: Located, document: OpenDocument): readonly Located[] {
  const all = new Map<string, Located>();
  for (const { node, file } of [item, operation])
    for (const one of Array.isArray(node.parameters) ? node.parameters : []) {
      if (!isRecord(one)) continue;
      const located = document.follow({ node: one, file });
      all.set(`${located.node.in} ${located.node.name}`, located);
    }
  return [...all.values()];
}

function toTool(
  name: string,
  operation: Operation,
  document: OpenDocument,
  writers: Writers,
  { name: group, identity, place, settings }: OperationOptions,
): { readonly tool: Tool; readonly left: number } {
  const { method, path, located, parameters } = operation;
  const { node } = located;
  const input = toInput(located, parameters, document, writers.input);
  const missing = [...path.matchAll(/\{([^{}]+)\}/g)].find(
    ([, one]) => !input.parameters.some((parameter) => parameter.in === 'path' && parameter.name === one),
  );
  if (missing !== undefined)
    throw new DocumentFault(`has no parameter for ${quoteOutside(missing[0], 60)}`, 'declare it with in: path');
  const output = toOutput(located, document, writers.output);
  const action: HttpAction = {
    kind: 'http',
    file: document.file,
    identity,
    document: group,
    method: method.toUpperCase(),
    server: toServer(operation.servers, settings.server),
    path,
    parameters: input.parameters,
    body: input.body,
    security: toSecurity(node.security ?? document.root.security, document),
    accept: output.accept,
  };
  const isRead = READS.has(method);
  const tool: Tool = {
    name,
    description: toDescription(node, method, path),
    input: createJsonSchema(input.schema, { closed: true }),
    output: output.schema,
    action,
    origin: {
      format: 'openapi',
      uri: `${pathToFileURL(document.file).href}#${encodeURIComponent(name)}`,
      directory: place.directory,
      source: null,
      digest: null,
      server: null,
      owner: place.owner,
    },
    traits: {
      title: typeof node.summary === 'string' ? clean(node.summary).slice(0, 120) : undefined,
      group,
      tags: normalizeTags(Array.isArray(node.tags) ? node.tags.filter((tag) => typeof tag === 'string') : []),
      hidden: false,
      terminal: false,
      examples: [],
      openWorld: true,
      ...(isRead ? { readOnly: true } : { destructive: true, ...(method === 'post' ? {} : { idempotent: true }) }),
    },
  };
  return { tool, left: input.left };
}

function toDescription(node: Node, method: string, path: string): string {
  const summary = typeof node.summary === 'string' ? clean(node.summary) : '';
  const text = typeof node.description === 'string' ? clean(node.description) : '';
  const both = text.startsWith(summary) ? text : [summary, text].filter((part) => part !== '').join('\n');
  const whole = both === '' ? `${method.toUpperCase()} ${clean(path)}` : both;
  const deprecated = node.deprecated === true ? 'Deprecated. ' : '';
  const shown = deprecated + whole;
  return shown.length > MAX_DESCRIPTION ? `${shown.slice(0, MAX_DESCRIPTION - 1)}…` : shown;
}

function clean(text: string): string {
  return sanitize(text).trim();
}

function toFinding({ method, path }: Pick<Operation, 'method' | 'path'>, error: Error): Finding {
  const { hint = 'fix the schema' } = error as Error & { hint?: string };
  const reason = error instanceof RangeError ? 'its schemas are nested too deeply' : error.message;
  const where = `${method.toUpperCase()} ${path}`.trim();
  return { message: `${quoteOutside(where, 120)} is left out: ${reason}`, hint };
}

// Documents with thousands of operations repeat their faults.
function shorten(findings: readonly Finding[]): readonly Finding[] {
  const errors = findings.filter(({ severity }) => severity !== 'warning');
  if (errors.length <= MAX_SHOWN) return findings;
  const more = errors.length - MAX_SHOWN;
  return [
    ...errors.slice(0, MAX_SHOWN),
    { message: `${more} more operations are left out`, hint: 'fix those above first' },
    ...findings.filter(({ severity }) => severity === 'warning'),
  ];
}
