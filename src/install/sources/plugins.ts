// Finds the plugins of a source: those of its marketplace, the source itself, or directories with a manifest.

import { dirname } from 'node:path';
import { isToolError } from '../../core/error.js';
import { compareText } from '../../core/text.js';
import { type Marketplace, readMarketplace } from '../manifest/marketplace.js';
import { MANIFEST_PATHS } from '../manifest/plugin-json.js';
import type { NestedSource, PluginEntry } from '../manifest/source-manifest.js';
import type { ScanWarning } from './find-items.js';
import { isInside, type SkippedParts } from './find-skills.js';
import { isSameRepository } from './location.js';
import { directoryOfManifest, entryOf, type FoundPlugin, readPlugin } from './plugin-items.js';

export interface PluginScan {
  readonly plugins: readonly FoundPlugin[];
  /** Whether the source consists of plugins: nothing else of it is offered. */
  readonly whole: boolean;
  readonly description: string | null;
  /** Repositories of plugins that the marketplace lists. */
  readonly elsewhere: readonly NestedSource[];
  readonly skipped: readonly SkippedParts[];
  readonly warnings: readonly ScanWarning[];
}

const MAX_DIRECTORIES = 500;

interface PluginScanOptions {
  /** Plugins that the marketplace of another source lists. */
  readonly adopted?: readonly PluginEntry[] | undefined;
  /** Where the source comes from. */
  readonly location?: string | undefined;
}

/**
 * Undefined if nothing in the source is about plugins. `files` are all files of the source, `skillFiles` every SKILL.md. Throws
 * `invalid_definition` if the manifest of the source itself is invalid.
 */
export function scanPlugins(
  tree: string,
  files: readonly string[],
  skillFiles: readonly string[],
  { adopted, location }: PluginScanOptions,
): PluginScan | undefined {
  const skipped = createSkipped();
  const onEmpty = (file: string): void => skipped.add('marketplace', file, 'lists no plugins');
  const marketplace = adopted === undefined ? withOwn(readMarketplace(tree, onEmpty), location) : undefined;
  for (const { name, reason } of marketplace?.skipped ?? []) skipped.add('plugin', name, reason);
  const own = adopted ?? marketplace?.plugins ?? toList(entryOf(tree, ''));
  const whole = adopted !== undefined || marketplace !== undefined || own.length > 0;
  const isOne = marketplace === undefined && adopted === undefined;
  const entries = whole ? own : findDirectories(tree, files, skipped.add);
  const plugins = entries.flatMap((entry) => {
    // The skills of several plugins are not told apart elsewhere than in their own directories.
    const others = entries.length > 1 && entry.path === '' ? [] : skillsBelow(entry.path, skillFiles);
    try {
      return [readPlugin(tree, entry, { files, others, skip: skipped.add })];
    } catch (error) {
      if (!isToolError(error) || (isOne && whole)) throw error;
      skipped.add('plugin', entry.name, error.message);
      return [];
    }
  });
  if (!whole && plugins.length === 0 && skipped.all().length === 0) return undefined;
  return {
    plugins,
    whole,
    description: marketplace?.description ?? (isOne && whole ? (plugins[0]?.description ?? null) : null),
    elsewhere: marketplace?.elsewhere ?? [],
    skipped: skipped.all(),
    warnings: plugins.flatMap(toWarnings),
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

function toList(entry: PluginEntry | undefined): readonly PluginEntry[] {
  return entry === undefined ? [] : [entry];
}

// Directories with a manifest, outermost first; a plugin in another one is part of it.
function findDirectories(
  tree: string,
  files: readonly string[],
  skip: (what: string, name: string, reason: string) => void,
): PluginEntry[] {
  const manifests = files.filter((path) => MANIFEST_PATHS.some((name) => `/${path}`.endsWith(`/${name}`)));
  const directories = [...new Set(manifests.map(directoryOfManifest))].filter((path) => path !== '').sort(compareText);
  const found = new Map<string, PluginEntry>();
  for (const path of directories.slice(0, MAX_DIRECTORIES)) {
    if (isInside(path, new Set([...found.values()].map((entry) => entry.path)))) continue;
    try {
      const entry = entryOf(tree, path);
      if (entry === undefined) continue;
      const name = entry.name.toLowerCase();
      if (found.has(name)) skip('plugin', path, 'another plugin has the same name');
      else found.set(name, entry);
    } catch (error) {
      if (!isToolError(error)) throw error;
      skip('plugin', path, error.message);
    }
  }
  return [...found.values()];
}

function toWarnings({ name, path, unknown }: FoundPlugin): ScanWarning[] {
  return unknown.map((key) => ({
    path: path === '' ? 'plugin.json' : `${path}/plugin.json`,
    kind: 'unknown-field',
    message: `the plugin ${name}: unknown field "${key}" has no effect`,
    hint: 'remove it, or put it under extensions',
  }));
}

function createSkipped() {
  const groups = new Map<string, { what: string; reason: string; paths: string[] }>();
  return {
    add(what: string, name: string, reason: string): void {
      const key = `${what}\n${reason}`;
      const group = groups.get(key) ?? { what, reason, paths: [] };
      group.paths.push(name);
      groups.set(key, group);
    },
    all: (): readonly SkippedParts[] => [...groups.values()],
  };
}
