// Stages an item: copies its files, hashes the source form, expands tokens. What is live is not touched.

import { isUtf8 } from 'node:buffer';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hashTree, listTree, readTreeFile, type TreeFile } from '../../files/tree.js';
import type { ResolvedReference } from '../manifest/installed.js';
import type { OfferedItem } from '../sources/scan.js';
import { findTokens, lineAt, replaceTokens } from '../tokens/find.js';
import {
  badReference,
  type Rendering,
  renderToken,
  resolveReference,
  resolveToken,
  type Siblings,
  toResolved,
} from '../tokens/targets.js';

/** A source as it is now: its files, what it offers, and what git tracks of it. */
export interface LoadedTree {
  readonly tree: string;
  readonly tracked: ReadonlySet<string> | null;
  readonly expand: 'all' | 'markdown';
  readonly siblings: Siblings;
}

/** The form of an item before it is installed. */
export interface SourceForm {
  readonly hash: string;
  /** Files of the source form. */
  readonly files: readonly string[];
  /** All files that are copied: the source form, and what hooks of the source left. */
  readonly all: readonly TreeFile[];
  readonly references: readonly ResolvedReference[];
}

interface ItemFiles {
  readonly root: string;
  readonly all: readonly TreeFile[];
  /** The path below the source that git would know a file by. */
  trackedAs(file: string): string;
}

const MARKDOWN = /\.(?:md|markdown|mdx)$/i;

// An agent or a rule is one file; where it is installed it is a directory with that file, as everything is.
function filesOf(item: OfferedItem, tree: string): ItemFiles {
  if (!item.file) {
    const root = join(tree, item.path);
    return { root, all: listTree(root), trackedAs: (file) => `${item.path}/${file}` };
  }
  const root = join(tree, dirname(item.path));
  const name = item.path.slice(item.path.lastIndexOf('/') + 1);
  return { root, all: [{ path: name, executable: false }], trackedAs: () => item.path };
}

/** Reads an item without writing anything: its hash, and everything it refers to. Throws `bad_reference`. */
export function readSourceForm(item: OfferedItem, loaded: LoadedTree, rendering: Rendering): SourceForm {
  const { tree, tracked, siblings, expand } = loaded;
  const { root, all, trackedAs } = filesOf(item, tree);
  const own = all.filter(({ path }) => tracked === null || tracked.has(trackedAs(path)));
  const references = new Map<string, ResolvedReference>();
  const add = (reference: ResolvedReference): void => {
    references.set(JSON.stringify(reference), reference);
  };
  for (const { path } of all) {
    const text = readText(root, path, expand);
    if (text === undefined) continue;
    for (const token of findTokens(text)) {
      const target = resolveToken(token, item, siblings);
      if (typeof target === 'string')
        throw badReference(token.text, target, { item, file: path, line: lineAt(text, token.start) });
      if (token.head !== 'self') add(toResolved(token, target, siblings, rendering));
    }
  }
  for (const required of item.requires) {
    const target = resolveReference(required, siblings);
    if (typeof target === 'string')
      throw badReference(`requires: ${required}`, target, { item, file: item.path, line: 1 });
    add({ kind: target.kind, name: target.name, value: null });
  }
  return {
    hash: hashTree(root, own),
    files: own.map(({ path }) => path),
    all,
    references: [...references.values()],
  };
}

/** Writes the installed form into an empty directory, tokens expanded and executable bits kept. */
export function writeStaged(
  item: OfferedItem,
  form: SourceForm,
  loaded: LoadedTree,
  rendering: Rendering,
  directory: string,
): void {
  const { root } = filesOf(item, loaded.tree);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const { path, executable } of form.all) {
    const to = join(directory, item.file ? `${item.name}.md` : path);
    if (path.includes('/')) mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const mode = executable ? 0o755 : 0o644;
    writeFileSync(to, expandFile(item, root, path, loaded, rendering), { flag: 'wx', mode });
    chmodSync(to, mode);
  }
}

function expandFile(
  item: OfferedItem,
  root: string,
  path: string,
  { siblings, expand }: LoadedTree,
  rendering: Rendering,
): Buffer | string {
  const text = readText(root, path, expand);
  if (text === undefined) return readTreeFile(root, path);
  const tokens = findTokens(text);
  if (tokens.length === 0) return readTreeFile(root, path);
  return replaceTokens(text, tokens, (token) => {
    const target = resolveToken(token, item, siblings);
    // It was read before; a source that is read live may have changed since.
    if (typeof target === 'string')
      throw badReference(token.text, target, { item, file: path, line: lineAt(text, token.start) });
    return renderToken(token, target, siblings, rendering, MARKDOWN.test(path));
  });
}

// TOK-2: the text of a file that tokens are expanded in; undefined for any other.
function readText(root: string, path: string, expand: LoadedTree['expand']): string | undefined {
  if (expand === 'markdown' && !MARKDOWN.test(path)) return undefined;
  const bytes = readTreeFile(root, path);
  if (!bytes.includes('{{') || bytes.includes(0) || !isUtf8(bytes)) return undefined;
  return bytes.toString('utf8');
}
