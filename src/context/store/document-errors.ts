// Errors of document stores.

import { ToolError } from '../../core/error.js';
import type { DocumentVersion } from '../../core/store.js';
import { nearest, quoteOutside } from '../../core/text.js';

export function existingDocument(path: string): ToolError {
  return new ToolError('path_conflict', `${quoteOutside(path)} already exists`, {
    hint: 'read it with context_read, or repeat the call with on_conflict: "overwrite"',
    data: { path },
  });
}

export function changedDocument(path: string): ToolError {
  return new ToolError('path_conflict', `${quoteOutside(path)} has changed since it was read`, {
    hint: 'read it again with context_read and repeat the change',
    data: { path },
  });
}

/** `deleted` is the version before a deletion, if the document was deleted. */
export function missingDocument(path: string, others: readonly string[], deleted?: number): ToolError {
  const close = nearest(path, others);
  const hint =
    deleted !== undefined && deleted > 0
      ? `it was deleted; context_read with version: ${deleted} reads it`
      : close.length > 0
        ? `did you mean ${close.map((other) => quoteOutside(other)).join(', ')}? context_tree shows all documents`
        : 'context_tree shows all documents';
  return new ToolError('not_found', `document not found: ${quoteOutside(path)}`, { hint, data: { path } });
}

export function missingVersion(path: string, version: number, known: readonly DocumentVersion[]): ToolError {
  const readable = known.filter(({ size }) => size !== null).map((one) => one.version);
  return new ToolError('not_found', `${quoteOutside(path)} has no version ${version}`, {
    hint:
      readable.length > 0
        ? `available versions: ${readable.slice(0, 10).join(', ')}`
        : 'context_tree shows all documents',
    data: { path, version },
  });
}

export function unreadableContent(path: string): never {
  throw new ToolError('io', `could not read the content of ${quoteOutside(path)}`, {
    hint: 'try an earlier version; context_versions lists them',
    data: { path },
  });
}
