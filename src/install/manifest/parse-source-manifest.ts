// Parses a source manifest and collects every problem with its line.

import type { Finding } from '../../core/problem.js';
import { lineOf, parseToml, type TomlPath } from '../../files/toml.js';
import { createFieldReader } from './fields.js';
import { readHooks, readSourceHooks } from './hook-tables.js';
import { type ItemKind, SOURCE_KINDS } from './item-name.js';
import { readNested, readRoots } from './nested.js';
import type { ItemGlobs, SourceManifest } from './source-manifest.js';
import { readExpand, readGlobs, readItem, readPin } from './tables.js';

const SOURCE_KEYS = [
  'description',
  'namespace',
  'prefix',
  'roots',
  'flat-skills',
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

/** `pointer` of a finding is the dotted key (INS-3). */
export function parseSourceManifest(text: string): {
  readonly manifest: SourceManifest;
  readonly findings: readonly Finding[];
} {
  const findings: Finding[] = [];
  const reader = createFieldReader((path, message, hint) => {
    findings.push({ line: lineOf(text, path), pointer: path.join('.'), message, hint });
  });
  // The TOML parser is not loaded for a source without a manifest.
  const parsed = text === '' ? { document: {} } : parseToml(text);
  if ('message' in parsed) findings.push({ ...parsed, pointer: '', hint: 'fix the TOML syntax' });
  const content = 'message' in parsed ? {} : parsed.document;
  const document = reader.table(content, [], ['source', 'items', 'discover', 'hooks', 'sources']);
  const source = reader.table(document.source, ['source'], SOURCE_KEYS);
  const discover = reader.table(document.discover, ['discover'], DISCOVER_KEYS);
  // No effect of its own: a SKILL.md is found anywhere below the roots.
  reader.flag(source, ['source'], 'flat-skills');
  const globs: Partial<Record<ItemKind, ItemGlobs>> = {};
  for (const kind of SOURCE_KINDS) {
    const read = readGlobs(reader, discover[`${kind}s`], ['discover', `${kind}s`]);
    if (read !== undefined) globs[kind] = read;
  }
  const readAll = <T>(value: unknown, at: TomlPath, read: (entry: unknown, path: TomlPath) => T | undefined) =>
    reader.tables(value, at).flatMap((entry, index) => read(entry, [...at, index]) ?? []);
  const manifest: SourceManifest = {
    description: reader.text(source, ['source'], 'description'),
    namespace: reader.name(source, ['source'], 'namespace') ?? reader.name(source, ['source'], 'prefix'),
    roots: readRoots(reader, source.roots, ['source', 'roots']),
    pin: readPin(reader, source, ['source']),
    minVersion: reader.text(source, ['source'], 'min-version') ?? reader.text(source, ['source'], 'min-wield-version'),
    expand: readExpand(reader, source),
    items: readAll(document.items, ['items'], (entry, path) => readItem(reader, entry, path, lineOf(text, path))),
    globs,
    sources: [
      ...readAll(document.sources, ['sources'], (entry, path) => readNested(reader, entry, path, true)),
      // mind only registers them, unless they say otherwise.
      ...readAll(discover.sources, ['discover', 'sources'], (entry, path) => readNested(reader, entry, path, false)),
    ],
    hooks: [...readSourceHooks(reader, source), ...readHooks(reader, document.hooks, ['hooks'])],
  };
  return { manifest, findings };
}
