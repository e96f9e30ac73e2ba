// Reads the tables and fields of a source's manifest, one by one; every complaint has its path.

import { isRecord } from '../../core/json.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { TomlPath } from '../../files/toml.js';
import { findNameFault, findNamespaceFault, isItemKind } from './item-name.js';
import type {
  DeclaredHook,
  DeclaredItem,
  ItemGlobs,
  NestedSource,
  Pin,
  SourceManifest,
} from './source-manifest.js';

const ITEM_KEYS = ['kind', 'name', 'path', 'link', 'description', 'bin', 'build', 'install', 'uninstall'];
const HOOK_KEYS = ['run', 'name', 'optional', 'event'];
const NESTED_KEYS = ['source', 'as', 'namespace', 'pin', 'install'];

type Fields = Readonly<Record<string, unknown>>;

/** Readers for every part of a manifest. */
export function createManifestReader(complain: (path: TomlPath, message: string, hint: string) => void) {
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
    const find = key === 'name' ? findNameFault : findNamespaceFault;
    const fault = value === null ? undefined : find(value);
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
    // These mean something for a tool only.
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
