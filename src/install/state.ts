// State files of installing: registered sources and installed items.

import { isRecord } from '../core/json.js';
import { readStateFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import type { InstallPaths } from './environment.js';
import {
  EMPTY_RECORD,
  INSTALLED_VERSION,
  type Installed,
  parseInstalled,
  parseState,
  unreadable,
} from './manifest/installed.js';
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
  /** The hash of the copy of a local directory that its hooks ran in, and that its items are read from. */
  readonly snapshot?: string | null;
  /** Whether its install hooks ran for this commit. */
  readonly hooks: 'none' | 'ran' | 'skipped';
  /** The source it is nested in. */
  readonly parent: string | null;
  readonly since: string;
}

const SOURCES_VERSION = 1;

export function loadSources({ sourcesFile }: InstallPaths): readonly SourceRecord[] {
  const text = readStateFile(sourcesFile);
  if (text === undefined) return [];
  const { sources } = parseState(text, sourcesFile, SOURCES_VERSION);
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
  const document = { version: SOURCES_VERSION, sources };
  writeFileAtomic(sourcesFile, `${JSON.stringify(document, null, 1)}\n`);
}

export function loadInstalled({ installedFile }: InstallPaths): Installed {
  const text = readStateFile(installedFile, 256 * 1024 * 1024);
  return text === undefined ? EMPTY_RECORD : parseInstalled(text, installedFile);
}

export function saveInstalled({ installedFile }: InstallPaths, installed: Installed): void {
  const { items, ...rest } = installed;
  const lines = items.map((item) => JSON.stringify(item)).join(',\n');
  const head = JSON.stringify({ version: INSTALLED_VERSION, ...rest }).slice(0, -1);
  writeFileAtomic(installedFile, `${head},"items":[\n${lines}\n]}\n`);
}

function isSource(value: unknown): value is SourceRecord {
  return isRecord(value) && typeof value.id === 'string' && typeof value.location === 'string';
}
