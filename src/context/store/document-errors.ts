// What a store says of documents that are not there, or already are.

import { ToolError } from '../../core/error.js';
import type { DocumentVersion } from '../../core/store.js';
import { nearest, quoteOutside } from '../../core/text.js';

export function conflict(path: string): ToolError {
  return new ToolError('path_conflict', `${quoteOutside(path)} is there already`, {
    hint: 'read it with context_read, or write again with on_conflict: "overwrite"',
    data: { path },
  });
}

export function changed(path: string): ToolError {
  return new ToolError('path_conflict', `${quoteOutside(path)} was changed meanwhile`, {
    hint: 'read it again with context_read, and repeat the change on what is there now',
    data: { path },
  });
}

/** `deleted` is the version before a deletion, where there was one. */
export function missing(path: string, others: readonly string[], deleted?: number): ToolError {
  const close = nearest(path, others);
  const hint =
    deleted !== undefined && deleted > 0
      ? `it was deleted; context_read with version: ${deleted} still gives it`
      : close.length > 0
        ? `did you mean ${close.map((other) => quoteOutside(other)).join(', ')}? context_tree shows all`
        : 'context_tree shows what there is';
  return new ToolError('not_found', `there is no document ${quoteOutside(path)}`, { hint, data: { path } });
}

export function noVersion(path: string, version: number, known: readonly DocumentVersion[]): ToolError {
  const readable = known.filter(({ size }) => size !== null).map((one) => one.version);
  return new ToolError('not_found', `${quoteOutside(path)} has no version ${version} to read`, {
    hint:
      readable.length > 0
        ? `there are ${readable.slice(0, 10).join(', ')}`
        : 'context_tree shows what documents there are',
    data: { path, version },
  });
}

export function gone(path: string): ToolError {
  return new ToolError('io', `the content of ${quoteOutside(path)} cannot be read`, {
    hint: 'an earlier version may still be there: context_versions shows them',
    data: { path },
  });
}
