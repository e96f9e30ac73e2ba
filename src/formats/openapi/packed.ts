// A document as bytes that a thread sends and the cache keeps: one line per definition and three per operation.

import type { FileState } from '../../core/format.js';
import type { HttpAction } from '../../core/http.js';
import { isRecord, type Json } from '../../core/json.js';
import type { FileIdentity } from '../../core/origin.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Draft, ReadOperations } from './operations.js';

/** What a document offers. */
export interface Prepared extends ReadOperations {
  /** The files that were read, with their states; the first is the document itself. */
  readonly files: readonly (readonly [path: string, state: FileState])[];
  /** Names of all operations, also of those that are not wanted. */
  readonly names: readonly string[];
}

/** The first line. */
export interface PackedHead extends Pick<Prepared, 'files' | 'names' | 'findings'> {
  /** SHA-256 of the bytes that were read, by path. */
  readonly digests: Readonly<Record<string, string>>;
  readonly definitions: number;
}

type Schemas = Pick<Draft, 'input' | 'output'>;

const LINE_END = 10;

/** Packs a document; a definition that many schemas share is written once. */
export function pack({ drafts, ...prepared }: Prepared, digests: Readonly<Record<string, string>>): Buffer {
  const numbers = new Map<unknown, number>();
  const numberOf = (definition: Json): number => {
    const known = numbers.get(definition);
    if (known !== undefined) return known;
    numbers.set(definition, numbers.size);
    return numbers.size - 1;
  };
  const operations = drafts.flatMap(({ action, input, output, ...about }) => {
    const { file: _, identity: __, ...own } = action;
    const schemas = { input: mapIn(input, numberOf), output: output && mapIn(output, numberOf) };
    return [about, own, schemas].map((part) => JSON.stringify(part));
  });
  const definitions = [...numbers.keys()].map((definition) => JSON.stringify(definition));
  const head: PackedHead = { ...prepared, digests, definitions: definitions.length };
  return Buffer.from(`${[JSON.stringify(head), ...definitions, ...operations].join('\n')}\n`);
}

export function readPackedHead(bytes: Buffer): PackedHead {
  return JSON.parse(bytes.toString('utf8', 0, bytes.indexOf(LINE_END))) as PackedHead;
}

/** Unpacks a document whose files have these states now; an operation is parsed when it is used. */
export function unpack(bytes: Buffer, files?: Prepared['files']): Prepared {
  const head = readPackedHead(bytes);
  const lines = createLines(bytes);
  const definitions: Json[] = [];
  const definitionAt = (number: Json): Json => {
    const at = number as number;
    definitions[at] ??= lines.parse<Json>(1 + at);
    return definitions[at];
  };
  const current = files ?? head.files;
  const [file, identity] = current[0]!;
  const drafts: Draft[] = [];
  for (let at = 1 + head.definitions; at < lines.count; at += 3) {
    let action: HttpAction | undefined;
    let schemas: Schemas | undefined;
    const readSchemas = (): Schemas => {
      if (schemas !== undefined) return schemas;
      const { input, output } = lines.parse<Schemas>(at + 2);
      schemas = { input: mapIn(input, definitionAt), output: output && mapIn(output, definitionAt) };
      return schemas;
    };
    drafts.push({
      ...lines.parse<Pick<Draft, 'name' | 'description' | 'tags' | 'method'>>(at),
      get action() {
        action ??= { ...lines.parse<HttpAction>(at + 1), file, identity: identity as FileIdentity };
        return action;
      },
      get input() {
        return readSchemas().input;
      },
      get output() {
        return readSchemas().output;
      },
    });
  }
  return { drafts, findings: head.findings, names: head.names, files: current };
}

function createLines(bytes: Buffer) {
  const ends: number[] = [];
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, end + 1)) ends.push(end);
  return {
    count: ends.length,
    parse: <T>(at: number): T => JSON.parse(bytes.toString('utf8', at === 0 ? 0 : ends[at - 1]! + 1, ends[at])) as T,
  };
}

function mapIn(schema: JsonSchema, map: (definition: Json) => Json): JsonSchema {
  const { $defs } = schema;
  if (!isRecord($defs)) return schema;
  const mapped = Object.entries($defs).map(([name, definition]) => [name, map(definition as Json)]);
  return { ...schema, $defs: Object.fromEntries(mapped) };
}
