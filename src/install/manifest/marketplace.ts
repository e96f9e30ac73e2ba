// Reads a marketplace: the plugins it lists, in directories of its source and in other repositories.

import { normalize } from 'node:path';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { findPluginNameFault, isSafePath } from './item-name.js';
import { readJsonObject, toText } from './plugin-json.js';
import type { NestedSource, Pin, PluginEntry } from './source-manifest.js';

/** In the order in which they are looked for; the first one is used. */
const MARKETPLACE_PATHS = ['.claude-plugin/marketplace.json', '.agents/plugins/marketplace.json'];

/** Fields of a plugin that name components. */
export const COMPONENT_FIELDS = ['skills', 'agents', 'commands', 'hooks', 'mcpServers', 'lspServers', 'outputStyles'];

export type Marketplace = ReturnType<typeof toMarketplace>;

const MAX_PLUGINS = 5000;

/** Counts what cannot be read. */
type Skip = (what: string, path: string, reason: string) => void;

/** Undefined if the source has none that lists anything (INS-90). Throws `invalid_definition`. */
export function readMarketplace(tree: string, skip: Skip): Marketplace | undefined {
  for (const file of MARKETPLACE_PATHS) {
    const document = readJsonObject(tree, file);
    if (document === undefined) continue;
    const { plugins } = document;
    if (Array.isArray(plugins) && plugins.length > 0) return toMarketplace(document, plugins, skip);
    skip('marketplace', file, 'lists no plugins');
  }
  return undefined;
}

function toMarketplace(document: JsonObject, listed: readonly Json[], skip: Skip) {
  const metadata = isRecord(document.metadata) ? document.metadata : {};
  const base = toText(metadata.pluginRoot);
  // In directories of the source, and in other repositories, each with the plugins it has.
  const plugins: PluginEntry[] = [];
  const elsewhere = new Map<string, NestedSource>();
  const names = new Set<string>();
  for (const [at, value] of listed.slice(0, MAX_PLUGINS).entries()) {
    const name = isRecord(value) && typeof value.name === 'string' ? value.name : undefined;
    if (!isRecord(value) || name === undefined) skip('plugin', name ?? `plugins[${at}]`, 'has no name');
    else if (findPluginNameFault(name) !== undefined) skip('plugin', name, `its name ${findPluginNameFault(name)}`);
    else if (names.has(name.toLowerCase())) skip('plugin', name, 'another plugin has the same name');
    else {
      names.add(name.toLowerCase());
      const located = readLocation(value.source, base);
      if (typeof located === 'string') skip('plugin', name, located);
      else if (located.repository === null) plugins.push(toEntry(name, value, located.path));
      else addElsewhere(elsewhere, located.repository, located.pin, toEntry(name, value, located.path));
    }
  }
  if (listed.length > MAX_PLUGINS) skip('plugin', '…', `more than ${MAX_PLUGINS} plugins`);
  const description = toText(document.description) ?? toText(metadata.description);
  return { description, plugins, elsewhere: [...elsewhere.values()] };
}

interface PluginLocation {
  /** Null: the source itself. */
  readonly repository: string | null;
  readonly path: string;
  readonly pin: Pin | null;
}

// A text is the reason why the plugin cannot be read.
function readLocation(source: unknown, base: string | null): PluginLocation | string {
  if (typeof source === 'string')
    return readLocal(base === null || source.startsWith('./') ? source : `${base}/${source}`);
  if (!isRecord(source)) return 'has no source';
  const { source: kind, path = '' } = source;
  if (kind === 'local' && typeof path === 'string') return readLocal(path);
  const repository = toText(kind === 'github' ? source.repo : source.url);
  if (!['github', 'url', 'git', 'git-subdir'].includes(String(kind)))
    return `its source "${quoteOutside(String(kind), 40)}" is not supported`;
  if (repository === null || typeof path !== 'string') return 'its source is not complete';
  const local = readLocal(path);
  return typeof local === 'string' ? local : { ...local, repository, pin: readPin(source) };
}

function readLocal(written: string): PluginLocation | string {
  const path = normalize(written.trim() === '' ? '.' : written.trim()).replace(/\/+$/, '');
  if (/^\w+:|@/.test(written) || !isSafePath(path)) return 'its path is outside the source';
  return { repository: null, path: path === '.' ? '' : path, pin: null };
}

// A commit is exact, so it comes before a branch or tag.
function readPin({ sha, ref }: Readonly<Record<string, unknown>>): Pin | null {
  if (typeof sha === 'string' && /^[0-9a-f]{40}$/.test(sha)) return { to: 'commit', name: sha };
  return typeof ref === 'string' && ref !== '' ? { to: 'ref', name: ref } : null;
}

function toEntry(name: string, value: Readonly<Record<string, unknown>>, path: string): PluginEntry {
  const components = Object.fromEntries(
    COMPONENT_FIELDS.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]])),
  ) as JsonObject;
  return { name, description: toText(value.description), path, strict: value.strict !== false, components };
}

// Several plugins can be in one commit of a repository.
function addElsewhere(all: Map<string, NestedSource>, repository: string, pin: Pin | null, entry: PluginEntry): void {
  const key = `${repository.replace(/\.git$/, '')} ${pin?.name ?? ''}`;
  const known = all.get(key);
  all.set(key, {
    source: repository,
    namespace: null,
    pin,
    install: 'all',
    adoption: { roots: null, addRoots: [], hooks: [], plugins: [...(known?.adoption?.plugins ?? []), entry] },
    onAuthFailure: null,
  });
}
