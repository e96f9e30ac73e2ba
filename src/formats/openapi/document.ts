// Reads an OpenAPI document and the files beside it that it refers to; nothing is fetched.

import { dirname, extname, relative, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { FileState } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import { findSyntaxFault } from '../../core/json-syntax.js';
import type { Boundary } from '../../core/origin.js';
import type { Finding } from '../../core/problem.js';
import { type JsonSchema, lookUp } from '../../core/schema.js';
import { decodeUri, quoteOutside } from '../../core/text.js';
import { readHead, statIdentity, statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { parseYaml } from '../../files/yaml.js';

export type Node = Readonly<Record<string, unknown>>;

/** A part of a document, and the file that it is in: references are relative to it. */
export interface Located {
  readonly node: Node;
  readonly file: string;
}

export interface OpenDocument {
  readonly root: Node;
  readonly file: string;
  /** The files that were read, with their states. */
  readonly files: ReadonlyMap<string, FileState>;
  /** Follows the `$ref` of a node, if it has one. Throws `invalid_definition`. */
  follow(located: Located): Located;
  /** Returns what a reference means. Throws `invalid_definition`. */
  resolve(ref: string, file: string): Located;
  /** Bytes that were read so far. */
  size(): number;
}

/** The error for a document that cannot be used, in words that follow its name. */
export function documentFault(message: string, hint: string, line?: number): ToolError {
  return new ToolError('invalid_definition', message, { hint, data: { line } });
}

/** Returns what is wrong with a document. */
export function toFinding({ message, hint = 'fix the document', data }: ToolError): Finding {
  return { message, hint, line: data?.line as number | undefined };
}

const MAX_BYTES = 64 * 1024 * 1024;

/** How much may be read; `isExceeded` is set by what was left out because of it. */
export interface ReadLimits {
  /** Bytes of all files. */
  readonly bytes: number;
  /** Values of all schemas, in addition to one for each byte that was read. */
  readonly values: number;
  isExceeded: boolean;
}

export function createLimits({ bytes = MAX_BYTES, values = 200_000 } = {}): ReadLimits {
  return { bytes, values, isExceeded: false };
}
const MAX_FILES = 5000;
const MAX_STEPS = 32;

/** Opens a document; `onRead` gets the bytes of each file. Throws `invalid_definition`. */
export function openDocument(
  file: string,
  boundary: Boundary | undefined,
  limits: ReadLimits,
  onRead?: (path: string, bytes: Buffer) => void,
): OpenDocument {
  const files = new Map<string, FileState>();
  const roots = new Map<string, Node>();
  let size = 0;
  const folder = realPath(dirname(file)) ?? dirname(file);
  const own = realPath(file) ?? file;

  const load = (path: string): Node => {
    const known = roots.get(path);
    if (known !== undefined) return known;
    if (roots.size >= MAX_FILES)
      throw documentFault(`refers to more than ${MAX_FILES} files`, 'join them into one document');
    const isTooLarge = size + (statOrNothing(path)?.size ?? 0) > limits.bytes;
    limits.isExceeded ||= isTooLarge;
    if (isTooLarge) throw documentFault('is larger than 64 MB', 'keep the operations that you need');
    const reading = readHead(path, limits.bytes + 1, { within: boundary });
    if ('fault' in reading)
      throw documentFault(
        `${relative(dirname(file), path) || 'the file'} cannot be read: ${reading.message}`,
        'check the file and its permissions',
      );
    files.set(path, reading.identity);
    size += reading.bytes.length;
    onRead?.(path, reading.bytes);
    if (!reading.complete) throw documentFault('changes while it is read', 'try again');
    const root = parseText(reading.bytes.toString('utf8'), path);
    if (!isRecord(root)) throw documentFault('is not an object', 'an OpenAPI document is a mapping');
    roots.set(path, root);
    return root;
  };

  const locate = (target: string, from: string): string => {
    if (target === '') return from;
    if (/^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('//'))
      throw documentFault(
        `refers to ${quoteOutside(target, 120)}, which is on another machine`,
        'put a copy of it next to the document',
      );
    const path = resolve(dirname(from), decodeUri(target));
    const real = realPath(path);
    if (real === undefined || !isWithin(folder, real))
      throw documentFault(
        `refers to ${quoteOutside(target, 120)}, which is ${real === undefined ? 'missing' : 'outside of its folder'}`,
        'put it next to the document',
      );
    // The link may lead to another file later.
    if (real !== path) files.set(path, statIdentity(path));
    return real;
  };

  const resolveRef = (ref: string, from: string): Located => {
    const at = ref.indexOf('#');
    const path = locate(at === -1 ? ref : ref.slice(0, at), from);
    const node = lookUp(load(path) as JsonSchema, at === -1 ? '#' : ref.slice(at));
    if (!isRecord(node))
      throw documentFault(`refers to ${quoteOutside(ref, 120)}, which does not exist`, 'fix the reference');
    return { node, file: path };
  };

  const follow = (located: Located): Located => {
    let here = located;
    for (let step = 0; step < MAX_STEPS; step++) {
      const { $ref } = here.node;
      if (typeof $ref !== 'string') return here;
      here = resolveRef($ref, here.file);
    }
    throw documentFault('has a reference that leads back to itself', 'fix the reference');
  };

  return { root: load(own), file: own, files, follow, resolve: resolveRef, size: () => size };
}

function parseText(text: string, path: string): unknown {
  const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (extname(path).toLowerCase() === '.json' || /^\s*\{/.test(plain)) {
    try {
      return JSON.parse(plain);
    } catch {
      if (extname(path).toLowerCase() === '.json') throw invalidJson(plain);
    }
  }
  const parsed = parseYaml(plain, { maxAliasCount: 1000, uniqueKeys: false });
  if ('document' in parsed) return parsed.document;
  throw documentFault(`is not valid YAML: ${parsed.message}`, 'fix the line', parsed.line);
}

function invalidJson(text: string): ToolError {
  const { problem, line } = findSyntaxFault(text);
  return documentFault(`is not valid JSON: ${problem}`, 'fix the line', line);
}
