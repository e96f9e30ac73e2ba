// The full-text index of documents: chunks of each document, and the best match per document.

import { nextTurn } from '../../core/async.js';
import type { ContentKind } from '../../core/store.js';
import type { Database } from './database.js';
import { toChunks, toIndexed, toIndexQuery } from './search-terms.js';
import { AT_OR_BELOW, toPathRange } from './version-table.js';

// Larger documents can be read and queried, but indexing them takes too long.
const MAX_INDEXED_BYTES = 64 * 1024 * 1024;
// About ten milliseconds of work, after which other tasks get their turn.
const SLICE_BYTES = 256 * 1024;

/** Removes a document from the index. */
export function unindex(db: Database, path: string): void {
  const id = documentId(db, path);
  db.prepare('DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)').run(id);
  db.prepare('DELETE FROM chunks WHERE document = ?').run(id);
}

/** Replaces the index entries of a document. */
export async function index(db: Database, path: string, content: Uint8Array, kind: ContentKind): Promise<void> {
  unindex(db, path);
  if (kind === 'binary' || content.length > MAX_INDEXED_BYTES) return;
  const id = documentId(db, path);
  // Numbered here, so that no generated id is read back.
  let chunkId = Number(db.prepare('SELECT max(id) AS last FROM chunks').get()?.last ?? 0);
  const addChunk = db.prepare(
    'INSERT INTO chunks (id, document, start_line, end_line, start, length) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const addWords = db.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)');
  let start = 0;
  let sliceStart = 0;
  for (const chunk of toChunks(Buffer.from(content).toString('utf8'))) {
    const length = Buffer.byteLength(chunk.text);
    addChunk.run(++chunkId, id, chunk.startLine, chunk.endLine, start, length);
    addWords.run(chunkId, toIndexed(chunk.text));
    start += length;
    if (start - sliceStart < SLICE_BYTES) continue;
    sliceStart = start;
    await nextTurn();
  }
}

/**
 * Finds the best chunk of each document, so that a long one does not fill the answer: the hash of its payload, and its
 * position in bytes. The inner query finds the matches, the outer one their documents; a single query would search the
 * index once per document.
 */
export function searchIndex(db: Database, terms: readonly string[], prefix: string, limit: number) {
  return db
    .prepare(
      `SELECT c.*, d.path, v.payload, found.rank FROM
         (SELECT words.rowid AS id, min(rank) AS rank FROM words CROSS JOIN chunks c ON c.id = words.rowid
          CROSS JOIN documents d ON d.id = c.document WHERE words MATCH ? AND ${AT_OR_BELOW}
          GROUP BY c.document ORDER BY min(rank), d.path LIMIT ?) found
       JOIN chunks c ON c.id = found.id JOIN documents d ON d.id = c.document
       JOIN versions v ON v.path = d.path AND v.version = d.version ORDER BY found.rank, d.path`,
    )
    .all(toIndexQuery(terms), ...toPathRange(prefix), limit)
    .map((row) => ({
      path: String(row.path),
      hash: String(row.payload),
      start: Number(row.start),
      length: Number(row.length),
      startLine: Number(row.start_line),
      endLine: Number(row.end_line),
      // A lower rank is better.
      score: -Number(row.rank),
    }));
}

function documentId(db: Database, path: string) {
  return db.prepare('SELECT id FROM documents WHERE path = ?').get(path)!.id!;
}
