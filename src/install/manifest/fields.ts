// Typed access to the fields of a source manifest; every problem is reported with its path.

import { isRecord } from '../../core/json.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { TomlPath } from '../../files/toml.js';
import { findNameFault, findNamespaceFault, isSafePath } from './item-name.js';

export type Fields = Readonly<Record<string, unknown>>;

export type ReportField = (path: TomlPath, message: string, hint: string) => void;

export type FieldReader = ReturnType<typeof createFieldReader>;

/** Invalid fields are reported and read as missing. */
export function createFieldReader(report: ReportField) {
  const text = (fields: Fields, path: TomlPath, key: string): string | null => {
    const value = fields[key];
    if (value === undefined) return null;
    if (typeof value === 'string' && value.trim() !== '') return value;
    report([...path, key], `${key} must be a non-empty string`, `write ${key} = "…"`);
    return null;
  };
  return {
    report,
    text,
    table(value: unknown, path: TomlPath, keys: readonly string[]): Fields {
      if (value === undefined) return {};
      if (!isRecord(value)) {
        report(path, `${path.join('.')} must be a table`, `write [${path.join('.')}]`);
        return {};
      }
      for (const key of Object.keys(value)) {
        if (keys.includes(key)) continue;
        const [close] = nearest(key, keys);
        const hint = close === undefined ? `known keys: ${keys.join(', ')}` : `did you mean "${close}"?`;
        report([...path, key], `unknown key "${quoteOutside(key, 60)}"`, hint);
      }
      return value;
    },
    tables(value: unknown, path: TomlPath): readonly unknown[] {
      if (value === undefined) return [];
      if (Array.isArray(value)) return value;
      report(path, `${path.join('.')} must be an array of tables`, `write [[${path.join('.')}]]`);
      return [];
    },
    texts(value: unknown, path: TomlPath): readonly string[] | undefined {
      if (value === undefined) return undefined;
      if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
      report(path, `${path.at(-1)} must be an array of strings`, 'write ["…"]');
      return undefined;
    },
    flag(fields: Fields, path: TomlPath, key: string): boolean {
      const { [key]: value = false } = fields;
      if (typeof value === 'boolean') return value;
      report([...path, key], `${key} must be true or false`, `write ${key} = true`);
      return false;
    },
    /** A valid item name for the key `name`, else a valid namespace. */
    name(fields: Fields, path: TomlPath, key: string): string | null {
      const value = text(fields, path, key);
      const find = key === 'name' ? findNameFault : findNamespaceFault;
      const fault = value === null ? undefined : find(value);
      if (fault === undefined) return value;
      const message = `the ${key} "${quoteOutside(value!, 60)}" ${fault}`;
      report([...path, key], message, 'use letters, digits, _ and -');
      return null;
    },
    /** A path that stays inside the source. */
    path(fields: Fields, path: TomlPath, key: string): string | null {
      const value = text(fields, path, key);
      if (value === null || isSafePath(value)) return value;
      const message = `the ${key} "${quoteOutside(value, 80)}" is outside the source`;
      report([...path, key], message, 'use a relative path without ..');
      return null;
    },
  };
}
