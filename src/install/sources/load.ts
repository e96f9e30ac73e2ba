// Sources: what a person may write for one, where its files are, and what it offers now.

import { existsSync, statSync } from 'node:fs';
import { basename, isAbsolute, resolve } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { realPath } from '../../files/within.js';
import type { LoadedTree } from '../apply/stage.js';
import type { InstallContext, Paths } from '../environment.js';
import type { ItemKind } from '../manifest/item-name.js';
import type { SourceRecord } from '../state.js';
import { toSiblings } from '../tokens/targets.js';
import { clonePaths, readTracked, showUrl } from './git.js';
import { type Scan, scanSource } from './scan.js';

/** Where a source is. */
export interface Location {
  readonly kind: SourceRecord['kind'];
  readonly location: string;
  /** What it is called where nothing else has that name. */
  readonly name: string;
}

const SCHEMES = ['https:', 'ssh:', 'file:'];
const SHORT = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9_][\w.-]*$/;

/** Reads `owner/repo`, a URL or a path (INS-1). Throws `usage` for anything that git would take for a command (A27). */
export function parseLocation(text: string, cwd: string, home: string | undefined): Location {
  const refuse = (why: string): ToolError =>
    new ToolError('usage', `"${quoteOutside(showUrl(text), 120)}" ${why}`, {
      hint: 'name owner/repo, an https://, ssh:// or file:// URL, or a directory',
    });
  if (text === '' || text.startsWith('-') || /[\0-\x20\x7f]/.test(text.trim())) throw refuse('is no source');
  const path = home !== undefined && /^~(?=\/|$)/.test(text) ? home + text.slice(1) : text;
  const looksLikePath = isAbsolute(path) || /^\.{1,2}(?:\/|$)/.test(path);
  if (
    looksLikePath ||
    (!path.includes('::') && !/^[\w+.-]+:/.test(path) && isDirectory(resolve(cwd, path)))
  ) {
    const directory = resolve(cwd, path);
    if (!isDirectory(directory)) throw refuse('is no directory');
    return { kind: 'local', location: realPath(directory) ?? directory, name: basename(directory) };
  }
  const hosted = /^(?:github:)?(.+)$/.exec(text)![1]!;
  if (SHORT.test(hosted))
    return {
      kind: 'git',
      location: `https://github.com/${hosted.replace(/\.git$/, '')}`,
      name: nameOf(hosted),
    };
  // The short form of ssh: user@host:path.
  if (/^[\w.-]+@[\w.-]+:[^:]+$/.test(text) && !text.includes('::'))
    return { kind: 'git', location: text, name: nameOf(text.slice(text.indexOf(':') + 1)) };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse('is no source');
  }
  if (!SCHEMES.includes(url.protocol) || text.includes('::')) throw refuse('cannot be fetched safely');
  if (url.hostname.startsWith('-') || url.username.startsWith('-')) throw refuse('is no source');
  if (url.password !== '') throw refuse('has a password in it, which would be kept in a file');
  return { kind: 'git', location: text, name: nameOf(url.pathname) };
}

function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

// The last two steps of a path, as people call a repository.
function nameOf(path: string): string {
  const steps = path
    .replace(/\.git\/?$/, '')
    .split('/')
    .filter((step) => step !== '');
  return steps
    .slice(-2)
    .join('/')
    .replace(/[^\w./-]/g, '-');
}

/** A name that no other source has. */
export function uniqueId(name: string, sources: readonly SourceRecord[]): string {
  for (let at = 1; ; at++) {
    const id = at === 1 ? name : `${name}-${at}`;
    if (!sources.some((source) => source.id === id)) return id;
  }
}

/** The directory of a clone: for people to recognise, and different for every address. */
export function cloneDirectory({ location, name }: Location): string {
  return `${name.replace(/[^\w.-]/g, '-')}-${digestParts([location]).slice(0, 12)}`;
}

/** The one source that a person means: its id, its address, or its path. Throws `not_found`. */
export function findSource(text: string, sources: readonly SourceRecord[], cwd: string): SourceRecord {
  const found =
    sources.find(({ id }) => id === text) ??
    sources.find(
      ({ location }) => location === text || location === (realPath(resolve(cwd, text)) ?? text),
    ) ??
    sources.find(({ id }) => id.split('/').at(-1) === text);
  if (found !== undefined) return found;
  const known = sources.map(({ id }) => id).join(', ');
  throw new ToolError('not_found', `there is no source "${quoteOutside(text, 120)}"`, {
    hint: known === '' ? 'add one: wield add owner/repo' : `there are ${known}`,
  });
}

/** Where the files of a source are. */
export function treeOf({ kind, location, directory, commit }: SourceRecord, { sources }: Paths): string {
  return kind === 'local' ? location : clonePaths(sources, directory!, commit).tree;
}

/** A source with everything that it offers now. */
export interface LoadedSource extends LoadedTree {
  readonly record: SourceRecord;
  readonly scan: Scan;
  readonly prefix: string | null;
}

/** Loads sources together, since each knows what the others have (TOK-5). */
export function loadSourceTrees(
  records: readonly SourceRecord[],
  { paths, report }: { readonly paths: Paths } & Pick<InstallContext, 'report'>,
): LoadedSource[] {
  const scans = new Map<string, Scan>();
  for (const record of records) {
    const tree = treeOf(record, paths);
    if (!isDirectory(tree)) {
      report({ kind: 'warning', text: `the source ${record.id} is gone: ${tree}` });
      continue;
    }
    try {
      scans.set(record.id, scanSource(tree, { roots: record.roots }));
    } catch (error) {
      // One that cannot be read keeps no other from being used.
      if (!isToolError(error)) throw error;
      report({ kind: 'warning', text: `the source ${record.id} cannot be read: ${error.message}` });
    }
  }
  const elsewhere =
    (own: string) =>
    (kind: ItemKind | null, name: string): string | undefined => {
      for (const [id, { items }] of scans)
        if (id !== own && items.some((item) => item.name === name && (kind === null || item.kind === kind)))
          return id;
      return undefined;
    };
  return records.flatMap((record) => {
    const scan = scans.get(record.id);
    if (scan === undefined) return [];
    const tree = treeOf(record, paths);
    const prefix = record.prefixGiven ? record.prefix : scan.manifest.namespace;
    return [
      {
        record,
        scan,
        prefix,
        tree,
        tracked: record.kind === 'git' ? readTracked(tree) : null,
        expand: scan.manifest.expand,
        siblings: toSiblings(record.id, prefix, scan.items, elsewhere(record.id)),
      },
    ];
  });
}
