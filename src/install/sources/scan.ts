// Scans a source for items, by convention or by its manifest. Executes nothing.

import { basename, join, normalize } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Finding } from '../../core/problem.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { listEntries } from '../../files/tree.js';
import { ITEM_KINDS, type ItemKind, SOURCE_KINDS } from '../manifest/item-name.js';
import type { Adoption, SourceManifest } from '../manifest/source-manifest.js';
import {
  conventionalPaths,
  type Entries,
  expandRoots,
  findSkills,
  isInside,
  matchGlobs,
  readEntry,
} from './find-items.js';
import { assertInside, type LoadedManifest, loadManifest, manifestError } from './load-manifest.js';
import { createNotes, type ScanNotes, type ScanWarning, type SkippedParts } from './notes.js';
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
  const notes = createNotes();
  const loaded = loadManifest(tree, options.adoption);
  const { manifest, file, findings } = loaded;
  if (options.onFinding !== undefined) findings.forEach(options.onFinding);
  else if (findings.length > 0) throw manifestError(join(tree, file!), findings);
  // A manifest of wield, and directories that a person chose, come before those of plugins (INS-60).
  const isPlain = file === null && manifest.roots === null && (options.roots ?? []).length === 0;
  const { location, adoption } = options;
  const { plugins, whole, description, elsewhere } = isPlain
    ? scanPlugins(tree, { files, skillFiles, notes, adopted: adoption?.plugins, location })
    : NO_PLUGINS;
  const directories = new Set(plugins.map(({ path }) => path));
  const isOfPlugin = (path: string): boolean => whole || isInside(path, directories);
  const others = skillFiles.filter((path) => !isOfPlugin(path));
  const plain = whole ? [] : scanPlain({ tree, entries, skillFiles: others, notes }, loaded, options);
  const ofPlugins = plugins.flatMap(({ items }) => items);
  const skills = new Set(ofPlugins.flatMap(({ kind, path }) => (kind === 'skill' ? [path] : [])));
  // A skill that is the plugin itself contains everything.
  for (const path of skillFiles.filter(isOfPlugin))
    if (!skills.has('') && !isInside(path, skills)) notes.skip('skill', path, 'not one of the skills of a plugin');
  const items = [...plain, ...ofPlugins].sort(compareItems);
  const sources = [...manifest.sources, ...elsewhere];
  // Collections of scripts have no manifest; their files are tools where they are copied to.
  if (!whole && items.length === 0 && notes.skipped().length === 0 && sources.length === 0)
    for (const path of files.filter((one) => SCRIPT.test(one)))
      notes.skip('script', path, 'copy those that you want to .agents/tools');
  const joined = { ...manifest, description: manifest.description ?? description, sources };
  return { items, warnings: notes.warnings, plugins, skipped: notes.skipped(), manifest: joined };
}

const NO_PLUGINS: PluginScan = { plugins: [], whole: false, description: null, elsewhere: [] };
const SCRIPT = /(?:^|\/)[^./][^/]*\.(?:sh|bash|py|js|rb)$/;

interface PlainSource {
  readonly tree: string;
  readonly entries: Entries;
  readonly skillFiles: readonly string[];
  readonly notes: ScanNotes;
}

function scanPlain(
  { tree, entries, skillFiles, notes }: PlainSource,
  { manifest, file, addRoots }: LoadedManifest,
  options: ScanOptions,
): SourceItem[] {
  const { warnings } = notes;
  if (file !== null && options.adoption != null) {
    const message = 'roots and hooks of the outer source are ignored: this source has a manifest of its own';
    warnings.push({ path: file, kind: 'adoption', message, hint: 'no action needed' });
  }
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
  // Several roots or globs may lead to the same item.
  const declared = [...new Map(found.map((item) => [`${item.kind}\n${item.name}\n${item.path}`, item])).values()];
  assertUnique(declared);
  const nested = manifest.sources.flatMap(({ source }) => (/^\.\.?\//.test(source) ? normalize(source) : []));
  const manifestFile = authoritative ? file : null;
  const paths = findSkills({ skillFiles, visited, roots, taken: declared, nested, manifestFile }, notes);
  const names = new Set(declared.filter(({ kind }) => kind === 'skill').map(({ name }) => name));
  const skills = paths.flatMap((path) => {
    const skill = [read('skill', path, path === '' ? (options.name ?? basename(tree)) : undefined)].flat();
    // A skill outside of the usual directories gives way to one of the same name.
    return skill.filter(({ name }) => {
      const isNew = !names.has(name);
      if (!isNew) notes.skip('skill', path, 'another skill has the same name');
      names.add(name);
      return isNew;
    });
  });
  return [...declared, ...skills];
}

function compareItems(a: SourceItem, b: SourceItem): number {
  return (
    ITEM_KINDS.indexOf(a.kind) - ITEM_KINDS.indexOf(b.kind) ||
    compareText(a.name, b.name) ||
    compareText(a.path, b.path)
  );
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
