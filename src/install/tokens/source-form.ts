// The source form of an item, before tokens are expanded: its files, its hash and its references.

import { isUtf8 } from 'node:buffer';
import { basename, dirname, join } from 'node:path';
import { NAMED_FILES } from '../../core/skill.js';
import { compareText, lineAt } from '../../core/text.js';
import { createTreeHash, listTree, readTreeFile, type TreeFile } from '../../files/tree.js';
import type { SourceItem } from '../sources/source-item.js';
import type { ResolvedReference } from '../state.js';
import { findNamedFiles, MARKDOWN, type NamingText } from './named-files.js';
import {
  badReference,
  findPluginTokens,
  findTokens,
  type Rendering,
  renderToken,
  replaceTokens,
  resolveReference,
  resolveToken,
  type Siblings,
  type Token,
} from './targets.js';
import { findTildeTokens } from './tilde.js';

export interface LoadedTree {
  readonly tree: string;
  /** The paths that git tracks; null for a local directory. */
  readonly tracked: ReadonlySet<string> | null;
  readonly expand: 'all' | 'markdown';
  siblingsOf(item: SourceItem): Siblings;
}

export type SourceForm = ReturnType<typeof readSourceForm>;

/** Returns the directory that an item's files are relative to. */
export function rootOf(item: SourceItem, tree: string): string {
  return join(tree, item.file ? dirname(item.path) : item.path);
}

/** Lists the files of an item; an agent or a rule is a single file. */
export function filesOf(item: SourceItem, tree: string): TreeFile[] {
  if (item.content !== undefined) return [{ path: SERVER_FILE, executable: false }];
  return item.file
    ? [{ path: basename(item.path), executable: false }]
    : // A link may leave the item, but not the source (INS-82).
      listTree(rootOf(item, tree), { links: 'follow', within: tree });
}

/** The file that describes an installed server. */
export const SERVER_FILE = 'server.json';

export function readItemFile(item: SourceItem, root: string, path: string): Buffer {
  return item.content === undefined ? readTreeFile(root, path) : Buffer.from(item.content);
}

function hashFiles(item: SourceItem, root: string, files: readonly TreeFile[]): string {
  const hash = createTreeHash();
  for (const file of files) hash.add(file, readItemFile(item, root, file.from ?? file.path));
  return hash.digest();
}

/** Reads an item without writing anything. Throws `bad_reference`. */
export function readSourceForm(item: SourceItem, loaded: LoadedTree, rendering: Rendering) {
  const { tree, tracked } = loaded;
  const siblings = loaded.siblingsOf(item);
  const root = rootOf(item, tree);
  const inner = filesOf(item, tree);
  const trackedAs = (path: string): string => (item.file ? item.path : join(item.path, path));
  // A file below a link to a directory is tracked as the file itself.
  const isTracked = ({ path, from = path }: TreeFile): boolean =>
    tracked === null || item.content !== undefined || tracked.has(trackedAs(from));
  const texts: NamingText[] = [];
  const references = new Map<string, ResolvedReference>();
  const add = (reference: ResolvedReference): void => {
    references.set(JSON.stringify(reference), reference);
  };
  for (const { path, from = path } of inner) {
    const bytes = readItemFile(item, root, from);
    if (item.kind === 'skill' && !item.file && MARKDOWN.test(path)) texts.push({ path, text: bytes.toString('utf8') });
    const { text, tokens } = tokensIn(item, path, bytes, loaded);
    for (const token of tokens) {
      const target = resolveToken(token, item, siblings);
      if (typeof target === 'string')
        throw badReference(token.text, target, { item, file: path, line: lineAt(text, token.start) });
      if (token.head === 'self' || token.head === 'data') continue;
      const value = renderToken(token, target, { ...rendering, prefix: siblings.prefix, tilde: false });
      add({ kind: target.kind, name: target.name, value });
    }
  }
  const unmet: string[] = [];
  for (const required of item.requires) {
    const target = resolveReference(required, siblings);
    // INS-92: elsewhere, `requires` names programs, packages and servers.
    if (typeof target === 'string' && (item.plugin !== null || !required.includes(':'))) {
      unmet.push(required);
      continue;
    }
    if (typeof target === 'string')
      throw badReference(`requires: ${required}`, target, { item, file: item.path, line: 1 });
    add({ kind: target.kind, name: target.name, value: null });
  }
  // A skill that has such a directory itself keeps it.
  const isTaken = inner.some(({ path }) => path === NAMED_FILES || isNamed(path));
  const named = isTaken ? { files: [], left: 0 } : findNamedFiles(item, tree, texts);
  const all = [...inner, ...named.files.filter(isTracked)].sort((a, b) => compareText(a.path, b.path));
  const own = all.filter(isTracked);
  const hash = hashFiles(item, root, own);
  return {
    hash,
    /** Hash of all files to copy. */
    contentHash: own.length === all.length ? hash : hashFiles(item, root, all),
    /** The hashed files. */
    files: own.map(({ path }) => path),
    /** The files to copy: the hashed ones, and what source hooks created. */
    all,
    references: [...references.values()],
    /** How many files that a skill names outside of it are beyond a limit (INS-89). */
    left: named.left,
    /** Names in `requires:` that are no items (INS-92). */
    unmet,
  };
}

/** Whether a file of an item is one that it names outside of its directory. */
export function isNamed(path: string): boolean {
  return path.startsWith(`${NAMED_FILES}/`);
}

/** Returns the installed form of a file, with tokens expanded. */
export function expandFile(
  item: SourceItem,
  path: string,
  bytes: Buffer,
  loaded: LoadedTree,
  rendering: Rendering,
): Buffer | string {
  const { text, tokens } = tokensIn(item, path, bytes, loaded);
  if (tokens.length === 0) return bytes;
  const siblings = loaded.siblingsOf(item);
  const withTilde = MARKDOWN.test(path) ? findTildeTokens(text, tokens) : new Set<Token>();
  return replaceTokens(text, tokens, (token) => {
    const target = resolveToken(token, item, siblings);
    // Checked before, but a local source may have changed since.
    if (typeof target === 'string')
      throw badReference(token.text, target, { item, file: path, line: lineAt(text, token.start) });
    const value = renderToken(token, target, {
      ...rendering,
      prefix: siblings.prefix,
      tilde: withTilde.has(token),
    });
    // In a server, a path is part of a JSON string in which `${` begins a reference.
    return item.content === undefined ? value : JSON.stringify(value.replaceAll('${', () => '$${')).slice(1, -1);
  });
}

// TOK-2: no tokens in files in which they are not expanded. Plugins have tokens of their own, in Markdown and servers.
function tokensIn(
  item: SourceItem,
  path: string,
  bytes: Buffer,
  { expand, siblingsOf }: LoadedTree,
): { readonly text: string; readonly tokens: readonly Token[] } {
  const { plugin, kind, content } = item;
  const none = { text: '', tokens: [] };
  // Written for the places that they were named in.
  if (isNamed(path)) return none;
  if ((expand === 'markdown' || plugin !== null) && content === undefined && !MARKDOWN.test(path)) return none;
  if (kind === 'plugin' || !bytes.includes('{') || bytes.includes(0) || !isUtf8(bytes)) return none;
  const text = bytes.toString('utf8');
  if (plugin === null) return { text, tokens: findTokens(text) };
  if (content !== undefined) return { text, tokens: findPluginTokens(text) };
  // INS-86: most plugins are written for other systems, where braces may mean something else.
  const siblings = siblingsOf(item);
  const known = findTokens(text).filter((token) => {
    const target = resolveToken(token, item, siblings);
    return typeof target !== 'string' && target.kind !== 'plugin';
  });
  return { text, tokens: [...findPluginTokens(text), ...known].sort((a, b) => a.start - b.start) };
}
