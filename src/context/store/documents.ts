// Documents in an embedded database: versions and a text index in tables, payloads in files named by content.

import { closeSync, mkdirSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { parseLogicalPath, parseLogicalPrefix } from '../../core/logical-path.js';
import type {
  ContentKind,
  DocumentStore,
  DocumentVersion,
  OpenDocument,
  SearchHit,
  StoredDocument,
  WriteOptions,
} from '../../core/store.js';
import { loadCrypto } from '../../files/crypto.js';
import { readHead, withFile } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import { toChunks } from './chunks.js';
import { guarded, inTransaction, openStore, openWriter, toStoreError } from './database.js';
import { changed, conflict, gone, missing, noVersion } from './document-errors.js';
import type { Database, Row } from './driver.js';
import { describeContent, toBytes } from './kind.js';
import { toSnippet, toWords } from './words.js';

export interface DocumentFilesOptions {
  /** Holds the database and the payloads; made when first needed. */
  readonly directory: string;
  readonly now: () => number;
}

const MAX_VERSIONS = 100;
const MAX_DOCUMENT_BYTES = 1024 * 1024 * 1024;
// What is larger can be read and queried; cutting it into words would take longer than anyone waits.
const MAX_INDEXED_BYTES = 64 * 1024 * 1024;
// Some ten milliseconds of work; then others have their turn.
const SLICE_BYTES = 256 * 1024;

export function createDocumentFiles({ directory, now }: DocumentFilesOptions): DocumentStore {
  const payloads = join(directory, 'payloads');
  let reader: Database | undefined;
  let writer: Database | undefined;
  let lastChange: Promise<unknown> = Promise.resolve();

  const open = (how: (file: string) => Database): Database => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return how(join(directory, 'documents.db'));
  };
  const database = (): Database => {
    reader ??= open(openStore);
    return reader;
  };

  /**
   * Everything in one transaction that nobody else writes in; it happens as a whole or not at all. It may take several
   * turns of this process: changes wait for each other, and whoever reads meanwhile sees what was before.
   */
  const change = <T>(work: (db: Database) => T | Promise<T>): Promise<T> => {
    const mine = lastChange.then(async () => {
      try {
        writer ??= open(openWriter);
        return await inTransaction(writer, work);
      } catch (error) {
        throw toStoreError(error);
      }
    });
    lastChange = mine.catch(() => {});
    return mine;
  };

  const payloadFile = (hash: string): string => join(payloads, hash.slice(0, 2), hash);

  // Within the transaction, so that no cleaning can take a payload away between its writing and its row.
  const keepPayload = (content: Uint8Array): string => {
    const hash = loadCrypto().createHash('sha256').update(content).digest('hex');
    const file = payloadFile(hash);
    if (statSync(file, { throwIfNoEntry: false })?.size !== content.length) {
      writeFileAtomic(file, content, { durable: false });
    }
    return hash;
  };

  const readPayload = (hash: string, path: string): Uint8Array => {
    const reading = readHead(payloadFile(hash), MAX_DOCUMENT_BYTES);
    if ('fault' in reading || !reading.complete) throw gone(path);
    return reading.bytes;
  };

  // Of a large document only the passage is read.
  const readPassage = (hash: string, path: string, start: number, length: number): string => {
    const bytes = withFile(payloadFile(hash), (descriptor) => {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, start));
    });
    if ('fault' in bytes) throw gone(path);
    return bytes.toString('utf8');
  };

  const addVersion = (
    db: Database,
    path: string,
    payload: { hash: string; size: number; kind: ContentKind } | null,
  ): DocumentVersion => {
    const known = db.prepare('SELECT id, version FROM documents WHERE path = ?').get(path);
    const version = Number(known?.version ?? 0) + 1;
    const created = now();
    const kind = payload?.kind ?? 'text';
    db.prepare('INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)').run(
      path,
      version,
      payload?.hash ?? null,
      payload?.size ?? null,
      kind,
      created,
    );
    db.prepare('DELETE FROM versions WHERE path = ? AND version <= ?').run(path, version - MAX_VERSIONS);
    db.prepare(
      `INSERT INTO documents (path, version, live) VALUES (?1, ?2, ?3)
       ON CONFLICT (path) DO UPDATE SET version = ?2, live = ?3`,
    ).run(path, version, payload === null ? 0 : 1);
    return { path, version, size: payload?.size ?? null, kind, created };
  };

  const index = async (db: Database, path: string, content: Uint8Array, kind: ContentKind): Promise<void> => {
    const id = db.prepare('SELECT id FROM documents WHERE path = ?').get(path)!.id!;
    db.prepare('DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)').run(id);
    db.prepare('DELETE FROM chunks WHERE document = ?').run(id);
    if (kind === 'binary' || content.length > MAX_INDEXED_BYTES) return;
    // Numbered here, where nobody else writes: to have the number returned takes longer than all the rest.
    let chunkId = Number(db.prepare('SELECT max(id) AS last FROM chunks').get()?.last ?? 0);
    const addChunk = db.prepare(
      'INSERT INTO chunks (id, document, start_line, end_line, start, length) VALUES (?, ?, ?, ?, ?, ?)',
    );
    const addWords = db.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)');
    let start = 0;
    let rested = 0;
    for (const chunk of toChunks(Buffer.from(content).toString('utf8'))) {
      const length = Buffer.byteLength(chunk.text);
      addChunk.run(++chunkId, id, chunk.startLine, chunk.endLine, start, length);
      addWords.run(chunkId, chunk.text);
      start += length;
      if (start - rested < SLICE_BYTES) continue;
      rested = start;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  const newest = (db: Database, path: string): Row | undefined =>
    db
      .prepare(
        `SELECT v.* FROM documents d JOIN versions v ON v.path = d.path AND v.version = d.version
         WHERE d.path = ?`,
      )
      .get(path);

  const put = async (
    path: string,
    content: Uint8Array,
    { overwrite = false, replaces }: WriteOptions,
  ): Promise<DocumentVersion> => {
    if (content.length > MAX_DOCUMENT_BYTES) {
      throw new ToolError('too_large', `${path} would be larger than 1 GiB`, {
        hint: 'split it into several documents',
      });
    }
    return change(async (db) => {
      const before = newest(db, path);
      if (replaces !== undefined) {
        if (before?.version !== replaces) throw changed(path);
      } else if (before !== undefined && before.payload !== null && !overwrite) throw conflict(path);
      const { kind } = describeContent(content);
      const hash = keepPayload(content);
      const version = addVersion(db, path, { hash, size: content.length, kind });
      await index(db, path, content, kind);
      return version;
    });
  };

  const find = (
    path: string,
    version: number | undefined,
    db: Database = database(),
  ): Row & { readonly payload: string } => {
    const row =
      version === undefined
        ? newest(db, path)
        : db.prepare('SELECT * FROM versions WHERE path = ? AND version = ?').get(path, version);
    if (row !== undefined && row.payload !== null) return row as Row & { readonly payload: string };
    if (version !== undefined) throw noVersion(path, version, listVersions(path));
    const near = db.prepare('SELECT path FROM documents WHERE live = 1').all();
    throw missing(
      path,
      near.map((other) => String(other.path)),
      row === undefined ? undefined : Number(row.version) - 1,
    );
  };

  const listVersions = (path: string): DocumentVersion[] =>
    database()
      .prepare('SELECT * FROM versions WHERE path = ? ORDER BY version DESC')
      .all(path)
      .map(toVersion);

  return {
    async write(text, content, options = {}) {
      return put(parseLogicalPath(text), toBytes(content), options);
    },
    async read(text, version) {
      const path = parseLogicalPath(text);
      return guarded((): StoredDocument => {
        const row = find(path, version);
        const content = readPayload(row.payload, path);
        return { ...toVersion(row), size: content.length, content, file: payloadFile(row.payload) };
      });
    },
    async open(text, version) {
      const path = parseLogicalPath(text);
      return guarded((): OpenDocument => {
        const row = find(path, version);
        const file = payloadFile(row.payload);
        return { ...toVersion(row), size: Number(row.size), file, ...openPayload(file, path) };
      });
    },
    async list(prefix) {
      const below = parseLogicalPrefix(prefix);
      return guarded(() =>
        database()
          .prepare(
            `SELECT v.* FROM documents d JOIN versions v ON v.path = d.path AND v.version = d.version
             WHERE d.live = 1 AND ${BELOW} ORDER BY d.path`,
          )
          .all(...rangeOf(below))
          .map(toVersion),
      );
    },
    async versions(text) {
      const path = parseLogicalPath(text);
      return guarded(() => listVersions(path));
    },
    async remove(text) {
      const path = parseLogicalPath(text);
      return change(async (db) => {
        find(path, undefined, db);
        const version = addVersion(db, path, null);
        await index(db, path, new Uint8Array(), 'binary');
        return version;
      });
    },
    async copy(from, to, options = {}) {
      const source = parseLogicalPath(from);
      const row = guarded(() => find(source, undefined));
      return put(parseLogicalPath(to), readPayload(row.payload, source), options);
    },
    async search(query, { prefix, limit = 10 } = {}) {
      const words = toWords(query);
      const below = parseLogicalPrefix(prefix);
      if (words.length === 0) return [];
      return guarded(() => {
        const rows = searchRows(database(), words, below, limit);
        return rows.map((row): SearchHit => {
          const path = String(row.path);
          const passage = readPassage(String(row.payload), path, Number(row.start), Number(row.length));
          return {
            path,
            startLine: Number(row.start_line),
            endLine: Number(row.end_line),
            snippet: toSnippet(passage, words),
            // The database's rank is better the lower it is.
            score: -Number(row.rank),
          };
        });
      });
    },
    async clean({ dryRun = false } = {}) {
      if (statSync(directory, { throwIfNoEntry: false }) === undefined) return { files: 0, bytes: 0 };
      return change((db) => {
        const needed = new Set(
          db
            .prepare('SELECT DISTINCT payload FROM versions')
            .all()
            .map((row) => row.payload),
        );
        return removeOthers(payloads, needed, dryRun);
      });
    },
    close() {
      reader?.close();
      reader = undefined;
      const writing = writer;
      writer = undefined;
      void lastChange.then(() => writing?.close());
    },
  };
}

function openPayload(file: string, path: string): Pick<OpenDocument, 'read' | 'close'> {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    throw gone(path);
  }
  return {
    read(offset, length) {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
    },
    close: () => closeSync(descriptor),
  };
}

// A path, or what lies below it: everything from its slash up to the character after that.
const BELOW = '(d.path = ? OR (d.path >= ? AND d.path < ?))';

function rangeOf(prefix: string): [string, string, string] {
  return prefix === '' ? ['', '', '\u{10ffff}'] : [prefix, `${prefix}/`, `${prefix}0`];
}

// One passage a document, so that a long one does not fill the answer. The matches first and then where they are: the
// other way round each place is looked for in the index.
function searchRows(db: Database, words: readonly string[], below: string, limit: number): readonly Row[] {
  return db
    .prepare(
      `SELECT c.*, d.path, v.payload, found.rank FROM
         (SELECT words.rowid AS id, min(rank) AS rank FROM words CROSS JOIN chunks c ON c.id = words.rowid
          CROSS JOIN documents d ON d.id = c.document WHERE words MATCH ? AND ${BELOW}
          GROUP BY c.document ORDER BY min(rank), d.path LIMIT ?) found
       JOIN chunks c ON c.id = found.id JOIN documents d ON d.id = c.document
       JOIN versions v ON v.path = d.path AND v.version = d.version ORDER BY found.rank, d.path`,
    )
    .all(words.map((word) => `"${word}"`).join(' OR '), ...rangeOf(below), limit);
}

function toVersion(row: Row): DocumentVersion {
  return {
    path: String(row.path),
    version: Number(row.version),
    size: row.size === null ? null : Number(row.size),
    kind: row.kind as ContentKind,
    created: Number(row.created),
  };
}

function removeOthers(payloads: string, needed: ReadonlySet<unknown>, dryRun: boolean) {
  let files = 0;
  let bytes = 0;
  for (const shelf of readNames(payloads)) {
    for (const name of readNames(join(payloads, shelf))) {
      if (needed.has(name)) continue;
      const file = join(payloads, shelf, name);
      bytes += statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      files++;
      if (!dryRun) rmSync(file, { force: true });
    }
  }
  return { files, bytes };
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
