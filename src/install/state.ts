// The state of installing on disk: the sources that are registered, and what is installed.

import { isRecord } from '../core/json.js';
import { readTextFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import type { Paths } from './environment.js';
import {
  INSTALLED_VERSION,
  type Installed,
  NOTHING_INSTALLED,
  parseInstalled,
  parseState,
} from './manifest/installed.js';
import type { Pin } from './manifest/source-manifest.js';

export interface SourceRecord {
  /** What people call it: `acme/agent-tools`. */
  readonly id: string;
  readonly kind: 'git' | 'local';
  /** The URL, or the absolute path of a directory that is read live. */
  readonly location: string;
  /** The directory below `sources`, for a clone. */
  readonly directory: string | null;
  readonly prefix: string | null;
  /** Whether the user named the prefix; else the manifest may change it. */
  readonly prefixGiven: boolean;
  readonly roots: readonly string[];
  readonly pin: Pin | null;
  /** Whether the user named the pin; else the manifest may change it. */
  readonly pinGiven: boolean;
  /** The branch or tag that the commit was found by, for people. */
  readonly ref: string | null;
  readonly commit: string | null;
  /** Whether its install hooks ran for this commit, were skipped, or there are none. */
  readonly hooks: 'none' | 'ran' | 'skipped';
  /** The source that brought it in. */
  readonly parent: string | null;
  readonly since: string;
}

const SOURCES_VERSION = 1;

export function loadSources({ sourcesFile }: Paths): readonly SourceRecord[] {
  const text = readTextFile(sourcesFile);
  if (text === undefined) return [];
  const { sources } = parseState(text, sourcesFile, SOURCES_VERSION);
  return Array.isArray(sources) ? sources.filter(isSource) : [];
}

export function saveSources({ sourcesFile }: Paths, sources: readonly SourceRecord[]): void {
  const document = { version: SOURCES_VERSION, sources };
  writeFileAtomic(sourcesFile, `${JSON.stringify(document, null, 1)}\n`);
}

export function loadInstalled({ installedFile }: Paths): Installed {
  const text = readTextFile(installedFile, 256 * 1024 * 1024);
  return text === undefined ? NOTHING_INSTALLED : parseInstalled(text, installedFile);
}

export function saveInstalled({ installedFile }: Paths, installed: Installed): void {
  const { items, ...rest } = installed;
  const lines = items.map((item) => JSON.stringify(item)).join(',\n');
  const head = JSON.stringify({ version: INSTALLED_VERSION, ...rest }).slice(0, -1);
  writeFileAtomic(installedFile, `${head},"items":[\n${lines}\n]}\n`);
}

function isSource(value: unknown): value is SourceRecord {
  return isRecord(value) && typeof value.id === 'string' && typeof value.location === 'string';
}
