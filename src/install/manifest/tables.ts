// Reads the tables of a source manifest: items, globs, hooks, nested sources and pins.

import { quoteOutside } from '../../core/text.js';
import type { TomlPath } from '../../files/toml.js';
import type { FieldReader, Fields } from './fields.js';
import { findLinkFault, isItemKind, isSafePath } from './item-name.js';
import {
  type DeclaredHook,
  type DeclaredItem,
  type ItemGlobs,
  type Pin,
  parsePin,
  type SourceManifest,
} from './source-manifest.js';

const ITEM_KEYS = ['kind', 'name', 'path', 'link', 'description', 'bin', 'build', 'install', 'uninstall', 'hooks'];
const HOOK_KEYS = ['run', 'name', 'optional', 'event'];
const PIN_KEYS = { pin: 'ref', 'follow-branch': 'branch', 'pin-tag': 'tag', 'pin-ref': 'commit' } as const;

/** Reads a table of `[[items]]`; undefined if it cannot be used. */
export function readItem(reader: FieldReader, value: unknown, path: TomlPath, line: number): DeclaredItem | undefined {
  const { report, text } = reader;
  const fields = reader.table(value, path, ITEM_KEYS);
  const { kind } = fields;
  if (!isItemKind(kind)) {
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

/** Reads an entry of `[discover]`: an array of globs, or a table with include and exclude. */
export function readGlobs(reader: FieldReader, value: unknown, path: TomlPath): ItemGlobs | undefined {
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

/** Reads an array of hooks; those that cannot be used are left out. */
export function readHooks(reader: FieldReader, value: unknown, path: TomlPath): DeclaredHook[] {
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
export function readSourceHooks(reader: FieldReader, source: Fields): DeclaredHook[] {
  return (['install', 'uninstall'] as const).flatMap((event) => {
    const run = reader.text(source, ['source'], event);
    return run === null ? [] : [{ run, event, name: null }];
  });
}

export function readPin(reader: FieldReader, fields: Fields, path: TomlPath): Pin | null {
  const pins = Object.entries(PIN_KEYS).flatMap(([key, to]) => {
    const value = reader.text(fields, path, key);
    return value === null ? [] : [to === 'ref' ? parsePin(value) : { to, name: value }];
  });
  if (pins.length > 1) reader.report(path, 'more than one pin', 'keep only one of them');
  return pins[0] ?? null;
}

export function readExpand({ report }: FieldReader, { expand = 'all' }: Fields): SourceManifest['expand'] {
  if (expand === 'all' || expand === 'markdown') return expand;
  report(['source', 'expand'], 'expand must be "all" or "markdown"', 'write expand = "markdown"');
  return 'all';
}
