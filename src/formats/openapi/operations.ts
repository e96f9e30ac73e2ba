// Turns the operations of a document into tools.

import { createNameFilter } from '../../core/glob.js';
import type { HttpAction, HttpSettings } from '../../core/http.js';
import { isRecord } from '../../core/json.js';
import { normalizeTags } from '../../core/name.js';
import type { FileIdentity } from '../../core/origin.js';
import type { Finding } from '../../core/problem.js';
import type { JsonSchema } from '../../core/schema.js';
import { count, quoteOutside, sanitize } from '../../core/text.js';
import { inspectSchema } from '../../schema/inspect.js';
import { documentFault, type Located, type Node, type OpenDocument, type ReadLimits } from './document.js';
import { toInput, toOutput } from './input.js';
import { METHODS, operationName } from './name.js';
import { createSchemaWriter, type SchemaWriter } from './schema.js';
import { toSecurity, toServer } from './security.js';
import { fromSwagger, swaggerServers } from './swagger.js';

/** An operation as data: a tool without its final name. */
export interface Draft {
  readonly name: string;
  readonly description: string;
  readonly title?: string;
  readonly tags: readonly string[];
  /** Of `x-wield-labels`. */
  readonly labels?: readonly string[];
  /** In upper case. */
  readonly method: string;
  /** The rest of it, which is parsed when it is used if the document is packed. */
  readonly body: () => DraftBody;
}

export interface DraftBody {
  readonly input: JsonSchema;
  readonly output: JsonSchema | undefined;
  readonly action: HttpAction;
}

export interface ReadOperations {
  readonly drafts: readonly Draft[];
  /** Names of all operations, also of those that are not wanted. */
  readonly names: readonly string[];
  readonly findings: readonly Finding[];
}

export interface OperationOptions {
  /** The name of the document. */
  readonly name: string;
  readonly settings: HttpSettings;
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

const MAX_DESCRIPTION = 1024;
const MAX_SHOWN = 5;

/** Reads all operations. Throws `invalid_definition` if the document as a whole cannot be used. */
export function readOperations(document: OpenDocument, limits: ReadLimits, options: OperationOptions): ReadOperations {
  const isSwagger = assertVersion(document.root);
  const spend = createBudget(document, limits);
  const writers = {
    input: createSchemaWriter(document, { spend }),
    output: createSchemaWriter(document, { spend, loose: true }),
  };
  const findings: Finding[] = [];
  const isWanted = createFilter(options.settings);
  const drafts: Draft[] = [];
  const names: string[] = [];
  let left = 0;
  for (const operation of listOperations(document, isSwagger, findings)) {
    const name = operationName(operation.located.node.operationId, operation.method, operation.path);
    if (METHODS.includes(operation.method)) names.push(name);
    if (!isWanted(name, operation)) continue;
    try {
      const made = toDraft(name, operation, document, writers, options);
      left += made.left;
      drafts.push(made.draft);
    } catch (error) {
      findings.push(toFinding(operation, error as Error));
    }
  }
  const homeless = drafts.filter(({ body }) => body().action.server === '').length;
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
  return { drafts, names, findings: shorten(findings) };
}

// `include` and `exclude` are globs of tool names, of `METHOD /path`, or of tags.
function createFilter(settings: HttpSettings): (name: string, operation: Operation) => boolean {
  const isWanted = createNameFilter(settings);
  return (name, { method, path, located: { node } }) => {
    const tags = Array.isArray(node.tags) ? node.tags.map(String) : [];
    const id = typeof node.operationId === 'string' ? [node.operationId] : [];
    return isWanted([name, ...id, `${method.toUpperCase()} ${path}`, ...tags]);
  };
}

// References and aliases let a small document write the same schemas many times.
function createBudget({ size }: OpenDocument, limits: ReadLimits): (values: number) => void {
  let spent = 0;
  return (values) => {
    spent += values;
    if (spent <= limits.values + size()) return;
    limits.isExceeded = true;
    throw documentFault('the schemas have too many values', 'repeat fewer of them');
  };
}

function assertVersion({ openapi, swagger }: Node): boolean {
  if (typeof openapi === 'string' && /^3\.[012]\b/.test(openapi)) return false;
  if (swagger === '2.0' || swagger === 2) return true;
  throw documentFault(
    `is not an OpenAPI document${openapi === undefined && swagger === undefined ? '' : ` of a known version: ${quoteOutside(String(openapi ?? swagger), 40)}`}`,
    'it needs openapi: 3.0.x or 3.1.x, or swagger: "2.0"',
  );
}

// What a path item has besides operations.
const ITEM_KEYS = ['$ref', 'summary', 'description', 'servers', 'parameters'];

function* listOperations(document: OpenDocument, isSwagger: boolean, findings: Finding[]): Generator<Operation> {
  const { root, file } = document;
  const paths = isRecord(root.paths) ? root.paths : {};
  for (const [path, value] of Object.entries(paths)) {
    if (path.startsWith('x-') || !isRecord(value)) continue;
    try {
      const item = document.follow({ node: value, file });
      const unknown = Object.keys(item.node).filter((key) => ![...METHODS, ...ITEM_KEYS].includes(key));
      for (const method of [...METHODS, ...unknown.filter((key) => !key.startsWith('x-'))]) {
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

function toDraft(
  name: string,
  operation: Operation,
  document: OpenDocument,
  writers: Writers,
  { name: group, settings }: OperationOptions,
): { readonly draft: Draft; readonly left: number } {
  const { method, located, parameters } = operation;
  const { node } = located;
  if (!METHODS.includes(method))
    throw documentFault(`${quoteOutside(method, 40)} is not a method`, `use one of ${METHODS.join(', ')}`);
  if (!operation.path.startsWith('/')) throw documentFault('its path does not begin with /', 'write the / in paths');
  // Documents tell operations of one path apart by what follows a `#`, which is not part of a request (OAS-12).
  const path = operation.path.replace(/#.*$/s, '');
  const input = toInput(located, parameters, document, writers.input);
  const missing = [...path.matchAll(/\{([^{}]+)\}/g)].find(
    ([, one]) => !input.parameters.some((parameter) => parameter.in === 'path' && parameter.name === one),
  );
  if (missing !== undefined)
    throw documentFault(`has no parameter for ${quoteOutside(missing[0], 60)}`, 'declare it with in: path');
  const output = toOutput(located, document, writers.output);
  inspectSchema(input.schema, { foreign: true });
  const action: HttpAction = {
    kind: 'http',
    file: document.file,
    identity: document.files.get(document.file) as FileIdentity,
    document: group,
    method: method.toUpperCase(),
    server: toServer(operation.servers, settings.server),
    path,
    parameters: input.parameters,
    body: input.body,
    security: toSecurity(node.security ?? document.root.security, document),
    accept: output.accept,
  };
  const body: DraftBody = { input: input.schema, output: output.schema, action };
  const draft: Draft = {
    name,
    description: toDescription(node, method, operation.path),
    ...(typeof node.summary === 'string' && { title: clean(node.summary).slice(0, 120) }),
    tags: toTags(node.tags),
    ...(node[LABELS] === undefined ? {} : { labels: toTags(node[LABELS]) }),
    method: action.method,
    body: () => body,
  };
  return { draft, left: input.left };
}

const LABELS = 'x-wield-labels';

function toTags(given: unknown): string[] {
  return normalizeTags([given].flat().filter((tag) => typeof tag === 'string'));
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
