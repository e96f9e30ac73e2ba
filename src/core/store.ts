// Interfaces of the stores: large results by handle, and documents under logical paths.

import { ToolError } from './error.js';
import type { Snapshot } from './snapshot.js';

/** Kind of stored bytes. */
export type ContentKind = 'text' | 'json' | 'binary';

/** Describes a stored result to the caller (CTX-1). */
export interface Handle {
  /** `r_` followed by 128 random bits. */
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  readonly kind: ContentKind;
  /** For JSON: its shape in one line. */
  readonly shape?: string;
  readonly preview: string;
}

export interface ResultLimits {
  /** How long a result is stored after it was last read. */
  readonly keepMs: number;
  /** Maximum size of all results of a workdir together. */
  readonly totalBytes: number;
}

/** Large results, each belonging to a session (CTX-3). */
export interface ResultStore {
  /** Starts a result, stored while it is written. */
  create(session: string, limits: ResultLimits): ResultWriter;
  /** Opens a finished result of that session, unless its last use was more than `keepMs` ago; otherwise undefined. */
  open(id: string, session: string, keepMs?: number): Awaitable<StoredResult | undefined>;
  /** Moves a result to another session, if it is still stored. */
  adopt?(id: string, session: string): Awaitable<void>;
  /** Waits until finished results can be opened on other machines, if they are shared. Rejects if they cannot. */
  share?(): Promise<void>;
  /** Removes expired and excess results; returns what was or would be removed. */
  clean(
    limits: ResultLimits,
    options?: { readonly dryRun?: boolean },
  ): { readonly results: number; readonly bytes: number };
}

export interface ResultWriter {
  write(chunk: Uint8Array): void;
  /** Finishes the result, which can then be opened; it keeps the labels of its call. */
  finish(labels?: readonly string[]): FinishedResult;
  /** Discards the result. */
  discard(): void;
}

/** A stored result with the hash of its bytes. */
export interface FinishedResult {
  readonly handle: Handle;
  readonly sha256: string;
}

/** Bytes that can be read in parts. */
export interface Readable {
  readonly size: number;
  /** At most `length` bytes from `offset`. */
  read(offset: number, length: number): Uint8Array;
}

export interface StoredResult extends Readable {
  readonly handle: Handle;
  /** The labels of the call that made it (FLW-3). */
  readonly labels?: readonly string[] | undefined;
  /** The file with the bytes; undefined if they are in memory. */
  readonly file?: string;
  close(): void;
}

/** The stores of a toolbox. */
export interface Stores {
  readonly results: ResultStore;
  readonly documents: DocumentStore;
  /** Names the documents, for what is remembered of those who wrote them (FLW-9). */
  readonly documentsName: string;
  /** The session of callers without one. */
  readonly session: string;
  /** Returns calls that read more of a result, one per line. */
  nextCalls(handle: Handle, snapshot: Snapshot): readonly string[];
}

/** The stores as given to a tool: documents of the workdir, and results of its caller's session. */
export interface ContextStore {
  /** The documents of the workdir. */
  readonly documents: DocumentStore;
  /** Undefined if the session has no result with this id. */
  openResult(id: string): Awaitable<StoredResult | undefined>;
}

/** Documents under logical paths, with versions and full-text search. */
export interface DocumentStore {
  /** Writes a new version. Throws `path_conflict` if the path exists, unless the options allow it. */
  write(path: string, content: Uint8Array | string, options?: WriteOptions): Promise<DocumentVersion>;
  /** Reads the newest or a given version. Throws `not_found`. */
  read(path: string, version?: number): Promise<StoredDocument>;
  /** Opens a version to be read in parts. */
  open(path: string, version?: number): Promise<OpenDocument>;
  /** Lists current documents by path. */
  list(prefix?: string): Promise<readonly DocumentVersion[]>;
  /** Lists all versions of a path, newest first, including deletions. */
  versions(path: string): Promise<readonly DocumentVersion[]>;
  /** Adds a version without content. Throws `not_found`. */
  remove(path: string): Promise<DocumentVersion>;
  copy(from: string, to: string, options?: { readonly overwrite?: boolean }): Promise<DocumentVersion>;
  /** Returns matching passages, best first. */
  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /** Removes unreferenced payloads; returns what was or would be removed. */
  clean(options?: { readonly dryRun?: boolean }): Promise<{ readonly files: number; readonly bytes: number }>;
  close(): void;
}

export interface WriteOptions {
  readonly overwrite?: boolean;
  /** Overwrites only this version; `path_conflict` if it is no longer the newest. */
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
  /** The file with the bytes, if there is one. */
  readonly file?: string;
}

/** An open document. */
export interface OpenDocument extends DocumentVersion, Readable {
  readonly size: number;
  /** The file with the bytes; undefined if they are in memory. */
  readonly file?: string;
  close(): void;
}

export interface SearchOptions {
  /** Only this path and paths below it. */
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

/** The error for output that could not be stored: its beginning is returned, the rest is lost (STA-3). */
export function toStoreError(tool: string, cause: unknown): ToolError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ToolError('io', `${tool} ran, but its output could not be stored: ${message}`, {
    hint: 'only its beginning is shown; free space or make the state directory (~/.wield, or WIELD_HOME) writable before calling it again',
    cause,
  });
}

/** A value, or a promise of it if it comes from another machine. */
export type Awaitable<T> = T | Promise<T>;
