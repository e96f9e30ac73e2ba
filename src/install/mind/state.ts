// Reads the state of mind: `sources.json`, `manifest.json` and the lobes in `config.toml`.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { readTextFile } from '../../files/read.js';
import { parseStateJson } from '../../files/state.js';
import { parseToml } from '../../files/toml.js';
import { type ItemKind, isSourceKind } from '../manifest/item-name.js';
import type { Pin } from '../manifest/source-manifest.js';

export interface MindSource {
  readonly name: string;
  readonly url: string;
  readonly commit: string | null;
  readonly namespace: string | null;
  readonly pin: Pin | null;
  readonly roots: readonly string[];
  readonly addRoots: readonly string[];
  /** Its clone. */
  readonly clone: string;
}

export interface MindItem {
  readonly kind: ItemKind;
  readonly name: string;
  readonly bareName: string;
  readonly source: string;
  readonly links: readonly string[];
}

export interface MindState {
  readonly home: string;
  readonly sources: readonly MindSource[];
  readonly items: readonly MindItem[];
  /** Agent homes, as written. */
  readonly lobes: readonly string[];
}

/** Throws `not_found` if mind has no state there, `io` if it cannot be read. */
export function readMindState(home: string): MindState {
  const registry = readJson(join(home, 'sources.json'));
  const manifest = readJson(join(home, 'manifest.json'));
  if (registry === undefined && manifest === undefined)
    throw new ToolError('not_found', `no state of the program mind in ${home}`, {
      hint: 'pass its directory: --from DIR',
    });
  const sources = Array.isArray(registry?.sources) ? registry.sources : [];
  const items = isRecord(manifest?.items) ? Object.values(manifest.items) : [];
  return {
    home,
    sources: sources.flatMap((source) => toSource(source, home) ?? []),
    items: items.flatMap((item) => toItem(item) ?? []),
    lobes: readLobes(join(home, 'config.toml')),
  };
}

function readJson(file: string): Record<string, unknown> | undefined {
  const text = readTextFile(file);
  if (text === undefined) return undefined;
  try {
    const document = parseStateJson(text, 'the state');
    if (isRecord(document)) return document;
  } catch {
    // Reported below.
  }
  throw new ToolError('io', `${file} is not a state file of mind`, { hint: 'check the file with mind introspect' });
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const toText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function toSource(value: unknown, home: string): MindSource | undefined {
  if (!isRecord(value)) return undefined;
  const { name, url, host, owner, repo, roots, add_roots } = value;
  if (![name, url, host, owner, repo].every((one) => typeof one === 'string')) return undefined;
  // A link to one item is a source of its own, with a clone of its own.
  const item = toText(value.item_path);
  const alias = toText(value.as_alias);
  const leaf = `${repo}${item === null ? '' : `#${encodePath(item)}`}${alias === null ? '' : `@${alias}`}`;
  return {
    name: name as string,
    url: url as string,
    commit: toText(value.commit),
    namespace: toText(value.alias),
    pin: toPin(value.pin),
    roots: item === null ? (isTexts(roots) ? roots : []) : [item],
    addRoots: isTexts(add_roots) ? add_roots : [],
    clone: join(home, 'sources', host as string, owner as string, leaf),
  };
}

function encodePath(path: string): string {
  return path.replaceAll('%', '%25').replaceAll('/', '%2F');
}

const PINS = { 'follow-branch': 'branch', tag: 'tag', ref: 'commit' } as const;

function toPin(value: unknown): Pin | null {
  const kind = isRecord(value) ? value.kind : undefined;
  const name = isRecord(value) ? toText(value.value) : null;
  const to = typeof kind === 'string' && Object.hasOwn(PINS, kind) ? PINS[kind as keyof typeof PINS] : undefined;
  return to === undefined || name === null ? null : { to, name };
}

function toItem(value: unknown): MindItem | undefined {
  if (!isRecord(value) || !isSourceKind(value.kind)) return undefined;
  const [name, bareName, source] = [value.name, value.bare_name, value.source].map(toText);
  if (name == null || bareName == null || source == null) return undefined;
  return { kind: value.kind, name, bareName, source, links: isTexts(value.links) ? value.links : [] };
}

function readLobes(file: string): string[] {
  const parsed = parseToml(readTextFile(file) ?? '');
  const lobes = 'message' in parsed || !isRecord(parsed.document) ? [] : parsed.document.lobes;
  if (!Array.isArray(lobes)) return [];
  return lobes.flatMap((lobe: unknown) => toText(isRecord(lobe) ? lobe.path : lobe) ?? []);
}
