// Shared by the context tools: access to the store, and formatting of results.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { JsonObject } from '../../core/json.js';
import { textPart } from '../../core/result.js';
import type { ContextStore, DocumentVersion, Readable } from '../../core/store.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { existingDocument } from '../store/document-errors.js';

export type OnConflict = 'error' | 'overwrite';

/** Returns the stores of a call. Throws `unavailable` if the toolbox has none. */
export function storeOf(context: ToolContext): ContextStore {
  if (context.store !== null) return context.store;
  throw new ToolError('unavailable', 'this toolbox has no document store', {
    hint: 'use createNodeToolbox, or the command line',
  });
}

/** Throws `path_conflict` before something runs for a document that could not be written; the write checks again. */
export async function assertFree({ documents }: ContextStore, path: string): Promise<void> {
  const [taken] = await documents.versions(path);
  if (taken !== undefined && taken.size !== null) throw existingDocument(taken.path);
}

/** Returns a result with text and structured data. */
export function answer(text: string, structured: JsonObject) {
  return { content: [textPart(text)], structured };
}

export function describeVersion({ path, version, size, kind, created }: DocumentVersion): JsonObject {
  return {
    path,
    version,
    size,
    ...(size === null ? { deleted: true } : { kind }),
    changed: new Date(created).toISOString(),
  };
}

export function assertText({ path, kind }: DocumentVersion): void {
  if (kind !== 'binary') return;
  throw new ToolError('invalid_input', `${quoteOutside(path)} is binary and has no lines to edit`, {
    hint: 'replace it with context_write',
    data: { path },
  });
}

export function readText(source: Readable, start = 0, end = source.size): string {
  return Buffer.from(source.read(start, end - start)).toString('utf8');
}

/** Formats rows as columns; the first row is the heading. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => Array.from(row[column]!).length)));
  return rows
    .map((row) => row.map((cell, column) => cell + ' '.repeat(widths[column]! - Array.from(cell).length)))
    .map((row) => `${row.join('  ').trimEnd()}\n`)
    .join('');
}

/** Formats a time in UTC, to the minute. */
export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ');
}

export function formatSize(size: number | null): string {
  return size === null ? 'deleted' : formatBytes(size);
}
