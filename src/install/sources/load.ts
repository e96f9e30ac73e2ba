// Loads registered sources with the items they offer, and finds a source by name.

import { resolve } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { realPath } from '../../files/within.js';
import { isDirectory } from '../directory.js';
import type { InstallEnvironment } from '../environment.js';
import { readBundle } from '../manifest/bundle.js';
import { effectiveName, type ItemKind, itemKey } from '../manifest/item-name.js';
import { parseSourceManifest } from '../manifest/source-manifest.js';
import type { SourceRecord } from '../state.js';
import type { LoadedTree } from '../tokens/source-form.js';
import { groupSiblings } from '../tokens/targets.js';
import { readTracked, treeOf } from './clones.js';
import { BLANK } from './plugin-items.js';
import { type Scan, scanSource } from './scan.js';
import type { SourceItem } from './source-item.js';

export interface LoadedSource extends LoadedTree {
  readonly record: SourceRecord;
  readonly scan: Scan;
  readonly prefix: string | null;
}

/** An item together with the source that offers it. */
export interface AvailableItem {
  readonly source: LoadedSource;
  readonly item: SourceItem;
}

export function listItems(sources: readonly LoadedSource[]): AvailableItem[] {
  return sources.flatMap((source) => source.scan.items.map((item) => ({ source, item })));
}

export function availableKey({ source, item }: AvailableItem): string {
  return itemKey({ ...item, source: source.record.id });
}

export function availableName({ source, item }: AvailableItem): string {
  return installedName(item, prefixOf(source.record, source.scan, item.plugin));
}

/** The directory of a plugin has the name of the plugin itself. */
export function installedName({ kind, name }: SourceItem, prefix: string | null): string {
  return kind === 'plugin' ? (prefix ?? name) : effectiveName(prefix, name);
}

/** Finds a source by id, location, path or the last segment of its id. Throws `not_found`. */
export function findSource(text: string, sources: readonly SourceRecord[], cwd: string): SourceRecord {
  const found =
    sources.find(({ id }) => id === text) ??
    sources.find(({ location }) => location === text || location === (realPath(resolve(cwd, text)) ?? text)) ??
    sources.find(({ id }) => id.split('/').at(-1) === text);
  if (found !== undefined) return found;
  const known = sources.map(({ id }) => id).join(', ');
  throw new ToolError('not_found', `source "${quoteOutside(text, 120)}" not found`, {
    hint: known === '' ? 'add one: wield add owner/repo' : `registered sources: ${known}`,
  });
}

/** Finds a source and the nested sources that are removed with it. */
export function findWithNested(text: string, sources: readonly SourceRecord[], cwd: string): SourceRecord[] {
  const found = [findSource(text, sources, cwd)];
  for (const outer of found)
    found.push(...sources.filter((source) => source.parent === outer.id && !found.includes(source)));
  return found;
}

/** Loads all sources at once: a bad reference to an item of another source names that source (TOK-5). */
export function loadSourceTrees(
  records: readonly SourceRecord[],
  { paths, report }: InstallEnvironment,
): LoadedSource[] {
  const scans = new Map<string, Scan>();
  for (const record of records) {
    const tree = treeOf(record, paths);
    if (!isDirectory(tree)) {
      report({ kind: 'warning', text: `the directory of source ${record.id} is missing: ${tree}` });
      continue;
    }
    try {
      scans.set(record.id, scanRecord(record, tree));
    } catch (error) {
      // The other sources stay usable.
      if (!isToolError(error)) throw error;
      report({ kind: 'warning', text: `could not read source ${record.id}: ${error.message}` });
    }
  }
  const findElsewhere =
    (own: string) =>
    (kind: ItemKind | null, name: string): string | undefined => {
      for (const [id, { items }] of scans)
        if (id !== own && items.some((item) => item.name === name && (kind === null || item.kind === kind))) return id;
      return undefined;
    };
  return records.flatMap((record) => {
    const scan = scans.get(record.id);
    if (scan === undefined) return [];
    const tree = treeOf(record, paths);
    return [
      {
        record,
        scan,
        prefix: prefixOf(record, scan),
        tree,
        tracked: tree === record.location ? null : readTracked(tree),
        expand: scan.manifest.expand,
        siblingsOf: groupSiblings(scan.items, (plugin) => prefixOf(record, scan, plugin), findElsewhere(record.id)),
      },
    ];
  });
}

export function scanRecord({ id, kind, location, roots, addRoots, adoption }: SourceRecord, tree: string): Scan {
  if (kind === 'bundle') return scanBundle(tree);
  return scanSource(tree, { location, roots, addRoots, adoption, name: id.split('/').at(-1) });
}

/**
 * Returns the namespace of a source, or of one of its plugins: the user's choice, else the manifest's or the name of the
 * plugin. The user's choice is followed by the name of the plugin if there are several (INS-60).
 */
export function prefixOf(
  record: SourceRecord,
  { manifest, plugins }: Scan,
  plugin: string | null = null,
): string | null {
  // A bundle is one server, which has the name of the bundle.
  if (!record.prefixGiven) return record.kind === 'bundle' ? null : (plugin ?? manifest.namespace);
  if (plugin === null || record.prefix === null || plugins.length < 2) return record.prefix;
  return `${record.prefix}-${plugin}`;
}

/** Throws `invalid_definition` if the bundle cannot be used. */
function scanBundle(tree: string): Scan {
  const { name, description, template } = readBundle(tree);
  const own = { ...BLANK, name, ownName: name, plugin: name, path: '' };
  const items = [
    {
      ...own,
      kind: 'server' as const,
      description: description ?? `MCP server ${name}`,
      content: `${JSON.stringify(template, null, 2)}\n`,
    },
    { ...own, kind: 'plugin' as const, description: `files of the bundle ${name}` },
  ];
  const { manifest } = parseSourceManifest('');
  return { items, plugins: [], warnings: [], skipped: [], manifest: { ...manifest, description } };
}
