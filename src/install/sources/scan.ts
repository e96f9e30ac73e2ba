// Scans a source for items, by convention or by its manifest. Executes nothing.

import { basename, join, normalize } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { listEntries } from '../../files/tree.js';
import { ITEM_KINDS, type ItemKind, SOURCE_KINDS } from '../manifest/item-name.js';
import type { Adoption, SourceManifest } from '../manifest/source-manifest.js';
import { conventionalPaths, type Entries, expandRoots, matchGlobs, readEntry, type ScanWarning } from './find-items.js';
import { findSkills, isInside, type SkippedParts } from './find-skills.js';
import { assertInside, type LoadedManifest, loadManifest, manifestError } from './load-manifest.js';
import type { FoundPlugin } from './plugin-items.js';
import { type PluginScan, scanPlugins } from './plugins.js';
import { readDeclaredItem, type SourceItem } from './source-item.js';

export interface Scan {
  readonly items: readonly SourceItem[];
  readonly warnings: readonly ScanWarning[];
  readonly plugins: readonly FoundPlugin[];
  /** What is not offered, with the reason: every other SKILL.md, and parts of plugins. */
  readonly skipped: readonly SkippedParts[];
  readonly manifest: SourceManifest;
}

export interface ScanOptions {
  /** Given by the person; they override those of the manifest. */
  readonly roots?: readonly string[] | undefined;
  /** Directories to search besides everything else. */
  readonly addRoots?: readonly string[] | undefined;
  readonly adoption?: Adoption | null | undefined;
  /** Where the source comes from. */
  readonly location?: string | undefined;
  /** The name of a skill that is the source itself. */
  readonly name?: string | undefined;
  /** Receives findings about the manifest, which are thrown otherwise. */
  readonly onFinding?: (finding: Finding) => void;
}

/** Throws `invalid_definition`, `path_escape` or `conflict`. */
export function scanSource(tree: string, options: ScanOptions = {}): Scan {
  const entries = listEntries(tree);
  const files = entries.flatMap(({ path, directory }) => (directory ? [] : [path]));
  const skillFiles = files.filter((path) => basename(path).toLowerCase() === 'skill.md');
  const scripts = files.filter((path) => SCRIPT.test(path));
  const loaded = loadManifest(tree, options.adoption);
  const { manifest, file, findings } = loaded;
  if (options.onFinding !== undefined) findings.forEach(options.onFinding);
  else if (findings.length > 0) throw manifestError(join(tree, file!), findings);
  // A manifest of wield, and directories that a person chose, come before those of plugins (INS-60).
  const isPlain = file === null && manifest.roots === null && (options.roots ?? []).length === 0;
  const found = isPlain
    ? scanPlugins(tree, files, skillFiles, { ...options, adopted: options.adoption?.plugins })
    : undefined;
  if (found?.whole)
    return joinPlugins({ items: [], warnings: [], plugins: [], skipped: [], manifest }, found, skillFiles);
  const directories = new Set(found?.plugins.map(({ path }) => path));
  const isOfPlugin = (path: string): boolean => isInside(path, directories);
  const others = skillFiles.filter((path) => !isOfPlugin(path));
  const plain = scanPlain({ tree, entries, skillFiles: others }, loaded, options);
  const whole = found === undefined ? plain : joinPlugins(plain, found, skillFiles.filter(isOfPlugin));
  const isEmpty = whole.items.length === 0 && whole.skipped.length === 0 && whole.manifest.sources.length === 0;
  return isEmpty && scripts.length > 0 ? { ...whole, skipped: [skipScripts(scripts)] } : whole;
}

const SCRIPT = /(?:^|\/)[^./][^/]*\.(?:sh|bash|py|js|rb)$/;

// Collections of scripts have no manifest; their files are tools where they are copied to.
function skipScripts(paths: readonly string[]): SkippedParts {
  return { what: 'script', reason: 'copy those that you want to .agents/tools', paths };
}

// Adds plugins to what a source offers otherwise; `skillFiles` are those that the plugins account for.
function joinPlugins(plain: Scan, found: PluginScan, skillFiles: readonly string[]): Scan {
  const items = found.plugins.flatMap((plugin) => plugin.items);
  const skills = new Set(items.flatMap(({ kind, path }) => (kind === 'skill' ? [path] : [])));
  // A skill that is the plugin itself contains everything.
  const left = skills.has('') ? [] : skillFiles.filter((path) => !isInside(path, skills));
  const others: SkippedParts[] =
    left.length === 0 ? [] : [{ what: 'skill', reason: 'not one of the skills of a plugin', paths: left }];
  const { manifest } = plain;
  return {
    items: [...plain.items, ...items].sort(compareItems),
    plugins: found.plugins,
    warnings: [...plain.warnings, ...found.warnings],
    skipped: [...plain.skipped, ...found.skipped, ...others],
    manifest: {
      ...manifest,
      description: manifest.description ?? found.description,
      sources: [...manifest.sources, ...found.elsewhere],
    },
  };
}

function scanPlain(
  {
    tree,
    entries,
    skillFiles,
  }: { readonly tree: string; readonly entries: Entries; readonly skillFiles: readonly string[] },
  { manifest, file, addRoots, warnings: ignored }: LoadedManifest,
  options: ScanOptions,
): Scan {
  const warnings: ScanWarning[] = [...ignored];
  const visited = new Set<string>();
  const read = (kind: ItemKind, path: string, name?: string): SourceItem | [] => {
    if (kind === 'skill') visited.add(path);
    assertInside(tree, path);
    return readEntry(tree, kind, path, warnings, name) ?? [];
  };
  const authoritative = manifest.items.length > 0 || Object.keys(manifest.globs).length > 0;
  const given = options.roots ?? [];
  const chosen = given.length > 0 ? given : (manifest.roots ?? ['.']);
  const roots = [
    ...expandRoots(tree, entries, authoritative ? [] : chosen, given.length > 0 ? undefined : warnings),
    ...expandRoots(tree, entries, options.addRoots ?? [], undefined),
    ...expandRoots(tree, entries, addRoots, warnings),
  ];
  const found = [
    ...manifest.items.map((item) => readDeclaredItem(tree, item, file!)),
    ...SOURCE_KINDS.flatMap((kind) =>
      matchGlobs(entries, kind, manifest.globs[kind]).flatMap(({ path, name }) => read(kind, path, name)),
    ),
    ...[...new Set(roots)].flatMap((root) =>
      SOURCE_KINDS.flatMap((kind) => conventionalPaths(tree, root, kind).flatMap((path) => read(kind, path))),
    ),
  ];
  const declared = uniqueByPath(found);
  assertUnique(declared);
  const { paths, skipped } = findSkills({
    skillFiles,
    visited,
    roots,
    taken: declared,
    nested: manifest.sources.flatMap(({ source }) => (/^\.\.?\//.test(source) ? normalize(source) : [])),
    manifestFile: authoritative ? file : null,
  });
  const skills = paths.flatMap((path) =>
    read('skill', path, path === '' ? (options.name ?? basename(tree)) : undefined),
  );
  const { kept, doubles } = withoutDoubles(declared, skills);
  return {
    items: [...declared, ...kept].sort(compareItems),
    warnings,
    plugins: [],
    skipped:
      doubles.length === 0
        ? skipped
        : [...skipped, { what: 'skill', reason: 'another skill has the same name', paths: doubles }],
    manifest,
  };
}

function compareItems(a: SourceItem, b: SourceItem): number {
  return (
    ITEM_KINDS.indexOf(a.kind) - ITEM_KINDS.indexOf(b.kind) ||
    compareText(a.name, b.name) ||
    compareText(a.path, b.path)
  );
}

// Several roots or globs may lead to the same item.
function uniqueByPath(items: readonly SourceItem[]): SourceItem[] {
  return [...new Map(items.map((item) => [`${item.kind}\n${item.name}\n${item.path}`, item])).values()];
}

// INS-6
function assertUnique(items: readonly SourceItem[]): void {
  const sorted = [...items].sort(compareItems);
  for (const [at, item] of sorted.entries()) {
    const next = sorted[at + 1];
    if (next === undefined || next.kind !== item.kind || next.name !== item.name) continue;
    throw new ToolError(
      'conflict',
      `the source has two items ${item.kind}:${quoteOutside(item.name, 80)}: ${item.path} and ${next.path}`,
      { hint: 'rename one of them, or choose the directories to scan with --root' },
    );
  }
}

// A skill outside of the usual directories gives way to one of the same name.
function withoutDoubles(
  declared: readonly SourceItem[],
  skills: readonly SourceItem[],
): { readonly kept: readonly SourceItem[]; readonly doubles: readonly string[] } {
  const names = new Set(declared.filter(({ kind }) => kind === 'skill').map(({ name }) => name));
  const kept: SourceItem[] = [];
  const doubles: string[] = [];
  for (const skill of skills) {
    if (names.has(skill.name)) doubles.push(skill.path);
    else kept.push(skill);
    names.add(skill.name);
  }
  return { kept, doubles };
}
