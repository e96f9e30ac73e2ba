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
import { foldText, isUnspaced, toChunks, toIndexed, toSnippet, toTerms, toWords } from './search-terms.js';

/** Without content, it is a deletion. */
interface Version extends DocumentVersion {
  readonly content?: Uint8Array;
}

/** Creates a store with initial documents by path. */
export function createDocumentMemory(now: () => number, initial: Readonly<Record<string, string>> = {}): DocumentStore {
  // Versions by path, oldest first.
  const documents = new Map<string, readonly Version[]>();
  const versionsOf = (path: string): readonly Version[] => documents.get(path) ?? [];
  const listLive = (): StoredDocument[] => [...documents.values()].map((versions) => versions.at(-1)!).filter(isLive);
  const add = (path: string, kind: ContentKind, content?: Uint8Array): DocumentVersion => {
    const versions = versionsOf(path);
    const version = { path, version: versions.length + 1, size: content?.length ?? null, kind, created: now() };
    documents.set(path, [...versions, { ...version, content }]);
    return version;
  };
  const put = (path: string, content: Uint8Array, { overwrite = false, replaces }: WriteOptions): DocumentVersion => {
    const before = versionsOf(path);
    if (replaces !== undefined && before.length !== replaces) throw changedDocument(path);
    if (!overwrite && replaces === undefined && before.at(-1)?.content) throw existingDocument(path);
    return add(path, describeContent(content).kind, Uint8Array.from(content));
  };
  const find = (path: string, version?: number): StoredDocument => {
    const versions = versionsOf(path);
    const found = versions[(version ?? versions.length) - 1];
    if (found !== undefined && isLive(found)) return found;
    if (version !== undefined) throw missingVersion(path, version, versions.toReversed());
    const others = listLive().map((other) => other.path);
    throw missingDocument(path, others, found && found.version - 1);
  };
  for (const [path, text] of Object.entries(initial)) put(parseLogicalPath(path), toBytes(text), {});

  return {
    async write(text, content, options = {}) {
      return put(parseLogicalPath(text), toBytes(content), options);
    },
    async read(text, version) {
      const found = find(parseLogicalPath(text), version);
      return { ...found, content: found.content.slice() };
    },
    async open(text, version) {
      const { content, ...found } = find(parseLogicalPath(text), version);
      return { ...found, read: (offset, length) => content.subarray(offset, offset + length), close: () => {} };
    },
    async list(prefix) {
      const below = parseLogicalPrefix(prefix);
      return listLive()
        .filter(({ path }) => isBelow(path, below))
        .map(withoutContent)
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    async versions(text) {
      return versionsOf(parseLogicalPath(text)).map(withoutContent).reverse();
    },
    async remove(text) {
      const { path } = find(parseLogicalPath(text));
      return add(path, 'text');
    },
    async copy(from, to, options = {}) {
      return put(parseLogicalPath(to), find(parseLogicalPath(from)).content, options);
    },
    async search(query, { prefix, limit = 10 } = {}) {
      const terms = toTerms(query);
      const below = parseLogicalPrefix(prefix);
      return listLive()
        .filter(({ path, kind }) => kind !== 'binary' && isBelow(path, below))
        .flatMap((document) => findBest(document, terms))
        .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
        .slice(0, limit);
    },
    async clean() {
      return { files: 0, bytes: 0 };
    },
    close() {},
  };
}

function isLive(version: Version): version is StoredDocument {
  return version.content !== undefined;
}

function withoutContent({ content: _, ...version }: Version): DocumentVersion {
  return version;
}

// Ranks chunks by how many terms they contain, then by frequency: enough for the few documents that fit into memory.
function findBest({ path, content }: StoredDocument, terms: readonly string[]): SearchHit[] {
  let best: SearchHit | undefined;
  for (const { text, startLine, endLine } of toChunks(Buffer.from(content).toString('utf8'))) {
    const words = toWords(toIndexed(text));
    const counts = terms.map((term) =>
      isUnspaced(term) ? foldText(text).split(term).length - 1 : words.filter((word) => word === term).length,
    );
    const score =
      counts.filter((count) => count > 0).length + counts.reduce((sum, count) => sum + count, 0) / (words.length + 1);
    if (score > (best?.score ?? 0)) best = { path, startLine, endLine, snippet: toSnippet(text, terms), score };
  }
  return best === undefined ? [] : [best];
}
