// The source form of an item, before tokens are expanded: its files, its hash and its references.

import { isUtf8 } from 'node:buffer';
import { basename, dirname, join } from 'node:path';
import { hashTree, listTree, readTreeFile, type TreeFile } from '../../files/tree.js';
import type { ResolvedReference } from '../manifest/installed.js';
import type { SourceItem } from '../sources/source-item.js';
import { findTokens, lineAt, replaceTokens } from './find.js';
import { badReference, type Rendering, renderToken, resolveReference, resolveToken, type Siblings } from './targets.js';

export interface LoadedTree {
  readonly tree: string;
  /** The paths that git tracks; null for a local directory. */
  readonly tracked: ReadonlySet<string> | null;
  readonly expand: 'all' | 'markdown';
  readonly siblings: Siblings;
}

export interface SourceForm {
  readonly hash: string;
  /** Hash of all files to copy. */
  readonly contentHash: string;
  /** The hashed files. */
  readonly files: readonly string[];
  /** The files to copy: the hashed ones, and what source hooks created. */
  readonly all: readonly TreeFile[];
  readonly references: readonly ResolvedReference[];
}

const MARKDOWN = /\.(?:md|markdown|mdx)$/i;

/** Returns the directory that an item's files are relative to. */
export function rootOf(item: SourceItem, tree: string): string {
  return join(tree, item.file ? dirname(item.path) : item.path);
}

/** Lists the files of an item; an agent or a rule is a single file. */
export function filesOf(item: SourceItem, tree: string): TreeFile[] {
  return item.file
    ? [{ path: basename(item.path), executable: false }]
    : listTree(rootOf(item, tree), { links: 'follow' });
}

/** Reads an item without writing anything. Throws `bad_reference`. */
export function readSourceForm(item: SourceItem, loaded: LoadedTree, rendering: Rendering): SourceForm {
  const { tree, tracked, siblings, expand } = loaded;
  const root = rootOf(item, tree);
  const all = filesOf(item, tree);
  const trackedAs = (path: string): string => (item.file ? item.path : join(item.path, path));
  // A file below a link to a directory is tracked as the file itself.
  const own = all.filter(({ path, from = path }) => tracked === null || tracked.has(trackedAs(from)));
  const references = new Map<string, ResolvedReference>();
  const add = (reference: ResolvedReference): void => {
    references.set(JSON.stringify(reference), reference);
  };
  for (const { path, from = path } of all) {
    const text = toExpandable(path, readTreeFile(root, from), expand);
    if (text === undefined) continue;
    for (const token of findTokens(text)) {
      const target = resolveToken(token, item, siblings);
      if (typeof target === 'string')
        throw badReference(token.text, target, { item, file: path, line: lineAt(text, token.start) });
      if (token.head === 'self') continue;
      const value = renderToken(token, target, { ...rendering, prefix: siblings.prefix, tilde: false });
      add({ kind: target.kind, name: target.name, value });
    }
  }
  for (const required of item.requires) {
    const target = resolveReference(required, siblings);
    if (typeof target === 'string')
      throw badReference(`requires: ${required}`, target, { item, file: item.path, line: 1 });
    add({ kind: target.kind, name: target.name, value: null });
  }
  const hash = hashTree(root, own);
  return {
    hash,
    contentHash: own.length === all.length ? hash : hashTree(root, all),
    files: own.map(({ path }) => path),
    all,
    references: [...references.values()],
  };
}

/** Returns the installed form of a file, with tokens expanded. */
export function expandFile(
  item: SourceItem,
  path: string,
  bytes: Buffer,
  { siblings, expand }: LoadedTree,
  rendering: Rendering,
): Buffer | string {
  const text = toExpandable(path, bytes, expand);
  const tokens = text === undefined ? [] : findTokens(text);
  if (text === undefined || tokens.length === 0) return bytes;
  const options = { ...rendering, prefix: siblings.prefix, tilde: MARKDOWN.test(path) };
  return replaceTokens(text, tokens, (token) => {
    const target = resolveToken(token, item, siblings);
    // Checked before, but a local source may have changed since.
    if (typeof target === 'string')
      throw badReference(token.text, target, { item, file: path, line: lineAt(text, token.start) });
    return renderToken(token, target, options);
  });
}

// TOK-2: undefined for files without tokens, or in which they are not expanded.
function toExpandable(path: string, bytes: Buffer, expand: LoadedTree['expand']): string | undefined {
  if (expand === 'markdown' && !MARKDOWN.test(path)) return undefined;
  if (!bytes.includes('{{') || bytes.includes(0) || !isUtf8(bytes)) return undefined;
  return bytes.toString('utf8');
}
