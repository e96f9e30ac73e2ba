// The cache of large documents: each as it was read, while the bytes of its files are the same (OAS-11).

import type { FileState } from '../../core/format.js';
import { isRecord, type Json, type JsonObject, mapValues } from '../../core/json.js';
import type { FileIdentity } from '../../core/origin.js';
import type { JsonSchema } from '../../core/schema.js';
import type { World } from '../../core/snapshot.js';
import { createCacheFiles } from '../../files/cache.js';
import { loadCrypto } from '../../files/digest.js';
import { readHead, statIdentity } from '../../files/read.js';
import { realPath } from '../../files/within.js';
import { findEntry } from '../../process/entry.js';
import type { Draft, DraftBody } from './operations.js';
import { keyOf, type Prepared, type PrepareOptions, THREAD_ENTRY } from './prepare.js';

/** The first line of a packed document. A line follows for each definition, then one for the body of each operation. */
interface PackedHead extends Omit<Prepared, 'drafts'> {
  /** SHA-256 of the bytes that were read, by path. */
  readonly digests: Readonly<Record<string, string>>;
  readonly definitions: number;
  readonly operations: readonly Omit<Draft, 'body'>[];
}

/** Packs a document as lines of JSON; a definition that many schemas share is written once. */
export function pack({ drafts, ...prepared }: Prepared, digests: Readonly<Record<string, string>>): string {
  const numbers = new Map<Json, number>();
  const numberOf = (definition: Json): number => {
    const number = numbers.get(definition) ?? numbers.size;
    numbers.set(definition, number);
    return number;
  };
  const bodies = drafts.map(({ body }) => JSON.stringify(mapDefinitions(body(), numberOf)));
  const definitions = [...numbers.keys()].map((definition) => JSON.stringify(definition));
  const operations = drafts.map(({ body: _, ...about }) => about);
  const head: PackedHead = { ...prepared, digests, definitions: definitions.length, operations };
  return [JSON.stringify(head), ...definitions, ...bodies].join('\n');
}

/** Unpacks a document whose files have these states now; the body of an operation is parsed when it is used. */
export function unpack(packed: string, files?: Prepared['files']): Prepared {
  const [first = '', ...lines] = packed.split('\n');
  const head = JSON.parse(first) as PackedHead;
  const current = files ?? head.files;
  const [file, identity] = current[0]! as readonly [string, FileIdentity];
  const definitions: Json[] = [];
  const definitionAt = (number: Json): Json => {
    const at = number as number;
    definitions[at] ??= JSON.parse(lines[at]!) as Json;
    return definitions[at];
  };
  const drafts = head.operations.map((about, at): Draft => {
    let known: DraftBody | undefined;
    const parse = (): DraftBody => {
      const { action, ...schemas } = JSON.parse(lines[head.definitions + at]!) as DraftBody;
      return mapDefinitions({ ...schemas, action: { ...action, file, identity } }, definitionAt);
    };
    const body = (): DraftBody => {
      known ??= parse();
      return known;
    };
    return { ...about, body };
  });
  return { drafts, findings: head.findings, names: head.names, files: current };
}

function mapDefinitions({ action, input, output }: DraftBody, map: (definition: Json) => Json): DraftBody {
  return { action, input: mapIn(input, map), output: output && mapIn(output, map) };
}

function mapIn(schema: JsonSchema, map: (definition: Json) => Json): JsonSchema {
  const { $defs } = schema;
  return isRecord($defs) ? { ...schema, $defs: mapValues($defs as JsonObject, map) } : schema;
}

export interface DocumentCacheOptions {
  readonly cacheDirectory: string;
  readonly world: World;
}

export type DocumentCache = ReturnType<typeof createDocumentCache>;

// As large as the files of a document may be.
const MAX_BYTES = 64 * 1024 * 1024;

export function createDocumentCache({ cacheDirectory, world }: DocumentCacheOptions) {
  const stored = createCacheFiles({ directory: cacheDirectory, extension: '.openapi', debug: world.debug });
  // What converts documents is in the program of the thread, so another build reads them again.
  const labelOf = (file: string, options: PrepareOptions): string =>
    JSON.stringify(['wield-openapi', statIdentity(findEntry(THREAD_ENTRY)), keyOf(file, options)]);
  return {
    /** Returns the document if this build stored it and its files have the same bytes. */
    async load(file: string, options: PrepareOptions): Promise<Prepared | undefined> {
      const known = stored.read(labelOf(file, options), (packed) => ({ packed, head: readHeadLine(packed) }));
      const files = known && (await compareFiles(known.head, file, options));
      return known && files && unpack(known.packed, files);
    },
    save: (file: string, options: PrepareOptions, packed: string): void => stored.write(labelOf(file, options), packed),
  };
}

function readHeadLine(packed: string): PackedHead {
  return JSON.parse(packed.slice(0, packed.indexOf('\n'))) as PackedHead;
}

// Returns the states of the files, undefined if one of them has other bytes.
async function compareFiles(
  { digests, files }: PackedHead,
  file: string,
  { boundary }: PrepareOptions,
): Promise<Prepared['files'] | undefined> {
  if (files[0]?.[0] !== (realPath(file) ?? file)) return undefined;
  const states: [string, FileState][] = [];
  for (const [path] of files) {
    const reading = readHead(path, MAX_BYTES + 1, { within: boundary });
    if ('fault' in reading || !reading.complete) return undefined;
    // Hashed in a thread of Node, because a document may have 64 MB.
    const digest = Buffer.from(await loadCrypto().subtle.digest('SHA-256', reading.bytes)).toString('hex');
    if (digest !== digests[path]) return undefined;
    states.push([path, reading.identity]);
  }
  return states;
}
