// The tables of documents and their versions: one row per version, a deletion included.

import type { ContentKind, DocumentVersion } from '../../core/store.js';
import type { Database, Row } from './database.js';
import { missingDocument, missingVersion } from './document-errors.js';

interface Payload extends Pick<DocumentVersion, 'kind'> {
  readonly hash: string;
  readonly size: number;
}

const MAX_VERSIONS = 100;
const NEWEST = 'SELECT v.* FROM documents d JOIN versions v ON v.path = d.path AND v.version = d.version';

/** A condition for a path and everything below it: from its slash up to the character after the slash. */
export const AT_OR_BELOW = '(d.path = ? OR (d.path >= ? AND d.path < ?))';

/** Returns the values for `AT_OR_BELOW`. */
export function toPathRange(prefix: string): [string, string, string] {
  return prefix === '' ? ['', '', '\u{10ffff}'] : [prefix, `${prefix}/`, `${prefix}0`];
}

/** Adds the next version of a path; without a payload it is a deletion. */
export function addVersion(db: Database, path: string, payload: Payload | null, created: number): DocumentVersion {
  const known = db.prepare('SELECT version FROM documents WHERE path = ?').get(path);
  const version = Number(known?.version ?? 0) + 1;
  const { hash = null, size = null, kind = 'text' } = payload ?? {};
  db.prepare('INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)').run(path, version, hash, size, kind, created);
  db.prepare('DELETE FROM versions WHERE path = ? AND version <= ?').run(path, version - MAX_VERSIONS);
  db.prepare(
    `INSERT INTO documents (path, version, live) VALUES (?1, ?2, ?3)
     ON CONFLICT (path) DO UPDATE SET version = ?2, live = ?3`,
  ).run(path, version, payload === null ? 0 : 1);
  return { path, version, size, kind, created };
}

/** Returns the newest version, which may be a deletion. */
export function newestVersion(db: Database, path: string): DocumentVersion | undefined {
  const row = db.prepare(`${NEWEST} WHERE d.path = ?`).get(path);
  return row && toVersion(row);
}

/** Returns the newest or the given version with the hash of its payload. Throws `not_found` if there is none with content. */
export function findVersion(db: Database, path: string, version: number | undefined): DocumentVersion & Payload {
  const row =
    version === undefined
      ? db.prepare(`${NEWEST} WHERE d.path = ?`).get(path)
      : db.prepare('SELECT * FROM versions WHERE path = ? AND version = ?').get(path, version);
  if (row !== undefined && row.payload !== null)
    return { ...toVersion(row), size: Number(row.size), hash: String(row.payload) };
  if (version !== undefined) throw missingVersion(path, version, listVersions(db, path));
  const others = db.prepare('SELECT path FROM documents WHERE live = 1').all();
  throw missingDocument(
    path,
    others.map((other) => String(other.path)),
    row === undefined ? undefined : Number(row.version) - 1,
  );
}

export function listVersions(db: Database, path: string): DocumentVersion[] {
  return db.prepare('SELECT * FROM versions WHERE path = ? ORDER BY version DESC').all(path).map(toVersion);
}

/** Lists the documents at or below a path that are not deleted. */
export function listDocuments(db: Database, prefix: string): DocumentVersion[] {
  return db
    .prepare(`${NEWEST} WHERE d.live = 1 AND ${AT_OR_BELOW} ORDER BY d.path`)
    .all(...toPathRange(prefix))
    .map(toVersion);
}

/** Returns the hashes of all payloads that some version needs. */
export function listPayloads(db: Database): Set<unknown> {
  const rows = db.prepare('SELECT DISTINCT payload FROM versions').all();
  return new Set(rows.map((row) => row.payload));
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
