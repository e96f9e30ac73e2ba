// Reads the manifest of a source, `wield.toml` or `mind.toml`: what it declares, and every complaint with its line.

import { isRecord } from '../core/json.js';
import { nearest, quoteOutside } from '../core/text.js';
import { findNameFault, ITEM_KINDS, type ItemKind, isItemKind } from './item-name.js';
import { lineOf, parseToml, type TomlPath } from './toml.js';

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
const ITEM_KEYS = ['kind', 'name', 'path', 'link', 'description', 'bin', 'build', 'install', 'uninstall'];
const DISCOVER_KEYS = ['skills', 'agents', 'rules', 'tools', 'sources'];
const HOOK_KEYS = ['run', 'name', 'optional', 'event'];
const NESTED_KEYS = ['source', 'as', 'namespace', 'pin', 'install'];

type Fields = Readonly<Record<string, unknown>>;

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
  const reader = createReader(complain);
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

function createReader(complain: (path: TomlPath, message: string, hint: string) => void) {
  const table = (value: unknown, path: TomlPath, keys: readonly string[]): Fields => {
    if (value === undefined) return {};
    if (!isRecord(value)) {
      complain(path, `${path.join('.')} must be a table`, `write [${path.join('.')}]`);
      return {};
    }
    for (const key of Object.keys(value)) {
      if (keys.includes(key)) continue;
      const [close] = nearest(key, keys);
      const hint = close === undefined ? `known are ${keys.join(', ')}` : `did you mean "${close}"?`;
      complain([...path, key], `unknown key "${quoteOutside(key, 60)}"`, hint);
    }
    return value;
  };
  const tables = (value: unknown, path: TomlPath): unknown[] => {
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    complain(path, `${path.join('.')} must be a list of tables`, `write [[${path.join('.')}]]`);
    return [];
  };
  const text = (fields: Fields, path: TomlPath, key: string): string | null => {
    const value = fields[key];
    if (value === undefined) return null;
    if (typeof value === 'string' && value.trim() !== '') return value;
    complain([...path, key], `${key} must be text that is not empty`, `write ${key} = "…"`);
    return null;
  };
  const texts = (value: unknown, path: TomlPath): readonly string[] | undefined => {
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
    complain(path, `${path.at(-1)} must be a list of text`, 'write ["…"]');
    return undefined;
  };
  const name = (fields: Fields, path: TomlPath, key: string): string | null => {
    const value = text(fields, path, key);
    const fault = value === null ? undefined : findNameFault(value);
    if (fault === undefined) return value;
    complain(
      [...path, key],
      `the ${key} "${quoteOutside(value!, 60)}" ${fault}`,
      'use letters, digits, _ and -',
    );
    return null;
  };
  const relative = (fields: Fields, path: TomlPath, key: string): string | null => {
    const value = text(fields, path, key);
    if (value === null || isSafePath(value)) return value;
    complain(
      [...path, key],
      `the ${key} "${quoteOutside(value, 80)}" does not stay within the source`,
      'write a path below it',
    );
    return null;
  };
  const globs = (value: unknown, path: TomlPath): ItemGlobs | undefined => {
    if (value === undefined) return undefined;
    const fields = Array.isArray(value) ? { include: value } : table(value, path, ['include', 'exclude']);
    const include = texts(fields.include, [...path, 'include']) ?? [];
    const exclude = texts((fields as Fields).exclude, [...path, 'exclude']) ?? [];
    for (const glob of [...include, ...exclude].filter((one) => !isSafePath(one)))
      complain(
        path,
        `the glob "${quoteOutside(glob, 80)}" does not stay within the source`,
        'write it below',
      );
    return { include: include.filter(isSafePath), exclude: exclude.filter(isSafePath) };
  };
  const pin = (fields: Fields, path: TomlPath): Pin | null => {
    const named = [
      ['pin', 'ref'],
      ['follow-branch', 'branch'],
      ['pin-tag', 'tag'],
      ['pin-ref', 'commit'],
    ] as const;
    const pins = named.flatMap(([key, to]) => {
      const value = text(fields, path, key);
      return value === null ? [] : [to === 'ref' ? parsePin(value) : { to, name: value }];
    });
    if (pins.length > 1) complain(path, 'more than one pin', 'keep one of them');
    return pins[0] ?? null;
  };
  const item = (value: unknown, path: TomlPath, line: number): DeclaredItem[] => {
    const fields = table(value, path, ITEM_KEYS);
    const { kind } = fields;
    if (!isItemKind(kind)) {
      complain([...path, 'kind'], 'kind must be skill, agent, rule or tool', 'write kind = "tool"');
      return [];
    }
    for (const key of ['name', 'path'])
      if (fields[key] === undefined) complain(path, `"${key}" is missing`, `add ${key} = "…"`);
    // TOOL-7 of the first system: these mean something for a tool only.
    for (const key of kind === 'tool' ? [] : ['bin', 'build'])
      if (fields[key] !== undefined)
        complain([...path, key], `${key} is for tools, and this is a ${kind}`, `remove ${key}`);
    const own = name(fields, path, 'name');
    const at = relative(fields, path, 'path');
    if (own === null || at === null) return [];
    return [
      {
        kind,
        name: own,
        path: at,
        link: relative(fields, path, 'link'),
        description: text(fields, path, 'description'),
        bin: relative(fields, path, 'bin'),
        build: text(fields, path, 'build'),
        install: text(fields, path, 'install'),
        uninstall: text(fields, path, 'uninstall'),
        line,
      },
    ];
  };
  const hook = (value: unknown, path: TomlPath): DeclaredHook[] => {
    const fields = table(value, path, HOOK_KEYS);
    const run = text(fields, path, 'run');
    if (fields.run === undefined) complain(path, '"run" is missing', 'add run = "…"');
    const { event = 'install' } = fields;
    if (event !== 'install' && event !== 'uninstall') {
      complain([...path, 'event'], 'event must be install or uninstall', 'write event = "install"');
      return [];
    }
    return run === null ? [] : [{ run, event, name: text(fields, path, 'name') }];
  };
  return {
    table,
    tables,
    text,
    texts,
    name,
    globs,
    pin,
    item,
    hook,
    nested:
      (list: TomlPath) =>
      (value: unknown, at: number): NestedSource[] => {
        const path = [...list, at];
        const fields = table(value, path, NESTED_KEYS);
        const source = text(fields, path, 'source');
        if (fields.source === undefined) complain(path, '"source" is missing', 'add source = "owner/repo"');
        if (source === null) return [];
        const namespace = name(fields, path, 'namespace') ?? name(fields, path, 'as');
        return [{ source, namespace, pin: pin({ pin: fields.pin }, path) }];
      },
    expand: (fields: Fields): SourceManifest['expand'] => {
      const { expand = 'all' } = fields;
      if (expand === 'all' || expand === 'markdown') return expand;
      complain(['source', 'expand'], 'expand must be "all" or "markdown"', 'write expand = "markdown"');
      return 'all';
    },
    sourceHooks: (fields: Fields): DeclaredHook[] =>
      (['install', 'uninstall'] as const).flatMap((event) => {
        const run = text(fields, ['source'], event);
        return run === null ? [] : [{ run, event, name: null }];
      }),
  };
}

/** `branch=X`, `tag=X`, a commit, or a word that is looked for among both. */
export function parsePin(value: string): Pin {
  const named = /^(branch|tag)=(.+)$/s.exec(value);
  if (named) return { to: named[1] as 'branch' | 'tag', name: named[2]! };
  return { to: /^[0-9a-f]{40}$/.test(value) ? 'commit' : 'ref', name: value };
}

/** Whether a written path stays below where it begins; links are looked at later. */
export function isSafePath(path: string): boolean {
  return (
    !/[\0-\x1f\x7f\\]/.test(path) &&
    !path.startsWith('/') &&
    !path.startsWith('~') &&
    !path.split('/').includes('..')
  );
}
