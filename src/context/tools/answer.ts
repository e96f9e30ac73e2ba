// What the context tools have in common: the store or why there is none, texts of documents, tables for people.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { JsonObject } from '../../core/json.js';
import { textPart } from '../../core/result.js';
import type { ContextStore, DocumentVersion, Readable } from '../../core/store.js';
import { formatBytes, quoteOutside } from '../../core/text.js';

export type OnConflict = 'error' | 'overwrite';

/** The stores of a call. Throws `unavailable` where the toolbox has none. */
export function storeOf(context: ToolContext): ContextStore {
  if (context.store !== null) return context.store;
  throw new ToolError('unavailable', 'this toolbox has no store for documents', {
    hint: 'use createNodeToolbox, or the command line',
  });
}

/** A result with a text for people and data for programs. */
export function answer(text: string, structured: JsonObject) {
  return { content: [textPart(text)], structured };
}

/** What programs are told of a version. */
export function describeVersion({ path, version, size, kind, created }: DocumentVersion): JsonObject {
  return {
    path,
    version,
    size,
    ...(size === null ? { deleted: true } : { kind }),
    changed: new Date(created).toISOString(),
  };
}

/** Bytes as text. Throws `invalid_input` for a document that is none. */
export function assertText({ path, kind }: DocumentVersion, what: string): void {
  if (kind !== 'binary') return;
  throw new ToolError('invalid_input', `${quoteOutside(path)} is binary and ${what}`, {
    hint: 'write it anew with context_write',
    data: { path },
  });
}

export function readText(source: Readable, start = 0, end = source.size): string {
  return Buffer.from(source.read(start, end - start)).toString('utf8');
}

/** Rows in columns; the first row is their heading. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => Array.from(row[column]!).length)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell + ' '.repeat(widths[column]! - Array.from(cell).length)))
    .map((row) => `${row.join('  ').trimEnd()}\n`)
    .join('');
}

/** A time as a person reads it, to the minute. */
export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ');
}

export function formatSize(size: number | null): string {
  return size === null ? 'deleted' : formatBytes(size);
}
