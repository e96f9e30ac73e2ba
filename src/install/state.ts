// The record of what is installed and registered: `installed.json` and `sources.json`.

import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { number, object } from '../core/shape.js';
import { readStateFile } from '../files/read.js';
import { readState } from '../files/state.js';
import { writeFileAtomic } from '../files/write.js';
import type { InstallPaths, Signer } from './environment.js';
import { type ItemKind, isItemKind } from './manifest/item-name.js';
import type { Adoption, Pin } from './manifest/source-manifest.js';

export interface SourceRecord {
  /** Its name, such as `acme/agent-tools`. */
  readonly id: string;
  readonly kind: 'git' | 'local' | 'bundle';
  /** The URL, or the absolute path of a local directory or bundle. */
  readonly location: string;
  /** The directory in `sources` of a clone; null for a local directory. */
  readonly directory: string | null;
  readonly prefix: string | null;
  /** Whether the user chose the prefix; otherwise the manifest may change it. */
  readonly prefixGiven: boolean;
  readonly roots: readonly string[];
  /** Directories that are searched besides everything else. */
  readonly addRoots?: readonly string[];
  /** What the source it is nested in says about it. */
  readonly adoption?: Adoption | null;
  readonly pin: Pin | null;
  /** Whether the user chose the pin; otherwise the manifest may change it. */
  readonly pinGiven: boolean;
  /** The branch or tag of the commit, for display. */
  readonly ref: string | null;
  /** Of a bundle: its SHA-256. */
  readonly commit: string | null;
  /** Who may sign it: lines of keys; absent if everyone may. */
  readonly signers?: readonly string[];
  /** Who signed this commit; absent or null if nobody had to. */
  readonly signer?: Signer | null;
  /** The hash of the copy of a local directory that its hooks ran in, and that its items are read from. */
  readonly snapshot?: string | null;
  /** Whether its install hooks ran for this commit. */
  readonly hooks: 'none' | 'ran' | 'skipped';
  /** The source it is nested in. */
  readonly parent: string | null;
  readonly since: string;
}

export function loadSources({ sourcesFile }: InstallPaths): readonly SourceRecord[] {
  const text = readStateFile(sourcesFile);
  if (text === undefined) return [];
  const { sources } = parseState(text, sourcesFile);
  if (!Array.isArray(sources) || !sources.every(isSource)) throw unreadable(sourcesFile);
  return sources;
}

/** Adds the ids of the sources that others are nested in. */
export function withParents(ids: ReadonlySet<string>, sources: readonly SourceRecord[]): ReadonlySet<string> {
  const all = new Set(ids);
  // A set also visits what is added meanwhile.
  for (const id of all) {
    const parent = sources.find((source) => source.id === id)?.parent;
    if (parent != null) all.add(parent);
  }
  return all;
}

export function saveSources({ sourcesFile }: InstallPaths, sources: readonly SourceRecord[]): void {
  writeFileAtomic(sourcesFile, printSources(sources));
}

/** Returns the text of `sources.json`. */
export function printSources(sources: readonly SourceRecord[]): string {
  return `${JSON.stringify({ version: 1, sources }, null, 1)}\n`;
}

export function loadInstalled({ installedFile }: InstallPaths): Installed {
  const text = readStateFile(installedFile, 256 * 1024 * 1024);
  return text === undefined ? EMPTY_RECORD : parseInstalled(text, installedFile);
}

export function saveInstalled({ installedFile }: InstallPaths, installed: Installed): void {
  const { items, ...rest } = installed;
  const lines = items.map((item) => JSON.stringify(item)).join(',\n');
  const head = JSON.stringify({ version: 1, ...rest }).slice(0, -1);
  writeFileAtomic(installedFile, `${head},"items":[\n${lines}\n]}\n`);
}

function isSource(value: unknown): value is SourceRecord {
  return isRecord(value) && typeof value.id === 'string' && typeof value.location === 'string';
}

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
  /** Its path in the source. */
  readonly path: string;
  /** The plugin that it belongs to. */
  readonly plugin: string | null;
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
  readonly contentHash: string;
  /** Hash of the installed form, build results included. */
  readonly installedHash: string;
  /** Hashes for the lock, independent of the place of the store. */
  readonly portable: PortableHashes;
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
  /** Of the installed form, to name changes. */
  readonly digests: FileDigests;
  readonly since: string;
}

export interface Installed {
  /** The transaction that wrote this state. */
  readonly transaction: string;
  readonly items: readonly InstalledItem[];
  /** Directories created for links; removed when empty after the last item is uninstalled. */
  readonly made: readonly string[];
}

const EMPTY_RECORD: Installed = { transaction: '', items: [], made: [] };

/** Throws `io` if the record is invalid, `unavailable` if a newer version of wield wrote it (F19). */
export function parseInstalled(text: string, file: string): Installed {
  const document = parseState(text, file);
  const { items, made = [], transaction = '' } = document;
  if (!Array.isArray(items) || !items.every(isInstalledItem) || typeof transaction !== 'string') throw unreadable(file);
  return { items, made: Array.isArray(made) ? (made as string[]) : [], transaction };
}

const STATE = object({ version: number }, { unknown: 'keep' });

/** Parses a JSON state file. */
export function parseState(text: string, file: string): Record<string, unknown> {
  return readState(STATE, text, file, () => unreadable(file));
}

/** The error for a record that cannot be used, which is never treated as empty (F19). */
function unreadable(file: string): ToolError {
  return new ToolError('io', `${file} is corrupted`, {
    hint: 'restore it from a backup, or remove it and install again',
  });
}

const TEXTS = [
  ...['source', 'name', 'path', 'effective', 'store', 'object', 'build'],
  ...['sourceHash', 'contentHash', 'installedHash'],
];

function isInstalledItem(value: unknown): value is InstalledItem {
  return (
    isRecord(value) &&
    isItemKind(value.kind) &&
    TEXTS.every((key) => typeof value[key] === 'string') &&
    ['links', 'references', 'files'].every((key) => Array.isArray(value[key])) &&
    ['hooks', 'portable', 'digests'].every((key) => isRecord(value[key]))
  );
}
