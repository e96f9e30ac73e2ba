// Finds the plugins of a source: those of its marketplace, the source itself, or directories with a manifest.

import { basename, dirname } from 'node:path';
import { compareText } from '../../core/text.js';
import { type Marketplace, readMarketplace } from '../manifest/marketplace.js';
import { MANIFEST_PATHS, readPluginManifest } from '../manifest/plugin-json.js';
import type { NestedSource, PluginEntry } from '../manifest/source-manifest.js';
import { isInside } from './find-items.js';
import { isSameRepository } from './location.js';
import type { ScanNotes } from './notes.js';
import { type FoundPlugin, readPlugin } from './plugin-items.js';

export interface PluginScan {
  readonly plugins: readonly FoundPlugin[];
  /** Whether the source consists of plugins: nothing else of it is offered. */
  readonly whole: boolean;
  readonly description: string | null;
  /** Repositories of plugins that the marketplace lists. */
  readonly elsewhere: readonly NestedSource[];
}

const MAX_DIRECTORIES = 500;

interface PluginScanOptions {
  /** All files of the source. */
  readonly files: readonly string[];
  /** Every SKILL.md. */
  readonly skillFiles: readonly string[];
  readonly notes: ScanNotes;
  /** Plugins that the marketplace of another source lists. */
  readonly adopted: readonly PluginEntry[] | undefined;
  /** Where the source comes from. */
  readonly location: string | undefined;
}

/** Throws `invalid_definition` if the manifest of the source itself is invalid. */
export function scanPlugins(tree: string, options: PluginScanOptions): PluginScan {
  const { files, skillFiles, notes, adopted, location } = options;
  const marketplace = adopted === undefined ? withOwn(readMarketplace(tree, notes.skip), location) : undefined;
  const listed = adopted ?? marketplace?.plugins;
  const own = listed ?? [entryOf(tree, '') ?? []].flat();
  const whole = listed !== undefined || own.length > 0;
  const isItself = whole && listed === undefined;
  const entries = whole ? own : findDirectories(tree, files, notes);
  const plugins = entries.flatMap((entry) => {
    // The skills of several plugins are not told apart elsewhere than in their own directories.
    const others = entries.length > 1 && entry.path === '' ? [] : skillsBelow(entry.path, skillFiles);
    const read = (): FoundPlugin => readPlugin(tree, entry, { files, others, notes });
    return (isItself ? read() : notes.attempt('plugin', entry.name, read)) ?? [];
  });
  return {
    plugins,
    whole,
    description: marketplace?.description ?? (isItself ? plugins[0]!.description : null),
    elsewhere: marketplace?.elsewhere ?? [],
  };
}

// Directories with a SKILL.md that are in no other such directory.
function skillsBelow(root: string, skillFiles: readonly string[]): string[] {
  const below = skillFiles
    .filter((file) => root === '' || file.startsWith(`${root}/`))
    .map((file) => dirname(file))
    .filter((path) => path !== '.' && !path.split('/').some((segment) => segment.startsWith('.')))
    .sort(compareText);
  return below.filter((path) => !isInside(path, new Set(below)));
}

// A marketplace may name its own repository; that is the source itself, unless at another commit.
function withOwn(marketplace: Marketplace | undefined, location: string | undefined): Marketplace | undefined {
  if (marketplace === undefined || location === undefined) return marketplace;
  const isOwn = ({ source, pin }: NestedSource): boolean => pin === null && isSameRepository(source, location);
  const own = marketplace.elsewhere.filter(isOwn).flatMap(({ adoption }) => adoption?.plugins ?? []);
  const elsewhere = marketplace.elsewhere.filter((nested) => !isOwn(nested));
  return { ...marketplace, plugins: [...marketplace.plugins, ...own], elsewhere };
}

// Directories with a manifest, outermost first; a plugin in another one is part of it.
function findDirectories(tree: string, files: readonly string[], notes: ScanNotes): PluginEntry[] {
  const manifests = files.filter((path) => MANIFEST_PATHS.some((name) => `/${path}`.endsWith(`/${name}`)));
  const directories = [...new Set(manifests.map(directoryOfManifest))].filter((path) => path !== '').sort(compareText);
  const found = new Map<string, PluginEntry>();
  for (const path of directories.slice(0, MAX_DIRECTORIES)) {
    if (isInside(path, new Set([...found.values()].map((entry) => entry.path)))) continue;
    const entry = notes.attempt('plugin', path, () => entryOf(tree, path));
    if (entry === undefined) continue;
    const name = entry.name.toLowerCase();
    if (found.has(name)) notes.skip('plugin', path, 'another plugin has the same name');
    else found.set(name, entry);
  }
  return [...found.values()];
}

// A directory that is a plugin without a marketplace.
function entryOf(tree: string, path: string): PluginEntry | undefined {
  const manifest = readPluginManifest(tree, path);
  if (manifest === undefined) return undefined;
  return { name: manifest.name, description: manifest.description, path, strict: true, components: {} };
}

// The directory of a plugin, from the path of its manifest.
function directoryOfManifest(path: string): string {
  const directory = dirname(path);
  const root = /^\.(?:claude|codex)-plugin$/.test(basename(directory)) ? dirname(directory) : directory;
  return root === '.' ? '' : root;
}
