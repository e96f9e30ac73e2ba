// What a scan of a source finds besides items: warnings, and what is not offered, with the reason.

import { isToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';

export type ScanWarning = Finding & { readonly path: string };

/** Parts of a source that are not offered, for one reason. */
export interface SkippedParts {
  /** What they are, such as `skill` or `hook`. */
  readonly what: string;
  readonly reason: string;
  readonly paths: readonly string[];
}

export type ScanNotes = ReturnType<typeof createNotes>;

export function createNotes() {
  const groups = new Map<string, { what: string; reason: string; paths: string[] }>();
  const warnings: ScanWarning[] = [];
  const skip = (what: string, path: string, reason: string): void => {
    const key = `${what}\n${reason}`;
    const group = groups.get(key) ?? { what, reason, paths: [] };
    group.paths.push(path === '' ? '.' : path);
    groups.set(key, group);
  };
  return {
    warnings,
    /** Counts something that is not offered; `what` is its kind, such as `hook`. */
    skip,
    /** Returns what `work` returns; if it throws a ToolError, counts that as the reason. */
    attempt<T>(what: string, path: string, work: () => T): T | undefined {
      try {
        return work();
      } catch (error) {
        if (!isToolError(error)) throw error;
        skip(what, path, error.message);
        return undefined;
      }
    },
    skipped: (): readonly SkippedParts[] => [...groups.values()],
  };
}
