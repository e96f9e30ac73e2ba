// Reads an OpenAPI document and the files beside it that it refers to; nothing is fetched.

import { basename, dirname, extname, relative, resolve } from 'node:path';
import type { Boundary, FileState } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import { findSyntaxFault } from '../../core/json-syntax.js';
import { type JsonSchema, lookUp } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { readHead, sameIdentity } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { type ParsedYaml, parseYamlInThread, YAML_OPTIONS } from './yaml-thread.js';

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
  /** Follows the `$ref` of a node, if it has one. Throws DocumentFault. */
  follow(located: Located): Located;
  /** Returns what a reference means. Throws DocumentFault. */
  resolve(ref: string, file: string): Located;
  /** Bytes that were read so far. */
  size(): number;
}

/** What is wrong with a document, in words for people. */
export class DocumentFault extends Error {
  readonly hint: string;
  readonly line: number | undefined;

  constructor(message: string, hint: string, line?: number) {
    super(message);
    this.hint = hint;
    this.line = line;
  }
}

/** Thrown for a document that must be parsed in a thread first. */
export class Unparsed extends Error {
  readonly bytes: Uint8Array;
  readonly identity: FileState;

  constructor(bytes: Uint8Array, identity: FileState) {
    super('is not parsed yet');
    this.bytes = bytes;
    this.identity = identity;
  }
}

interface Parsed {
  readonly yaml: ParsedYaml;
  readonly identity: FileState;
}

// Larger YAML would block the process for longer than a quarter of a second.
const MAX_YAML_HERE = 256 * 1024;
const MAX_YAML_BESIDE = 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 5000;
const MAX_STEPS = 32;

/** Opens a document. Throws DocumentFault or Unparsed. */
export function openDocument(file: string, boundary: Boundary | undefined, parsed?: Parsed): OpenDocument {
  const files = new Map<string, FileState>();
  const roots = new Map<string, Node>();
  let size = 0;
  const folder = realPath(dirname(file)) ?? dirname(file);
  const own = realPath(file) ?? file;

  const load = (path: string): Node => {
    const known = roots.get(path);
    if (known !== undefined) return known;
    if (roots.size >= MAX_FILES)
      throw new DocumentFault(`refers to more than ${MAX_FILES} files`, 'join them into one document');
    const reading = readHead(path, MAX_BYTES, { within: boundary });
    if ('fault' in reading)
      throw new DocumentFault(
        `${relative(dirname(file), path) || 'the file'} cannot be read: ${reading.message}`,
        'check the file and its permissions',
      );
    files.set(path, reading.identity);
    size += reading.bytes.length;
    if (!reading.complete) throw new DocumentFault('is larger than 64 MB', 'keep the operations that you need');
    const { bytes, identity } = reading;
    const isKnown = path === own && parsed?.identity !== undefined && sameIdentity(parsed.identity, identity);
    const root = isKnown
      ? readParsed(parsed.yaml)
      : parseText(bytes.toString('utf8'), path, path === own ? MAX_YAML_HERE : MAX_YAML_BESIDE);
    if (root === TOO_LARGE && path === own) throw new Unparsed(bytes, identity);
    if (root === TOO_LARGE)
      throw new DocumentFault(`refers to ${basename(path)}, which is YAML above 1 MB`, 'convert it to JSON');
    if (!isRecord(root)) throw new DocumentFault('is not an object', 'an OpenAPI document is a mapping');
    roots.set(path, root);
    return root;
  };

  const locate = (target: string, from: string): string => {
    if (target === '') return from;
    if (/^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('//'))
      throw new DocumentFault(
        `refers to ${quoteOutside(target, 120)}, which is on another machine`,
        'put a copy of it next to the document',
      );
    const path = resolve(dirname(from), decodeText(target));
    const real = realPath(path);
    if (real === undefined || !isWithin(folder, real))
      throw new DocumentFault(
        `refers to ${quoteOutside(target, 120)}, which is ${real === undefined ? 'missing' : 'outside of its folder'}`,
        'put it next to the document',
      );
    return real;
  };

  const resolveRef = (ref: string, from: string): Located => {
    const at = ref.indexOf('#');
    const path = locate(at === -1 ? ref : ref.slice(0, at), from);
    const node = lookUp(load(path) as JsonSchema, at === -1 ? '#' : ref.slice(at));
    if (!isRecord(node))
      throw new DocumentFault(`refers to ${quoteOutside(ref, 120)}, which does not exist`, 'fix the reference');
    return { node, file: path };
  };

  const follow = (located: Located): Located => {
    let here = located;
    for (let step = 0; step < MAX_STEPS; step++) {
      const { $ref } = here.node;
      if (typeof $ref !== 'string') return here;
      here = resolveRef($ref, here.file);
    }
    throw new DocumentFault('has a reference that leads back to itself', 'fix the reference');
  };

  return { root: load(own), file: own, files, follow, resolve: resolveRef, size: () => size };
}

/** Opens a document that may be large, without blocking the process. Throws DocumentFault, or Unparsed if it changed. */
export async function openInThread(file: string, boundary: Boundary | undefined): Promise<OpenDocument> {
  try {
    return openDocument(file, boundary);
  } catch (error) {
    if (!(error instanceof Unparsed)) throw error;
    const { identity, bytes } = error;
    return openDocument(file, boundary, { identity, yaml: await parseYamlInThread(bytes) });
  }
}

function readParsed(yaml: ParsedYaml): unknown {
  if ('message' in yaml) throw invalidYaml(yaml);
  return JSON.parse(yaml.json);
}

const TOO_LARGE = Symbol('too large');

function parseText(text: string, path: string, most: number): unknown {
  const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (extname(path).toLowerCase() === '.json' || /^\s*\{/.test(plain)) {
    try {
      return JSON.parse(plain);
    } catch {
      if (extname(path).toLowerCase() === '.json') throw invalidJson(plain);
    }
  }
  if (plain.length > most) return TOO_LARGE;
  const { createRequire } = process.getBuiltinModule('node:module');
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    return yaml.parse(plain, YAML_OPTIONS);
  } catch (error) {
    throw invalidYaml(error as Error);
  }
}

function invalidJson(text: string): DocumentFault {
  const { problem, line } = findSyntaxFault(text);
  return new DocumentFault(`is not valid JSON: ${problem}`, 'fix the line', line);
}

function invalidYaml({ message, linePos }: Exclude<ParsedYaml, { json: string }>): DocumentFault {
  const [reason = ''] = message.split('\n')[0]!.split(/ at line \d/);
  const shown = quoteOutside(reason.replace(/:$/, ''), 160);
  return new DocumentFault(`is not valid YAML: ${shown}`, 'fix the line', linePos?.[0]?.line);
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
