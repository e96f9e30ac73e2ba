// Loads the manifest of a source.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';
import { count } from '../../core/text.js';
import { readTextFile, statOrNothing } from '../../files/read.js';
import { parseSourceManifest } from '../manifest/parse-source-manifest.js';
import type { SourceManifest } from '../manifest/source-manifest.js';
import { assertInside } from './containment.js';

/** `mind.toml` is read only if there is no `wield.toml` (INS-3). */
export const MANIFEST_FILES = ['wield.toml', 'mind.toml'];

export interface LoadedManifest {
  readonly manifest: SourceManifest;
  /** The name of the file; null if there is none. */
  readonly file: string | null;
  readonly findings: readonly Finding[];
}

export function loadManifest(tree: string): LoadedManifest {
  for (const file of MANIFEST_FILES) {
    const path = join(tree, file);
    if (statOrNothing(path) === undefined) continue;
    assertInside(tree, file);
    const text = readTextFile(path);
    if (text !== undefined) return { ...parseSourceManifest(text), file };
  }
  return { ...parseSourceManifest(''), file: null };
}

export function manifestError(file: string, findings: readonly Finding[]): ToolError {
  const [first] = findings;
  const more = findings.length === 1 ? '' : `, and ${count(findings.length - 1, 'more problem')}`;
  const { line, hint } = first!;
  return new ToolError('invalid_definition', `${file}:${line}: ${findingText(first!)}${more}`, {
    hint,
    data: {
      problems: findings.map((one) => ({
        line: one.line!,
        key: one.pointer!,
        message: one.message,
        hint: one.hint,
      })),
    },
  });
}

/** Formats a finding with its key. */
export function findingText({ pointer, message }: Finding): string {
  return pointer === undefined || pointer === '' ? message : `${pointer}: ${message}`;
}
