// Documents on disk: versions and a text index in an embedded database, contents in files.

import { join } from 'node:path';
import { orNothing, ToolError } from '../../core/error.js';
import type { DocumentStore, DocumentVersion, WriteOptions } from '../../core/store.js';
import { statOrNothing } from '../../files/read.js';
import { createStateDirectory } from '../../files/state.js';
import { parseLogicalPath, parseLogicalPrefix } from '../logical-path.js';
import { createConnections } from './database.js';
import { describeContent, toBytes } from './describe-content.js';
import { changedDocument, existingDocument, unreadableContent } from './document-errors.js';
import { createPayloads, MAX_DOCUMENT_BYTES } from './payloads.js';
import { toSnippet, toTerms } from './search-terms.js';
import { index, searchIndex, unindex } from './text-index.js';
import { addVersion, findVersion, listDocuments, listPayloads, listVersions, newestVersion } from './version-table.js';

export interface DocumentFilesOptions {
  /** Contains the database and the payloads; created on first use. */
  readonly directory: () => string;
  readonly now: () => number;
}

export function createDocumentFiles({ directory, now }: DocumentFilesOptions): DocumentStore {
  const payloads = createPayloads(() => join(directory(), 'payloads'));
  const { read, change, close } = createConnections(() => {
    createStateDirectory(directory());
    return join(directory(), 'documents.db');
  });
  const put = async (path: string, content: Uint8Array, { overwrite = false, replaces }: WriteOptions) => {
    assertSize(path, content);
    // In one transaction, so that `clean` cannot remove the payload before its row is written.
    return change(async (db): Promise<DocumentVersion> => {
      const before = newestVersion(db, path);
      if (replaces !== undefined && before?.version !== replaces) throw changedDocument(path);
      if (replaces === undefined && !overwrite && before !== undefined && before.size !== null)
        throw existingDocument(path);
      const { kind } = describeContent(content);
      const hash = payloads.write(content);
      const version = addVersion(db, path, { hash, size: content.length, kind }, now());
      await index(db, path, content, kind);
      return version;
    });
  };
  const readPart = (path: string, hash: string, start: number, length: number): Uint8Array => {
    const opened = payloads.open(hash) ?? unreadableContent(path);
    try {
      return orNothing(() => opened.read(start, length)) ?? unreadableContent(path);
    } finally {
      opened.close();
    }
  };

  return {
    async write(text, content, options = {}) {
      return put(parseLogicalPath(text), toBytes(content), options);
    },
    async read(text, version) {
      const path = parseLogicalPath(text);
      const { hash, ...found } = read((db) => findVersion(db, path, version));
      return { ...found, content: readPart(path, hash, 0, found.size), file: payloads.fileOf(hash) };
    },
    async open(text, version) {
      const path = parseLogicalPath(text);
      const { hash, ...found } = read((db) => findVersion(db, path, version));
      return { ...found, file: payloads.fileOf(hash), ...(payloads.open(hash) ?? unreadableContent(path)) };
    },
    async list(prefix) {
      const below = parseLogicalPrefix(prefix);
      return read((db) => listDocuments(db, below));
    },
    async versions(text) {
      const path = parseLogicalPath(text);
      return read((db) => listVersions(db, path));
    },
    async remove(text) {
      const path = parseLogicalPath(text);
      return change((db) => {
        findVersion(db, path, undefined);
        const version = addVersion(db, path, null, now());
        unindex(db, path);
        return version;
      });
    },
    async copy(from, to, options = {}) {
      const source = parseLogicalPath(from);
      const { hash, size } = read((db) => findVersion(db, source, undefined));
      return put(parseLogicalPath(to), readPart(source, hash, 0, size), options);
    },
    async search(query, { prefix, limit = 10 } = {}) {
      const terms = toTerms(query);
      const below = parseLogicalPrefix(prefix);
      if (terms.length === 0) return [];
      return read((db) => searchIndex(db, terms, below, limit)).map(
        ({ path, hash, start, length, startLine, endLine, score }) => {
          const text = Buffer.from(readPart(path, hash, start, length)).toString('utf8');
          return { path, startLine, endLine, snippet: toSnippet(text, terms), score };
        },
      );
    },
    async clean({ dryRun = false } = {}) {
      if (statOrNothing(directory()) === undefined) return { files: 0, bytes: 0 };
      return change((db) => payloads.removeOthers(listPayloads(db), dryRun));
    },
    close,
  };
}

function assertSize(path: string, content: Uint8Array): void {
  if (content.length <= MAX_DOCUMENT_BYTES) return;
  throw new ToolError('too_large', `${path} would be larger than 1 GiB`, { hint: 'split it into several documents' });
}
