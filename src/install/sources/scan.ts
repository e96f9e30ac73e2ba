// Scans a source for items, by convention or by its manifest. Executes nothing.

import { basename, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import { assertTreeBounds } from '../../files/tree.js';
import { isDirectory, namesIn } from '../directory.js';
import { findNameFault, ITEM_KINDS, type ItemKind, isDirectoryKind, isSafePath } from '../manifest/item-name.js';
import type { ItemGlobs, SourceManifest } from '../manifest/source-manifest.js';
import { assertInside, loadManifest, manifestError, pathEscape } from './load-manifest.js';
import { findPaths } from './path-glob.js';
import { readDeclaredItem, readSourceItem, type SourceItem } from './source-item.js';

export type ScanWarning = Finding & { readonly path: string };

export interface Scan {
  readonly items: readonly SourceItem[];
  readonly warnings: readonly ScanWarning[];
  readonly manifest: SourceManifest;
}

/**
 * Given roots override those of the manifest; findings about the manifest are thrown without `onFinding`. Throws
 * `invalid_definition`, `path_escape` or `conflict`.
 */
export function scanSource(tree: string, roots: readonly string[], onFinding?: (finding: Finding) => void): Scan {
  assertTreeBounds(tree);
  const { manifest, file, findings } = loadManifest(tree);
  if (onFinding !== undefined) findings.forEach(onFinding);
  else if (findings.length > 0) throw manifestError(join(tree, file!), findings);
  const warnings: ScanWarning[] = [];
  const read = (kind: ItemKind, path: string): SourceItem | [] => {
    assertInside(tree, path);
    return readEntry(tree, kind, path, warnings) ?? [];
  };
  const usesConvention = manifest.items.length === 0 && Object.keys(manifest.globs).length === 0;
  const chosenRoots = roots.length > 0 ? roots : (manifest.roots ?? ['.']);
  const items = [
    ...manifest.items.map((item) => readDeclaredItem(tree, item, file!)),
    ...ITEM_KINDS.flatMap((kind) => matchGlobs(tree, kind, manifest.globs[kind]).flatMap((path) => read(kind, path))),
    ...(usesConvention ? chosenRoots : [])
      .flatMap((root) => expandRoot(tree, root))
      .flatMap((root) =>
        ITEM_KINDS.flatMap((kind) => conventionalPaths(tree, root, kind).flatMap((path) => read(kind, path))),
      ),
  ].sort(
    (a, b) =>
      ITEM_KINDS.indexOf(a.kind) - ITEM_KINDS.indexOf(b.kind) ||
      compareText(a.name, b.name) ||
      compareText(a.path, b.path),
  );
  assertUnique(items);
  return { items, warnings, manifest };
}

// INS-2
function conventionalPaths(tree: string, root: string, kind: ItemKind): string[] {
  const folder = join(root, `${kind}s`);
  return namesIn(join(tree, folder)).map((name) => join(folder, name));
}

// INS-36: globs match the directory of a tool; for a skill the directory or its SKILL.md.
function matchGlobs(tree: string, kind: ItemKind, globs: ItemGlobs | undefined): string[] {
  if (globs === undefined) return [];
  const paths = findPaths(tree, globs.include, globs.exclude).flatMap(({ path, directory }) => {
    if (directory === isDirectoryKind(kind)) return [path];
    return kind === 'skill' && path.endsWith('/SKILL.md') ? [path.slice(0, -'/SKILL.md'.length)] : [];
  });
  return [...new Set(paths)];
}

// INS-6
function assertUnique(items: readonly SourceItem[]): void {
  for (const [at, item] of items.entries()) {
    const next = items[at + 1];
    if (next === undefined || next.kind !== item.kind || next.name !== item.name) continue;
    throw new ToolError(
      'conflict',
      `the source has two items ${item.kind}:${quoteOutside(item.name, 80)}: ${item.path} and ${next.path}`,
      { hint: 'rename one of them, or choose the directories to scan with --root' },
    );
  }
}

function expandRoot(tree: string, root: string): string[] {
  if (/[*?[{]/.test(root))
    return findPaths(tree, [root], []).flatMap(({ path, directory }) => (directory ? [path] : []));
  if (!isSafePath(root)) throw pathEscape(root, `the root "${root}"`);
  assertInside(tree, root, `the root "${root}"`);
  if (isDirectory(join(tree, root))) return [root === '.' ? '' : root.replace(/\/+$/, '')];
  throw new ToolError('not_found', `the source has no directory "${quoteOutside(root, 120)}"`, {
    hint: 'pass an existing directory with --root',
  });
}

// Undefined: not an item. Adds a warning if it looks like one.
function readEntry(tree: string, kind: ItemKind, path: string, warnings: ScanWarning[]): SourceItem | undefined {
  const entry = basename(path);
  const stats = statOrNothing(join(tree, path));
  if (stats === undefined || entry.startsWith('.') || stats.isDirectory() !== isDirectoryKind(kind)) return undefined;
  const skip = (skipKind: string, message: string, hint: string): undefined => {
    warnings.push({ path, kind: skipKind, message: `skipped: ${message}`, hint });
  };
  if (kind === 'skill') {
    const names = namesIn(join(tree, path));
    const other = names.find((name) => name.toLowerCase() === 'skill.md');
    if (other === undefined) return undefined;
    if (!names.includes('SKILL.md'))
      return skip('skill-file-name', `the file is named ${other}`, 'rename it to SKILL.md');
  }
  if (!isDirectoryKind(kind)) {
    if (!entry.endsWith('.md')) return undefined;
    if (/^readme\.md$/i.test(entry))
      return skip('readme', `a README is not a${kind === 'agent' ? 'n' : ''} ${kind}`, 'no action needed');
  }
  const name = isDirectoryKind(kind) ? entry : entry.slice(0, -'.md'.length);
  const fault = findNameFault(name);
  if (fault !== undefined) return skip('invalid-name', `the name "${quoteOutside(name, 60)}" ${fault}`, 'rename it');
  return readSourceItem(tree, kind, name, path);
}
