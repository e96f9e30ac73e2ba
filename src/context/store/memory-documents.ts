// A document store in memory, for tests and for programs that write nothing to disk.

import type {
  ContentKind,
  DocumentStore,
  DocumentVersion,
  SearchHit,
  StoredDocument,
  WriteOptions,
} from '../../core/store.js';
import { isBelow, parseLogicalPath, parseLogicalPrefix } from '../logical-path.js';
import { describeContent, toBytes } from './describe-content.js';
import { changedDocument, existingDocument, missingDocument, missingVersion } from './document-errors.js';
import { type Chunk, foldText, isUnspaced, toChunks, toIndexed, toSnippet, toTerms, toWords } from './search-terms.js';

interface Version {
  readonly content: Uint8Array | null;
  readonly kind: ContentKind;
  readonly created: number;
}

/** Versions by path, oldest first. */
type Documents = Map<string, readonly Version[]>;

/** Creates a store with initial documents by path. */
export function createDocumentMemory(now: () => number, initial: Readonly<Record<string, string>> = {}): DocumentStore {
  const documents: Documents = new Map();
  const add = (path: string, content: Uint8Array | null, kind: ContentKind): DocumentVersion => {
    const version: Version = { content, kind, created: now() };
    const versions = [...(documents.get(path) ?? []), version];
    documents.set(path, versions);
    return toVersion(path, versions.length, version);
  };
  const put = (path: string, content: Uint8Array, { overwrite = false, replaces }: WriteOptions): DocumentVersion => {
    const before = documents.get(path) ?? [];
    if (replaces !== undefined && before.length !== replaces) throw changedDocument(path);
    if (!overwrite && replaces === undefined && before.at(-1)?.content) throw existingDocument(path);
    return add(path, Uint8Array.from(content), describeContent(content).kind);
  };
  for (const [path, text] of Object.entries(initial)) put(parseLogicalPath(path), toBytes(text), {});

  return {
    async write(text, content, options = {}) {
      return put(parseLogicalPath(text), toBytes(content), options);
    },
    async read(text, version) {
      const { content, ...found } = find(documents, parseLogicalPath(text), version);
      return { ...found, content: content.slice() };
    },
    async open(text, version) {
      const { content, ...found } = find(documents, parseLogicalPath(text), version);
      return { ...found, read: (offset, length) => content.subarray(offset, offset + length), close: () => {} };
    },
    async list(prefix) {
      const below = parseLogicalPrefix(prefix);
      return listLive(documents)
        .filter(({ path }) => isBelow(path, below))
        .map(({ content: _, ...version }) => version)
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    async versions(text) {
      return versionsOf(documents, parseLogicalPath(text));
    },
    async remove(text) {
      const path = parseLogicalPath(text);
      find(documents, path);
      return add(path, null, 'text');
    },
    async copy(from, to, options = {}) {
      return put(parseLogicalPath(to), find(documents, parseLogicalPath(from)).content, options);
    },
    async search(query, { prefix, limit = 10 } = {}) {
      const terms = toTerms(query);
      const below = parseLogicalPrefix(prefix);
      return listLive(documents)
        .filter(({ path, kind }) => kind !== 'binary' && isBelow(path, below))
        .flatMap(({ path, content }) => findBest(path, Buffer.from(content).toString('utf8'), terms))
        .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
        .slice(0, limit);
    },
    async clean() {
      return { files: 0, bytes: 0 };
    },
    close() {},
  };
}

function toVersion(path: string, version: number, { content, kind, created }: Version): DocumentVersion {
  return { path, version, size: content?.length ?? null, kind, created };
}

function versionsOf(documents: Documents, path: string): DocumentVersion[] {
  return (documents.get(path) ?? []).map((one, at) => toVersion(path, at + 1, one)).reverse();
}

function listLive(documents: Documents): StoredDocument[] {
  return [...documents].flatMap(([path, versions]) => {
    const newest = versions.at(-1)!;
    const { content } = newest;
    return content === null ? [] : [{ ...toVersion(path, versions.length, newest), size: content.length, content }];
  });
}

function find(documents: Documents, path: string, version?: number): StoredDocument {
  const versions = documents.get(path) ?? [];
  const number = version ?? versions.length;
  const found = versions[number - 1];
  if (found?.content) return { ...toVersion(path, number, found), size: found.content.length, content: found.content };
  if (version !== undefined) throw missingVersion(path, version, versionsOf(documents, path));
  throw missingDocument(
    path,
    listLive(documents).map((other) => other.path),
    found === undefined ? undefined : number - 1,
  );
}

// Ranks chunks by how many terms they contain, then by frequency: enough for the few documents that fit into memory.
function findBest(path: string, text: string, terms: readonly string[]): SearchHit[] {
  let best: { chunk: Chunk; score: number } | undefined;
  for (const chunk of toChunks(text)) {
    const words = toWords(toIndexed(chunk.text));
    const counts = terms.map((term) =>
      isUnspaced(term) ? foldText(chunk.text).split(term).length - 1 : words.filter((word) => word === term).length,
    );
    const score =
      counts.filter((count) => count > 0).length + counts.reduce((sum, count) => sum + count, 0) / (words.length + 1);
    if (score > (best?.score ?? 0)) best = { chunk, score };
  }
  if (best === undefined) return [];
  const { chunk, score } = best;
  const { startLine, endLine } = chunk;
  return [{ path, startLine, endLine, snippet: toSnippet(chunk.text, terms), score }];
}
