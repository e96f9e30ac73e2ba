// Loads the manifest of a source.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';
import { count, quoteOutside } from '../../core/text.js';
import { readTextFile, statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { type Adoption, parseSourceManifest } from '../manifest/source-manifest.js';

/** Throws `path_escape` if the path resolves outside the source; `what` names it in the message. */
export function assertInside(tree: string, path: string, what = path): void {
  const real = realPath(join(tree, path));
  const root = realPath(tree);
  if (real === undefined || (root !== undefined && isWithin(root, real))) return;
  throw pathEscape(path, what);
}

export function pathEscape(path: string, what: string): ToolError {
  return new ToolError('path_escape', `${quoteOutside(what, 120)} is outside the source`, {
    hint: 'move it into the source',
    data: { path },
  });
}

/** `mind.toml` is read only if there is no `wield.toml` (INS-3). */
export const MANIFEST_FILES = ['wield.toml', 'mind.toml'];

export type LoadedManifest = ReturnType<typeof loadManifest>;

/**
 * Returns the manifest and its file, null if there is none. `adoption` is what an outer source says; it applies only if the
 * source has no manifest of its own, and may add roots (INS-43).
 */
export function loadManifest(tree: string, adoption: Adoption | null | undefined) {
  for (const file of MANIFEST_FILES) {
    const path = join(tree, file);
    if (statOrNothing(path) === undefined) continue;
    assertInside(tree, file);
    const text = readTextFile(path);
    if (text === undefined) continue;
    return { ...parseSourceManifest(text), file, addRoots: [] };
  }
  const { manifest, findings } = parseSourceManifest('');
  const { roots, hooks, addRoots } = adoption ?? { ...manifest, addRoots: [] };
  return { manifest: { ...manifest, roots, hooks: [...hooks] }, findings, file: null, addRoots };
}

export function manifestError(file: string, findings: readonly Finding[]): ToolError {
  const [first] = findings;
  const more = findings.length === 1 ? '' : `, and ${count(findings.length - 1, 'more problem')}`;
  const { line, hint } = first!;
  return new ToolError('invalid_definition', `${file}:${line}: ${findingText(first!)}${more}`, {
    hint,
    data: {
      problems: findings.map((one) => ({ line: one.line!, key: one.pointer!, message: one.message, hint: one.hint })),
    },
  });
}

/** Formats a finding with its key. */
export function findingText({ pointer, message }: Finding): string {
  return pointer === undefined || pointer === '' ? message : `${pointer}: ${message}`;
}
