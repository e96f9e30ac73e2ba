// Reads the nested sources of a source manifest: `[[sources]]` and `[[discover.sources]]`.

import { isRecord } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { TomlPath } from '../../files/toml.js';
import type { FieldReader, Fields } from './fields.js';
import { readHooks } from './hook-tables.js';
import { isSafePath } from './item-name.js';
import type { Adoption, NestedSource } from './source-manifest.js';
import { readPin } from './tables.js';

const PIN_KEYS = ['pin', 'follow-branch', 'pin-tag', 'pin-ref'];
const ADOPTION_KEYS = ['roots', 'add-roots', 'flat-skills', 'hooks'];
const KEYS = [
  'source',
  'as',
  'namespace',
  'install',
  'install-items',
  'on-auth-failure',
  ...PIN_KEYS,
  ...ADOPTION_KEYS,
];

/** Reads a table; undefined if it cannot be used. `installs` is the default of `install`. */
export function readNested(
  reader: FieldReader,
  value: unknown,
  path: TomlPath,
  installs: boolean,
): NestedSource | undefined {
  const fields = reader.table(value, path, KEYS);
  const source = reader.text(fields, path, 'source');
  if (fields.source === undefined) reader.report(path, '"source" is missing', 'add source = "owner/repo"');
  if (source === null) return undefined;
  const pins = Object.fromEntries(PIN_KEYS.map((key) => [key, fields[key]]));
  return {
    source,
    namespace: reader.name(fields, path, 'namespace') ?? reader.name(fields, path, 'as'),
    pin: readPin(reader, pins, path),
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
export function readRoots(reader: FieldReader, value: unknown, path: TomlPath): readonly string[] | null {
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
