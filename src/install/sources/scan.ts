// Scans a source for items: by convention, or by what its manifest declares. Nothing of it runs.

import { readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { ToolError } from '../../core/error.js';
import { compareText, count, quoteOutside } from '../../core/text.js';
import { readHead, readTextFile, statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { findNameFault, ITEM_KINDS, type ItemKind } from '../manifest/item-name.js';
import { isSafePath } from '../manifest/source-fields.js';
import {
  type DeclaredItem,
  type ManifestComplaint,
  NO_MANIFEST,
  readSourceManifest,
  type SourceManifest,
} from '../manifest/source-manifest.js';
import { readItemFacts } from '../manifest/tool-md.js';
import { findPaths } from './path-glob.js';

export interface OfferedItem {
  readonly kind: ItemKind;
  readonly name: string;
  /** Below the source; a directory, or a file for an agent or a rule. */
  readonly path: string;
  readonly file: boolean;
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  readonly install: string | null;
  readonly uninstall: string | null;
  /** Where it is linked in an agent home, if not at its usual place. */
  readonly link: string | null;
  readonly requires: readonly string[];
}

export interface ScanWarning {
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

export interface Scan {
  readonly items: readonly OfferedItem[];
  readonly warnings: readonly ScanWarning[];
  readonly manifest: SourceManifest;
  /** The name of the manifest's file; null where there is none. */
  readonly manifestFile: string | null;
}

const MANIFESTS = ['wield.toml', 'mind.toml'];
const FACTS_BYTES = 1024 * 1024;

/** The manifest of a source with its complaints; `mind.toml` counts where there is no `wield.toml` (INS-3). */
export function loadManifest(tree: string): {
  readonly manifest: SourceManifest;
  readonly file: string | null;
  readonly complaints: readonly ManifestComplaint[];
} {
  for (const file of MANIFESTS) {
    const path = join(tree, file);
    if (statOrNothing(path) === undefined) continue;
    assertInside(tree, file, file);
    const text = readTextFile(path);
    if (text !== undefined) return { ...readSourceManifest(text), file };
  }
  return { manifest: NO_MANIFEST, file: null, complaints: [] };
}

export interface ScanOptions {
  /** Roots that the user named; they count before those of the manifest. */
  readonly roots: readonly string[];
  /** Takes complaints about the manifest; without it the first is thrown. */
  readonly complain?: (complaint: ManifestComplaint) => void;
}

/** Everything that a source offers. Throws `invalid_definition`, `path_escape` or `conflict`. */
export function scanSource(tree: string, { roots, complain }: ScanOptions): Scan {
  const { manifest, file, complaints } = loadManifest(tree);
  if (complain !== undefined) complaints.forEach(complain);
  else if (complaints.length > 0) throw manifestError(join(tree, file!), complaints);
  const warnings: ScanWarning[] = [];
  const declared = manifest.items.map((item) => fromDeclaration(tree, item, file!));
  const globbed = ITEM_KINDS.flatMap((kind) => fromGlobs(tree, kind, manifest, warnings));
  const authoritative = manifest.items.length > 0 || Object.keys(manifest.globs).length > 0;
  const named = roots.length > 0 ? roots : (manifest.roots ?? ['.']);
  const found = authoritative
    ? []
    : named.flatMap((root) => expandRoot(tree, root)).flatMap((root) => byConvention(tree, root, warnings));
  const items = [...declared, ...globbed, ...found].sort(
    (a, b) =>
      ITEM_KINDS.indexOf(a.kind) - ITEM_KINDS.indexOf(b.kind) ||
      compareText(a.name, b.name) ||
      compareText(a.path, b.path),
  );
  assertUnique(items);
  return { items, warnings, manifest, manifestFile: file };
}

function manifestError(file: string, complaints: readonly ManifestComplaint[]): ToolError {
  const [first] = complaints;
  const more = complaints.length === 1 ? '' : `, and ${count(complaints.length - 1, 'more complaint')}`;
  const key = first!.key === '' ? '' : `${first!.key}: `;
  return new ToolError('invalid_definition', `${file}:${first!.line}: ${key}${first!.message}${more}`, {
    hint: first!.hint,
    data: { complaints: complaints.map((complaint) => ({ ...complaint })) },
  });
}

// INS-6
function assertUnique(items: readonly OfferedItem[]): void {
  for (const [at, item] of items.entries()) {
    const next = items[at + 1];
    if (next === undefined || next.kind !== item.kind || next.name !== item.name) continue;
    throw new ToolError(
      'conflict',
      `the source has the ${item.kind} ${quoteOutside(item.name, 80)} twice: ${item.path} and ${next.path}`,
      { hint: 'rename one of them, or name the roots to scan with --root' },
    );
  }
}

/** Throws `path_escape` where a path of a source leads out of it, links followed (INS-5). */
function assertInside(tree: string, path: string, what: string): void {
  const real = realPath(join(tree, path));
  const root = realPath(tree);
  if (real === undefined || (root !== undefined && isWithin(root, real))) return;
  throw escapes(path, what);
}

function escapes(path: string, what: string): ToolError {
  return new ToolError('path_escape', `${quoteOutside(what, 120)} leads out of the source`, {
    hint: 'keep what a source offers within it',
    data: { path },
  });
}

function expandRoot(tree: string, root: string): string[] {
  if (/[*?[{]/.test(root)) {
    const found = findPaths(tree, [root], []).filter(({ directory }) => directory);
    return found.map(({ path }) => path);
  }
  if (!isSafePath(root)) throw escapes(root, `the root "${root}"`);
  assertInside(tree, root, `the root "${root}"`);
  if (statOrNothing(join(tree, root))?.isDirectory()) return [root === '.' ? '' : root.replace(/\/+$/, '')];
  throw new ToolError('not_found', `the source has no directory "${quoteOutside(root, 120)}"`, {
    hint: 'name a directory that is there with --root',
  });
}

// INS-2
function byConvention(tree: string, root: string, warnings: ScanWarning[]): OfferedItem[] {
  const items: OfferedItem[] = [];
  for (const kind of ITEM_KINDS) {
    const folder = join(root, `${kind}s`);
    for (const entry of namesIn(join(tree, folder))) {
      const path = join(folder, entry);
      assertInside(tree, path, path);
      const stats = statOrNothing(join(tree, path));
      const item = stats && readEntry(tree, kind, path, stats.isDirectory(), warnings);
      if (item) items.push(item);
    }
  }
  return items;
}

function readEntry(
  tree: string,
  kind: ItemKind,
  path: string,
  directory: boolean,
  warnings: ScanWarning[],
): OfferedItem | undefined {
  const entry = basename(path);
  const warn = (message: string, hint: string): undefined => {
    warnings.push({ path, message, hint });
  };
  if (entry.startsWith('.')) return undefined;
  if (kind === 'tool' || kind === 'skill') {
    if (!directory) return undefined;
    if (kind === 'skill' && !namesIn(join(tree, path)).includes('SKILL.md')) {
      const other = namesIn(join(tree, path)).find((name) => name.toLowerCase() === 'skill.md');
      if (other === undefined) return undefined;
      return warn(`passed over: its text is named ${other}`, 'rename it to SKILL.md');
    }
  } else if (directory || !entry.endsWith('.md')) return undefined;
  else if (/^readme\.md$/i.test(entry))
    return warn(`passed over: a README is no ${kind}`, 'nothing is needed');
  const name = kind === 'tool' || kind === 'skill' ? entry : entry.slice(0, -'.md'.length);
  const fault = findNameFault(name);
  if (fault !== undefined)
    return warn(`passed over: the name "${quoteOutside(name, 60)}" ${fault}`, 'rename it');
  return { ...factsOf(tree, kind, name, toReal(tree, path)), kind, name };
}

// What the item says about itself.
function factsOf(
  tree: string,
  kind: ItemKind,
  name: string,
  path: string,
): Omit<OfferedItem, 'kind' | 'name'> {
  const file = !statOrNothing(join(tree, path))?.isDirectory();
  const anchor = file ? path : join(path, kind === 'tool' ? 'TOOL.md' : 'SKILL.md');
  assertInside(tree, anchor, anchor);
  const reading = readHead(join(tree, anchor), FACTS_BYTES);
  const facts = readItemFacts('fault' in reading ? '' : reading.bytes.toString('utf8'));
  const tool = kind === 'tool';
  const conventional = tool && statOrNothing(join(tree, path, name))?.isFile() ? name : null;
  return {
    path,
    file,
    description: facts.description,
    bin: tool ? (facts.bin ?? conventional) : null,
    build: tool ? facts.build : null,
    install: null,
    uninstall: null,
    link: null,
    requires: facts.requires,
  };
}

function fromDeclaration(tree: string, item: DeclaredItem, file: string): OfferedItem {
  const { kind, name, path, link, description, bin, build, install, uninstall } = item;
  assertInside(tree, path, `the path of the ${kind} ${name} in ${file}:${item.line}`);
  const stats = statOrNothing(join(tree, path));
  const wantsDirectory = kind === 'tool' || kind === 'skill';
  if (stats === undefined || stats.isDirectory() !== wantsDirectory) {
    throw new ToolError(
      'invalid_definition',
      `${file}:${item.line}: the ${kind} ${name} is no ${wantsDirectory ? 'directory' : 'file'}: ${path}`,
      { hint: 'mend its path' },
    );
  }
  const facts = factsOf(tree, kind, name, toReal(tree, path));
  return {
    ...facts,
    kind,
    name,
    link,
    description: description ?? facts.description,
    bin: bin ?? facts.bin,
    build: build ?? facts.build,
    install,
    uninstall,
  };
}

// Globs match what an item lies in: a directory for tools; for skills the directory or its SKILL.md (INS-36).
function fromGlobs(
  tree: string,
  kind: ItemKind,
  { globs }: SourceManifest,
  warnings: ScanWarning[],
): OfferedItem[] {
  const wanted = globs[kind];
  if (wanted === undefined) return [];
  const paths = findPaths(tree, wanted.include, wanted.exclude).flatMap(({ path, directory }) => {
    if (kind === 'skill' && !directory)
      return basename(path) === 'SKILL.md' && path.includes('/')
        ? [[path.slice(0, -'/SKILL.md'.length), true] as const]
        : [];
    return [[path, directory] as const];
  });
  return [...new Map(paths)].flatMap(([path, directory]) => {
    assertInside(tree, path, path);
    return readEntry(tree, kind, path, directory, warnings) ?? [];
  });
}

// An item that is reached by a link within the source is what the link leads to.
function toReal(tree: string, path: string): string {
  const [root, real] = [realPath(tree), realPath(join(tree, path))];
  return root === undefined || real === undefined ? path : relative(root, real);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort(compareText);
  } catch {
    return [];
  }
}
