// Reads the hooks of a manifest.

import type { TomlPath } from '../../files/toml.js';
import type { FieldReader, Fields } from './fields.js';
import type { DeclaredHook, DeclaredItem } from './source-manifest.js';

const HOOK_KEYS = ['run', 'name', 'optional', 'event'];
// `install` and `uninstall` are short for one hook; those of `[[items.hooks]]` run after it, as one command.
export function readItemHooks(
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
