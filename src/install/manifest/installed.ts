// The record of installed items, `installed.json`: types and parsing.

import { isToolError, ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { parseStateJson } from '../../files/state.js';
import { type ItemKind, isItemKind } from './item-name.js';

/** A reference to another item, as it was resolved at install time. */
export interface ResolvedReference {
  readonly kind: ItemKind;
  readonly name: string;
  /** The expanded token; null for `requires:`. */
  readonly value: string | null;
}

export interface PortableHashes {
  /** Before a build. */
  readonly installed: string;
  /** After build and install hooks; null if none ran. */
  readonly built: string | null;
}

/** By path: whether it is executable, and the beginning of its SHA-256. */
export type FileDigests = Readonly<Record<string, string>>;

export interface InstalledItem {
  /** The id of the source; part of the item's identity with kind and name. */
  readonly source: string;
  readonly kind: ItemKind;
  readonly name: string;
  /** The plugin that it belongs to. */
  readonly plugin?: string | null;
  readonly effective: string;
  readonly description: string | null;
  /** The stable path: a link to the object. */
  readonly store: string;
  /** The name of the directory in `objects`. */
  readonly object: string;
  /** Links in agent homes, absolute. */
  readonly links: readonly string[];
  /** Hash of the source form, before tokens are expanded (TOK-7). */
  readonly sourceHash: string;
  /** Hash of everything that was copied, including what hooks of the source created. */
  readonly contentHash?: string;
  /** Hash of the installed form, build results included. */
  readonly installedHash: string;
  /** Hashes for the lock, independent of the place of the store; absent in records of older versions. */
  readonly portable?: PortableHashes;
  readonly commit: string | null;
  /** The entrypoint, relative to the object; null if the tool has none. */
  readonly bin: string | null;
  /** `skipped`: the build hook was not approved (HOOK-4). */
  readonly build: 'none' | 'built' | 'skipped';
  /** The commands of its hooks. */
  readonly hooks: { readonly build: string | null; readonly install: string | null; readonly uninstall: string | null };
  readonly references: readonly ResolvedReference[];
  /** Files of the source form. */
  readonly files: readonly string[];
  /** Of the installed form, to name changes; absent in records of older versions. */
  readonly digests?: FileDigests;
  readonly since: string;
}

export interface Installed {
  /** The transaction that wrote this state. */
  readonly transaction: string;
  readonly items: readonly InstalledItem[];
  /** Directories created for links; removed when empty after the last item is uninstalled. */
  readonly made: readonly string[];
}

export const INSTALLED_VERSION = 1;
export const EMPTY_RECORD: Installed = { transaction: '', items: [], made: [] };

/** Throws `io` if the record is invalid, `unavailable` if a newer version of wield wrote it (F19). */
export function parseInstalled(text: string, file: string): Installed {
  const document = parseState(text, file, INSTALLED_VERSION);
  const { items, made = [], transaction = '' } = document;
  if (!Array.isArray(items) || !items.every(isInstalledItem) || typeof transaction !== 'string') throw unreadable(file);
  return { items, made: Array.isArray(made) ? (made as string[]) : [], transaction };
}

/** Parses a JSON state file of at most the given version. */
export function parseState(text: string, file: string, version: number): Record<string, unknown> {
  let document: unknown;
  try {
    document = parseStateJson(text, file);
  } catch (error) {
    throw isToolError(error) ? error : unreadable(file);
  }
  if (!isRecord(document) || typeof document.version !== 'number') throw unreadable(file);
  if (document.version > version) {
    throw new ToolError('unavailable', `${file} was written by a newer version of wield`, { hint: 'update wield' });
  }
  return document;
}

/** The error for a record that cannot be used, which is never treated as empty (F19). */
export function unreadable(file: string): ToolError {
  return new ToolError('io', `${file} is corrupted`, {
    hint: 'restore it from a backup, or remove it and install again',
  });
}

function isInstalledItem(value: unknown): value is InstalledItem {
  return (
    isRecord(value) &&
    isItemKind(value.kind) &&
    ['source', 'name', 'effective', 'store', 'object', 'sourceHash', 'installedHash', 'build'].every(
      (key) => typeof value[key] === 'string',
    ) &&
    ['links', 'references', 'files'].every((key) => Array.isArray(value[key])) &&
    isRecord(value.hooks) &&
    (value.digests === undefined || isRecord(value.digests))
  );
}
