// The record of what is installed: its shape, and how it is read back. Pure.

import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { type ItemKind, isItemKind } from './item-name.js';

/** A reference of an item to another, as it was resolved when the item was installed. */
export interface ResolvedReference {
  readonly kind: ItemKind;
  readonly name: string;
  /** What stands in the installed text, where a token stood; null for `requires:`. */
  readonly value: string | null;
}

export interface InstalledItem {
  /** The id of the source; with kind and bare name the identity of the item. */
  readonly source: string;
  readonly kind: ItemKind;
  readonly name: string;
  readonly effective: string;
  readonly description: string | null;
  /** The stable path that others refer to: a link to the object. */
  readonly store: string;
  /** The name of the object below `objects`. */
  readonly object: string;
  /** Links in agent homes, absolute. */
  readonly links: readonly string[];
  /** Of the source form, before tokens are expanded (TOK-7). */
  readonly sourceHash: string;
  /** Of what lies in the object, build results included. */
  readonly installedHash: string;
  readonly commit: string | null;
  /** The entrypoint, below the object; null where it has none. */
  readonly bin: string | null;
  /** Whether its build ran, was skipped, or there is none (HOOK-4). */
  readonly build: 'none' | 'built' | 'skipped';
  /** The texts of its hooks, for when they are due. */
  readonly hooks: {
    readonly build: string | null;
    readonly install: string | null;
    readonly uninstall: string | null;
  };
  readonly references: readonly ResolvedReference[];
  /** The files of the source form. */
  readonly files: readonly string[];
  readonly since: string;
}

export interface Installed {
  /** The transaction that wrote this state. */
  readonly transaction: string;
  readonly items: readonly InstalledItem[];
  /** Directories that were made for links, to be removed when they are empty and the last item goes. */
  readonly made: readonly string[];
}

export const INSTALLED_VERSION = 1;
export const NOTHING_INSTALLED: Installed = { transaction: '', items: [], made: [] };

/** Reads the record back. Throws `io` where it is none, `unavailable` where a newer wield wrote it (F19). */
export function parseInstalled(text: string, file: string): Installed {
  const document = parseState(text, file, INSTALLED_VERSION);
  const { items, made = [], transaction = '' } = document;
  if (!Array.isArray(items) || !items.every(isInstalledItem) || typeof transaction !== 'string')
    throw unreadable(file);
  return { items, made: Array.isArray(made) ? (made as string[]) : [], transaction };
}

/** A state file as an object of the version that is known. */
export function parseState(text: string, file: string, version: number): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw unreadable(file);
  }
  if (!isRecord(document) || typeof document.version !== 'number') throw unreadable(file);
  if (document.version > version) {
    throw new ToolError('unavailable', `${file} was written by a newer wield`, {
      hint: 'use that version, or a newer one',
    });
  }
  return document;
}

function unreadable(file: string): ToolError {
  return new ToolError('io', `${file} is torn or altered, so nothing is known to be installed`, {
    hint: 'put a copy of it back, or move it away and install again',
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
    isRecord(value.hooks)
  );
}
