// The source manifest, `wield.toml` or `mind.toml`: its content, and its parser, which collects every problem with its line.

import { isRecord, type JsonObject } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';
import { lineOf, parseToml, type TomlPath } from '../../files/toml.js';
import { createFieldReader, type FieldReader, type Fields } from './fields.js';
import { findLinkFault, type ItemKind, isSafePath, isSourceKind, SOURCE_KINDS } from './item-name.js';

export interface Pin {
  /** `ref`: a tag, a branch or the beginning of a commit, whichever exists; `HEAD` is the commit that is current now. */
  readonly to: 'branch' | 'tag' | 'commit' | 'ref';
  readonly name: string;
}

/** Parses `branch=NAME`, `tag=NAME`, a full commit hash, or the name of a tag or branch. */
export function parsePin(value: string): Pin {
  const named = /^(branch|tag)=(.+)$/s.exec(value);
  if (named) return { to: named[1] as 'branch' | 'tag', name: named[2]! };
  return { to: /^[0-9a-f]{40}$/.test(value) ? 'commit' : 'ref', name: value };
}

interface DeclaredHook {
  readonly run: string;
  readonly name: string | null;
  readonly event: 'install' | 'uninstall';
}

/** The fields of an item that `[[items]]` can declare. */
export interface ItemFields {
  readonly kind: ItemKind;
  readonly name: string;
  /** Relative to the source: a directory, or a file for an agent or a rule. */
  readonly path: string;
  /** Where it is linked in an agent home, if not at the default path of its kind. */
  readonly link: string | null;
  readonly description: string | null;
  readonly bin: string | null;
  readonly build: string | null;
  readonly install: string | null;
  readonly uninstall: string | null;
}

export interface DeclaredItem extends ItemFields {
  /** The line of its table in the manifest. */
  readonly line: number;
}

export interface ItemGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** What a source says about a nested one that has no manifest of its own. */
export interface Adoption {
  /** Directories to search instead of the root; null for the root. */
  readonly roots: readonly string[] | null;
  /** Directories to search besides everything else. */
  readonly addRoots: readonly string[];
  readonly hooks: readonly DeclaredHook[];
  /** Plugins that a marketplace lists: nothing else of the source is read. */
  readonly plugins?: readonly PluginEntry[];
}

/** A plugin as a marketplace lists it. */
export interface PluginEntry {
  readonly name: string;
  readonly description: string | null;
  /** Its directory, relative to its source; empty for the source itself. */
  readonly path: string;
  /** False: the entry describes the plugin, not a manifest of its own. */
  readonly strict: boolean;
  /** The fields of the entry that name components. */
  readonly components: JsonObject;
}

export interface NestedSource {
  readonly source: string;
  readonly namespace: string | null;
  readonly pin: Pin | null;
  /** Which of its items are installed with those of the outer source: references are bare, such as `skill:scan`. */
  readonly install: 'all' | 'none' | readonly string[];
  readonly adoption: Adoption | null;
  readonly onAuthFailure: { readonly action: 'error' | 'skip'; readonly message: string | null } | null;
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

const ITEM_KEYS = ['kind', 'name', 'path', 'link', 'description', 'bin', 'build', 'install', 'uninstall', 'hooks'];
const PIN_KEYS = { pin: 'ref', 'follow-branch': 'branch', 'pin-tag': 'tag', 'pin-ref': 'commit' } as const;

/** Reads a table of `[[items]]`; undefined if it cannot be used. */
function readItem(reader: FieldReader, value: unknown, path: TomlPath, line: number): DeclaredItem | undefined {
  const { report, text } = reader;
  const fields = reader.table(value, path, ITEM_KEYS);
  const { kind } = fields;
  if (!isSourceKind(kind)) {
    report([...path, 'kind'], 'kind must be skill, agent, rule or tool', 'write kind = "tool"');
    return undefined;
  }
  for (const key of ['name', 'path'])
    if (fields[key] === undefined) report(path, `"${key}" is missing`, `add ${key} = "…"`);
  for (const key of kind === 'tool' ? [] : ['bin', 'build'])
    if (fields[key] !== undefined)
      report([...path, key], `${key} is only allowed for tools, and this is a ${kind}`, `remove ${key}`);
  const name = reader.name(fields, path, 'name');
  const at = reader.path(fields, path, 'path');
  const link = reader.path(fields, path, 'link');
  const fault = link === null ? undefined : findLinkFault(kind, link);
  if (fault !== undefined)
    report([...path, 'link'], `the link "${quoteOutside(link!, 80)}" ${fault}`, 'fix the link, or omit it');
  if (name === null || at === null) return undefined;
  return {
    kind,
    name,
    path: at,
    link,
    description: text(fields, path, 'description'),
    bin: reader.path(fields, path, 'bin'),
    build: text(fields, path, 'build'),
    ...readItemHooks(reader, fields, path),
    line,
  };
}

/** Reads an entry of `[discover]`: an array of globs, or a table with include and exclude. */
function readGlobs(reader: FieldReader, value: unknown, path: TomlPath): ItemGlobs | undefined {
  if (value === undefined) return undefined;
  const fields: Fields = Array.isArray(value) ? { include: value } : reader.table(value, path, ['include', 'exclude']);
  const read = (key: string): readonly string[] =>
    (reader.texts(fields[key], [...path, key]) ?? []).filter((glob) => {
      if (isSafePath(glob)) return true;
      const message = `the glob "${quoteOutside(glob, 80)}" is outside the source`;
      reader.report(path, message, 'use a relative glob without ..');
      return false;
    });
  return { include: read('include'), exclude: read('exclude') };
}

function readPin(reader: FieldReader, fields: Fields, path: TomlPath): Pin | null {
  const pins = Object.entries(PIN_KEYS).flatMap(([key, to]) => {
    const value = reader.text(fields, path, key);
    return value === null ? [] : [to === 'ref' ? parsePin(value) : { to, name: value }];
  });
  if (pins.length > 1) reader.report(path, 'more than one pin', 'keep only one of them');
  return pins[0] ?? null;
}

function readExpand({ report }: FieldReader, { expand = 'all' }: Fields): SourceManifest['expand'] {
  if (expand === 'all' || expand === 'markdown') return expand;
  report(['source', 'expand'], 'expand must be "all" or "markdown"', 'write expand = "markdown"');
  return 'all';
}

const ADOPTION_KEYS = ['roots', 'add-roots', 'flat-skills', 'hooks'];
const KEYS = [
  'source',
  'as',
  'namespace',
  'install',
  'install-items',
  'on-auth-failure',
  ...Object.keys(PIN_KEYS),
  ...ADOPTION_KEYS,
];

/** Reads a table; undefined if it cannot be used. `installs` is the default of `install`. */
function readNested(reader: FieldReader, value: unknown, path: TomlPath, installs: boolean): NestedSource | undefined {
  const fields = reader.table(value, path, KEYS);
  const source = reader.text(fields, path, 'source');
  if (fields.source === undefined) reader.report(path, '"source" is missing', 'add source = "owner/repo"');
  if (source === null) return undefined;
  return {
    source,
    namespace: reader.name(fields, path, 'namespace') ?? reader.name(fields, path, 'as'),
    pin: readPin(reader, fields, path),
    install: readInstall(reader, fields, path, installs),
    adoption: readAdoption(reader, fields, path),
    onAuthFailure: readAuthFailure(reader, fields['on-auth-failure'], [...path, 'on-auth-failure']),
  };
}

function readInstall(reader: FieldReader, fields: Fields, path: TomlPath, installs: boolean): NestedSource['install'] {
  const items = reader.texts(fields['install-items'], [...path, 'install-items']);
  const all = fields.install === undefined ? installs && items === undefined : reader.flag(fields, path, 'install');
  if (fields.install === true && items !== undefined && items.length > 0)
    reader.report([...path, 'install-items'], 'install = true already installs everything', 'remove one of the two');
  if (all) return 'all';
  return items === undefined || items.length === 0 ? 'none' : items;
}

function readAdoption(reader: FieldReader, fields: Fields, path: TomlPath): Adoption | null {
  if (ADOPTION_KEYS.every((key) => fields[key] === undefined)) return null;
  // No effect of its own: a SKILL.md is found anywhere below the roots.
  reader.flag(fields, path, 'flat-skills');
  return {
    roots: readRoots(reader, fields.roots, [...path, 'roots']),
    addRoots: readRoots(reader, fields['add-roots'], [...path, 'add-roots']) ?? [],
    hooks: readHooks(reader, fields.hooks, [...path, 'hooks']),
  };
}

/** Reads directories that are searched for items; null without any. */
function readRoots(reader: FieldReader, value: unknown, path: TomlPath): readonly string[] | null {
  const roots = reader.texts(value, path);
  if (roots === undefined) return null;
  return roots.filter((root) => {
    if (isSafePath(root)) return true;
    const message = `the root "${quoteOutside(root, 80)}" is outside the source`;
    reader.report(path, message, 'use a relative path without ..');
    return false;
  });
}

function readAuthFailure(reader: FieldReader, value: unknown, path: TomlPath): NestedSource['onAuthFailure'] {
  if (value === undefined) return null;
  const fields = reader.table(value, path, ['action', 'message']);
  const { action } = fields;
  if (action === 'skip' || action === 'error') return { action, message: reader.text(fields, path, 'message') };
  if (isRecord(value)) reader.report([...path, 'action'], 'action must be "skip" or "error"', 'write action = "skip"');
  return null;
}

const HOOK_KEYS = ['run', 'name', 'optional', 'event'];
// `install` and `uninstall` are short for one hook; those of `[[items.hooks]]` run after it, as one command.
function readItemHooks(
  reader: FieldReader,
  fields: Fields,
  path: TomlPath,
): Pick<DeclaredItem, 'install' | 'uninstall'> {
  const hooks = readHooks(reader, fields.hooks, [...path, 'hooks']);
  const toCommand = (event: 'install' | 'uninstall'): string | null => {
    const declared = hooks.filter((hook) => hook.event === event).map(({ run }) => run);
    const commands = [...(reader.text(fields, path, event) === null ? [] : [fields[event] as string]), ...declared];
    if (commands.length < 2) return commands[0] ?? null;
    return commands.map((command) => `(\n${command}\n)`).join(' &&\n');
  };
  return { install: toCommand('install'), uninstall: toCommand('uninstall') };
}

/** Reads an array of hooks; those that cannot be used are left out. */
function readHooks(reader: FieldReader, value: unknown, path: TomlPath): DeclaredHook[] {
  return reader.tables(value, path).flatMap((entry, index) => readHook(reader, entry, [...path, index]) ?? []);
}

// Undefined if it cannot be used.
function readHook(reader: FieldReader, value: unknown, path: TomlPath): DeclaredHook | undefined {
  const fields = reader.table(value, path, HOOK_KEYS);
  const run = reader.text(fields, path, 'run');
  if (fields.run === undefined) reader.report(path, '"run" is missing', 'add run = "…"');
  const { event = 'install' } = fields;
  if (event !== 'install' && event !== 'uninstall') {
    reader.report([...path, 'event'], 'event must be install or uninstall', 'write event = "install"');
    return undefined;
  }
  return run === null ? undefined : { run, event, name: reader.text(fields, path, 'name') };
}

/** Reads the hooks that `[source]` declares with the keys `install` and `uninstall`. */
function readSourceHooks(reader: FieldReader, source: Fields): DeclaredHook[] {
  return (['install', 'uninstall'] as const).flatMap((event) => {
    const run = reader.text(source, ['source'], event);
    return run === null ? [] : [{ run, event, name: null }];
  });
}
