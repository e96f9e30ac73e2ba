// Both stores in memory, for tests and for programs that want nothing on disk.

import { ToolError } from '../../core/error.js';
import { isBelow, parseLogicalPath, parseLogicalPrefix } from '../../core/logical-path.js';
import type {
  ContentKind,
  DocumentStore,
  DocumentVersion,
  Handle,
  ResultStore,
  SearchHit,
  WriteOptions,
} from '../../core/store.js';
import { loadCrypto } from '../../files/crypto.js';
import { type Chunk, toChunks } from './chunks.js';
import { changed, conflict, missing, noVersion } from './document-errors.js';
import { describeContent, toBytes } from './kind.js';
import { toSnippet, toWords } from './words.js';

interface Version {
  readonly content: Uint8Array | null;
  readonly kind: ContentKind;
  readonly created: number;
}

/** Documents in memory, with these by path to begin with. */
export function createDocumentMemory(
  now: () => number,
  initial: Readonly<Record<string, string>> = {},
): DocumentStore {
  const documents = new Map<string, Version[]>();

  const toVersion = (path: string, version: number, one: Version): DocumentVersion => ({
    path,
    version,
    size: one.content?.length ?? null,
    kind: one.kind,
    created: one.created,
  });

  const live = (): [string, Version & { readonly content: Uint8Array }][] =>
    [...documents].flatMap(([path, versions]) => {
      const newest = versions.at(-1)!;
      return newest.content === null ? [] : [[path, { ...newest, content: newest.content }]];
    });

  const add = (path: string, version: Version): DocumentVersion => {
    const versions = [...(documents.get(path) ?? []), version];
    documents.set(path, versions);
    return toVersion(path, versions.length, version);
  };

  const put = (
    path: string,
    content: Uint8Array,
    { overwrite = false, replaces }: WriteOptions,
  ): DocumentVersion => {
    const before = documents.get(path) ?? [];
    if (replaces !== undefined && before.length !== replaces) throw changed(path);
    if (!overwrite && replaces === undefined && before.at(-1)?.content) throw conflict(path);
    return add(path, {
      content: Uint8Array.from(content),
      kind: describeContent(content).kind,
      created: now(),
    });
  };

  const versionsOf = (path: string): DocumentVersion[] =>
    (documents.get(path) ?? []).map((one, at) => toVersion(path, at + 1, one)).reverse();

  const find = (path: string, version?: number) => {
    const versions = documents.get(path) ?? [];
    const at = version ?? versions.length;
    const found = versions[at - 1];
    if (found?.content) return { at, found: { ...found, content: found.content } };
    if (version !== undefined) throw noVersion(path, version, versionsOf(path));
    throw missing(
      path,
      live().map(([other]) => other),
      found === undefined ? undefined : at - 1,
    );
  };

  for (const [path, text] of Object.entries(initial)) put(parseLogicalPath(path), toBytes(text), {});

  return {
    async write(text, content, options = {}) {
      return put(parseLogicalPath(text), toBytes(content), options);
    },
    async read(text, version) {
      const path = parseLogicalPath(text);
      const { at, found } = find(path, version);
      return { ...toVersion(path, at, found), size: found.content.length, content: found.content.slice() };
    },
    async open(text, version) {
      const path = parseLogicalPath(text);
      const { at, found } = find(path, version);
      const { content } = found;
      return {
        ...toVersion(path, at, found),
        size: content.length,
        read: (offset, length) => content.subarray(offset, offset + length),
        close: () => {},
      };
    },
    async list(prefix) {
      const below = parseLogicalPrefix(prefix);
      return live()
        .filter(([path]) => isBelow(path, below))
        .map(([path, one]) => toVersion(path, documents.get(path)!.length, one))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    async versions(text) {
      return versionsOf(parseLogicalPath(text));
    },
    async remove(text) {
      const path = parseLogicalPath(text);
      find(path);
      return add(path, { content: null, kind: 'text', created: now() });
    },
    async copy(from, to, options = {}) {
      return put(parseLogicalPath(to), find(parseLogicalPath(from)).found.content, options);
    },
    async search(query, { prefix, limit = 10 } = {}) {
      const words = toWords(query);
      const below = parseLogicalPrefix(prefix);
      return live()
        .filter(([path, { kind }]) => kind !== 'binary' && isBelow(path, below))
        .flatMap(([path, { content }]) => findBest(path, Buffer.from(content).toString('utf8'), words))
        .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
        .slice(0, limit);
    },
    async clean() {
      return { files: 0, bytes: 0 };
    },
    close() {},
  };
}

// How many of the words a passage has, then how often: enough for the few documents that fit into memory.
function findBest(path: string, text: string, words: readonly string[]): SearchHit[] {
  let best: { chunk: Chunk; score: number } | undefined;
  for (const chunk of toChunks(text)) {
    const own =
      chunk.text
        .normalize('NFKC')
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu) ?? [];
    const counts = words.map((word) => own.filter((other) => other === word).length);
    const score =
      counts.filter((count) => count > 0).length +
      counts.reduce((sum, count) => sum + count, 0) / (own.length + 1);
    if (score > (best?.score ?? 0)) best = { chunk, score };
  }
  if (best === undefined) return [];
  const { chunk, score } = best;
  const { startLine, endLine } = chunk;
  return [{ path, startLine, endLine, snippet: toSnippet(chunk.text, words), score }];
}

/** Results in memory; they live as long as the store. */
export function createResultMemory(): ResultStore {
  const results = new Map<string, { session: string; handle: Handle; bytes: Buffer }>();
  return {
    create(session) {
      const id = `r_${loadCrypto().randomBytes(16).toString('base64url')}`;
      const chunks: Buffer[] = [];
      let ended = false;
      return {
        write(chunk) {
          if (ended) throw new ToolError('internal', 'a result was written to after its end');
          chunks.push(Buffer.from(chunk));
        },
        finish() {
          ended = true;
          const bytes = Buffer.concat(chunks);
          const handle: Handle = { id, size: bytes.length, ...describeContent(bytes) };
          results.set(id, { session, handle, bytes });
          return { handle, sha256: loadCrypto().createHash('sha256').update(bytes).digest('hex') };
        },
        discard() {
          ended = true;
        },
      };
    },
    open(id, session) {
      const found = results.get(id);
      if (found === undefined || found.session !== session) return undefined;
      const { handle, bytes } = found;
      return {
        handle,
        size: bytes.length,
        read: (offset, length) => bytes.subarray(offset, offset + length),
        close: () => {},
      };
    },
    clean: () => ({ results: 0, bytes: 0 }),
  };
}
