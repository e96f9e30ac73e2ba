// Reads the manifest of a source, `wield.toml` or `mind.toml`: what it declares, and every complaint with its line.

import { lineOf, parseToml, type TomlPath } from '../../files/toml.js';
import { ITEM_KINDS, type ItemKind } from './item-name.js';
import { createManifestReader } from './source-fields.js';

/** What a source is held at. */
export interface Pin {
  readonly to: 'branch' | 'tag' | 'commit' | 'ref';
  readonly name: string;
}

export interface DeclaredHook {
  readonly run: string;
  readonly name: string | null;
  readonly event: 'install' | 'uninstall';
}

export interface DeclaredItem {
  readonly kind: ItemKind;
  readonly name: string;
  readonly path: string;
  readonly link: string | null;
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  readonly install: string | null;
  readonly uninstall: string | null;
  readonly line: number;
}

export interface ItemGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface NestedSource {
  readonly source: string;
  readonly namespace: string | null;
  readonly pin: Pin | null;
}

export interface SourceManifest {
  readonly description: string | null;
  readonly namespace: string | null;
  readonly roots: readonly string[] | null;
  readonly pin: Pin | null;
  readonly minVersion: string | null;
  /** Which text files tokens are expanded in. */
  readonly expand: 'all' | 'markdown';
  readonly items: readonly DeclaredItem[];
  readonly globs: Readonly<Partial<Record<ItemKind, ItemGlobs>>>;
  readonly sources: readonly NestedSource[];
  readonly hooks: readonly DeclaredHook[];
}

/** A complaint about a manifest. */
export interface ManifestComplaint {
  readonly line: number;
  readonly key: string;
  readonly message: string;
  readonly hint: string;
}

export const NO_MANIFEST: SourceManifest = {
  description: null,
  namespace: null,
  roots: null,
  pin: null,
  minVersion: null,
  expand: 'all',
  items: [],
  globs: {},
  sources: [],
  hooks: [],
};

const SOURCE_KEYS = [
  'description',
  'namespace',
  'prefix',
  'roots',
  'pin',
  'follow-branch',
  'pin-tag',
  'pin-ref',
  'min-version',
  'min-mind-version',
  'min-wield-version',
  'install',
  'uninstall',
  'expand',
];
const DISCOVER_KEYS = ['skills', 'agents', 'rules', 'tools', 'sources'];

/** The manifest of a source's text, with everything that is wrong with it (INS-3). */
export function readSourceManifest(text: string): {
  readonly manifest: SourceManifest;
  readonly complaints: readonly ManifestComplaint[];
} {
  const complaints: ManifestComplaint[] = [];
  const complain = (path: TomlPath, message: string, hint: string): void => {
    complaints.push({ line: lineOf(text, path), key: path.join('.'), message, hint });
  };
  const parsed = parseToml(text);
  if ('message' in parsed) {
    const { message, line } = parsed;
    return { manifest: NO_MANIFEST, complaints: [{ line, key: '', message, hint: 'mend the TOML' }] };
  }
  const reader = createManifestReader(complain);
  const document = reader.table(parsed.document, [], ['source', 'items', 'discover', 'hooks', 'sources']);
  const source = reader.table(document.source, ['source'], SOURCE_KEYS);
  const discover = reader.table(document.discover, ['discover'], DISCOVER_KEYS);
  const globs: Partial<Record<ItemKind, ItemGlobs>> = {};
  for (const kind of ITEM_KINDS) {
    const read = reader.globs(discover[`${kind}s`], ['discover', `${kind}s`]);
    if (read !== undefined) globs[kind] = read;
  }
  const own = reader.tables(document.sources, ['sources']).map(reader.nested(['sources']));
  const nested = reader.tables(discover.sources, ['discover', 'sources']);
  const manifest: SourceManifest = {
    description: reader.text(source, ['source'], 'description'),
    namespace: reader.name(source, ['source'], 'namespace') ?? reader.name(source, ['source'], 'prefix'),
    roots: reader.texts(source.roots, ['source', 'roots']) ?? null,
    pin: reader.pin(source, ['source']),
    minVersion:
      reader.text(source, ['source'], 'min-version') ?? reader.text(source, ['source'], 'min-wield-version'),
    expand: reader.expand(source),
    items: reader
      .tables(document.items, ['items'])
      .flatMap((item, at) => reader.item(item, ['items', at], lineOf(text, ['items', at]))),
    globs,
    sources: [...own, ...nested.map(reader.nested(['discover', 'sources']))].flat(),
    hooks: [
      ...reader.sourceHooks(source),
      ...reader.tables(document.hooks, ['hooks']).flatMap((hook, at) => reader.hook(hook, ['hooks', at])),
    ],
  };
  return { manifest, complaints };
}
