// Reads the tables of a source manifest: items, globs, hooks, nested sources and pins.

import { quoteOutside } from '../../core/text.js';
import type { TomlPath } from '../../files/toml.js';
import type { FieldReader, Fields } from './fields.js';
import { readItemHooks } from './hook-tables.js';
import { findLinkFault, isSafePath, isSourceKind } from './item-name.js';
import { type DeclaredItem, type ItemGlobs, type Pin, parsePin, type SourceManifest } from './source-manifest.js';

const ITEM_KEYS = ['kind', 'name', 'path', 'link', 'description', 'bin', 'build', 'install', 'uninstall', 'hooks'];
const PIN_KEYS = { pin: 'ref', 'follow-branch': 'branch', 'pin-tag': 'tag', 'pin-ref': 'commit' } as const;

/** Reads a table of `[[items]]`; undefined if it cannot be used. */
export function readItem(reader: FieldReader, value: unknown, path: TomlPath, line: number): DeclaredItem | undefined {
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
