// The stores behind context economy: large results by handle, and documents under logical paths.

import type { Snapshot } from './snapshot.js';

/** What kind of bytes a stored thing holds. */
export type ContentKind = 'text' | 'json' | 'binary';

/** What a caller is told of a result that was too large to be shown (CTX-1). */
export interface Handle {
  /** `r_` and 128 random bits. */
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  readonly kind: ContentKind;
  /** For JSON: its shape in a line. */
  readonly shape?: string;
  readonly preview: string;
}

export interface ResultLimits {
  /** How long a result is kept after it was last read. */
  readonly keepMs: number;
  /** Maximum size of all results of a workdir together. */
  readonly totalBytes: number;
}

/** Large results, each of one caller's session (CTX-3). */
export interface ResultStore {
  /** Begins a result; what is written is kept while it streams. */
  create(session: string, limits: ResultLimits): ResultWriter;
  /** A finished result of that session; undefined for anything else, another session's included. */
  open(id: string, session: string): StoredResult | undefined;
  /** Removes what is too old or too much; gives what it removed, or would remove. */
  clean(
    limits: ResultLimits,
    options?: { readonly dryRun?: boolean },
  ): { readonly results: number; readonly bytes: number };
}

export interface ResultWriter {
  write(chunk: Uint8Array): void;
  /** Ends it; from now on it can be opened. */
  finish(): FinishedResult;
  /** Ends it without a trace. */
  discard(): void;
}

/** A result that is stored, and what its bytes hash to. */
export interface FinishedResult {
  readonly handle: Handle;
  readonly sha256: string;
}

/** Bytes that can be read in pieces. */
export interface Readable {
  readonly size: number;
  /** At most `length` bytes from `offset`. */
  read(offset: number, length: number): Uint8Array;
}

export interface StoredResult extends Readable {
  readonly handle: Handle;
  /** Where the bytes lie, for a process that reads them itself; undefined where they lie in memory. */
  readonly file?: string;
  close(): void;
}

/** The stores of a toolbox. */
export interface Stores {
  readonly results: ResultStore;
  readonly documents: DocumentStore;
  /** The session of callers that name none. */
  readonly session: string;
  /** Returns calls that read more of a result, one per line. */
  nextCalls(handle: Handle, snapshot: Snapshot): readonly string[];
}

/** What a tool is given of both stores: the documents of the workdir, and the results of its caller's session. */
export interface ContextStore {
  readonly documents: DocumentStore;
  /** Undefined for an id that this session does not have. */
  openResult(id: string): StoredResult | undefined;
}

/** Documents under logical paths, with versions and full-text search. */
export interface DocumentStore {
  /** Writes a new version. A path that is taken is a `path_conflict` unless the options say otherwise. */
  write(path: string, content: Uint8Array | string, options?: WriteOptions): Promise<DocumentVersion>;
  /** The newest version, or a named one. Throws `not_found`. */
  read(path: string, version?: number): Promise<StoredDocument>;
  /** The same, to be read in pieces. */
  open(path: string, version?: number): Promise<OpenDocument>;
  /** What is there now, by path. */
  list(prefix?: string): Promise<readonly DocumentVersion[]>;
  /** All versions of a path, newest first; a deletion is one too. Empty where the path was never written. */
  versions(path: string): Promise<readonly DocumentVersion[]>;
  /** A deletion is a version without content. Throws `not_found`. */
  remove(path: string): Promise<DocumentVersion>;
  copy(from: string, to: string, options?: { readonly overwrite?: boolean }): Promise<DocumentVersion>;
  /** The best passages, best first. */
  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /** Removes what no version needs; gives what it removed, or would remove. */
  clean(options?: { readonly dryRun?: boolean }): Promise<{ readonly files: number; readonly bytes: number }>;
  close(): void;
}

export interface WriteOptions {
  readonly overwrite?: boolean;
  /** Overwrites this version only; where another is the newest meanwhile, that is a `path_conflict` too. */
  readonly replaces?: number;
}

export interface DocumentVersion {
  readonly path: string;
  readonly version: number;
  /** Bytes; null for a deletion. */
  readonly size: number | null;
  readonly kind: ContentKind;
  /** Milliseconds since 1970. */
  readonly created: number;
}

export interface StoredDocument extends DocumentVersion {
  readonly size: number;
  readonly content: Uint8Array;
  /** Where the bytes lie, where they lie in a file. */
  readonly file?: string;
}

/** A document that is read in pieces, until it is closed. */
export interface OpenDocument extends DocumentVersion, Readable {
  readonly size: number;
  /** Where the bytes lie, for a process that reads them itself; undefined where they lie in memory. */
  readonly file?: string;
  close(): void;
}

export interface SearchOptions {
  /** Only this path and what lies below it. */
  readonly prefix?: string;
  readonly limit?: number;
}

export interface SearchHit {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** At most 300 characters around the match. */
  readonly snippet: string;
  /** Higher is better; only comparable within one search. */
  readonly score: number;
}
