// Reads the items of one plugin, and counts what cannot be installed.

import { readdirSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { isToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import { isDirectory, isOccupied, namesIn } from '../directory.js';
import { findNameFault, type ItemKind, isSafePath } from '../manifest/item-name.js';
import { COMPONENT_FIELDS } from '../manifest/marketplace.js';
import { type PluginManifest, readJsonObject, readPluginManifest } from '../manifest/plugin-json.js';
import { type PluginServer, readAgentServers, readClaudeServers } from '../manifest/plugin-servers.js';
import type { PluginEntry } from '../manifest/source-manifest.js';
import { assertInside } from './load-manifest.js';
import { readSourceItem, type SourceItem } from './source-item.js';

/** Counts something that cannot be installed; `what` is its kind, such as `hook`. */
export type Skip = (what: string, name: string, reason: string) => void;

export interface FoundPlugin {
  readonly name: string;
  readonly description: string | null;
  readonly path: string;
  readonly items: readonly SourceItem[];
  /** Fields of its manifest that are ignored. */
  readonly unknown: readonly string[];
}

const MAX_FILES = 5000;

/**
 * Reads a plugin. Throws `invalid_definition` or `path_escape` if it cannot be read at all (INS-60). `others` are
 * directories with a SKILL.md, which are skills of the plugin if it has none in the usual place.
 */
export function readPlugin(tree: string, entry: PluginEntry, others: readonly string[], skip: Skip): FoundPlugin {
  const { name: plugin, path: root } = entry;
  assertInside(tree, root, `the directory of the plugin ${plugin}`);
  if (!isDirectory(join(tree, root))) return { ...entry, items: [], unknown: skipAll(skip, plugin) };
  const manifest = readPluginManifest(tree, root);
  const reader = createReader({ tree, plugin, root, others, skip });
  const items = manifest?.dialect === 'agent' ? reader.agent() : reader.claude(toDeclared(entry, manifest));
  const description = entry.description ?? manifest?.description ?? null;
  return { name: plugin, path: root, description, items, unknown: manifest?.unknown ?? [] };
}

function skipAll(skip: Skip, plugin: string): readonly string[] {
  skip('plugin', plugin, 'its directory does not exist');
  return [];
}

interface Declared {
  /** Whether only the listed components belong to the plugin. */
  readonly only: boolean;
  readonly fields: (key: string) => readonly Json[];
}

function toDeclared({ strict, components }: PluginEntry, manifest: PluginManifest | undefined): Declared {
  const own: JsonObject = strict ? (manifest?.fields ?? {}) : {};
  const only = !strict && COMPONENT_FIELDS.some((key) => components[key] !== undefined);
  return { only, fields: (key) => [own[key], components[key]].flat().filter((value) => value !== undefined) as Json[] };
}

interface ReaderOptions {
  readonly tree: string;
  readonly plugin: string;
  readonly root: string;
  readonly others: readonly string[];
  readonly skip: Skip;
}

function createReader({ tree, plugin, root, others, skip }: ReaderOptions) {
  const label = (name: string): string => `${plugin}:${name}`;
  const read = (kind: ItemKind, name: string, path: string): SourceItem[] => {
    const fault = findNameFault(name);
    if (fault !== undefined) {
      skip(kind, label(quoteOutside(name, 60)), `its name ${fault}`);
      return [];
    }
    try {
      assertInside(tree, path);
      return [{ ...readSourceItem(tree, kind, name, path), plugin }];
    } catch (error) {
      if (!isToolError(error)) throw error;
      skip(kind, label(name), error.message);
      return [];
    }
  };
  // A path of the manifest, relative to the source; undefined if it is outside or missing.
  const resolve = (kind: string, written: Json): string | undefined => {
    const path = typeof written === 'string' ? normalize(written) : undefined;
    const isInside = path !== undefined && isSafePath(path);
    const found = isInside ? join(root, path) : undefined;
    if (found !== undefined && isOccupied(join(tree, found))) return found;
    skip(
      kind,
      label(quoteOutside(String(written), 80)),
      isInside ? 'the file does not exist' : 'its path is outside the plugin',
    );
    return undefined;
  };
  const skillsIn = (directory: string): SourceItem[] =>
    namesIn(join(tree, directory)).flatMap((name) =>
      isSkill(join(tree, directory, name)) ? read('skill', name, join(directory, name)) : [],
    );
  const skills = ({ only, fields }: Declared): SourceItem[] => {
    const given = fields('skills');
    const declared = given.flatMap((written) => {
      const path = resolve('skill', written);
      if (path === undefined) return [];
      return isSkill(join(tree, path)) ? read('skill', nameOf(path, plugin), path) : skillsIn(path);
    });
    const usual = only ? [] : skillsIn(join(root, 'skills'));
    const directory = join(tree, root, 'skills');
    const isFree = !only && given.length === 0 && !namesIn(directory).some((name) => isSkill(join(directory, name)));
    const isOne = isFree && isSkill(join(tree, root));
    const elsewhere = isFree && !isOne ? others : [];
    const found = [
      ...usual,
      ...declared,
      ...(isOne ? read('skill', plugin, root) : []),
      ...elsewhere.flatMap((path) => read('skill', basename(path), path)),
    ];
    return distinct(found, (item) => skip('skill', item.path, 'another skill has the same name'));
  };
  const documents = (kind: 'agent' | 'command', { only, fields }: Declared): SourceItem[] => {
    const usual = join(root, `${kind}s`);
    // Commands can also be a table of names.
    const given = fields(`${kind}s`).flatMap((value) => (isRecord(value) ? (Object.values(value) as Json[]) : [value]));
    const paths = given.flatMap((value) => resolve(kind, isRecord(value) ? (value.source as Json) : value) ?? []);
    const all = [...(only || given.length > 0 ? [] : [usual]), ...paths].flatMap((path) =>
      markdownIn(tree, path).map((file) => ({ file, base: path })),
    );
    const items = all.flatMap(({ file, base }) => {
      const name = (file === base ? basename(file) : relative(base, file)).replace(/\.md$/i, '').replaceAll('/', '-');
      return /^readme$/i.test(name) ? [] : read(kind, name, file);
    });
    return distinct(items, (item) => skip(kind, item.path, `another ${kind} has the same name`));
  };
  const toItems = (servers: readonly PluginServer[]): SourceItem[] =>
    servers.map(({ name, entry }) => ({
      ...BLANK,
      kind: 'server',
      name,
      ownName: name,
      plugin,
      path: root,
      description: `MCP server of the plugin ${plugin}`,
      content: `${JSON.stringify(entry, null, 2)}\n`,
    }));
  const skipServer = (name: string, reason: string): void => skip('server', label(quoteOutside(name, 80)), reason);
  const directory: SourceItem = {
    ...BLANK,
    kind: 'plugin',
    name: plugin,
    ownName: plugin,
    plugin,
    path: root,
    description: `files of the plugin ${plugin}`,
  };
  const withDirectory = (items: readonly SourceItem[]): SourceItem[] =>
    items.length === 0 ? [] : [...items, directory];

  return {
    agent: (): readonly SourceItem[] =>
      withDirectory([...skillsIn(join(root, 'skills')), ...toItems(readAgentServers(tree, root, skipServer))]),
    claude(declared: Declared): readonly SourceItem[] {
      const usual: Json[] = declared.only || !isOccupied(join(tree, root, '.mcp.json')) ? [] : ['.mcp.json'];
      const given = declared.fields('mcpServers');
      countOthers(declared, { tree, root, plugin, others, skip });
      return withDirectory([
        ...skills(declared),
        ...documents('agent', declared),
        ...documents('command', declared),
        ...toItems(readClaudeServers(tree, root, [...usual, ...given], skipServer)),
      ]);
    },
  };
}

const BLANK = { file: false, bin: null, build: null, install: null, uninstall: null, link: null, requires: [] };

function isSkill(directory: string): boolean {
  return statOrNothing(join(directory, 'SKILL.md'))?.isFile() === true;
}

// A skill is named after its directory; one that is the source itself after the plugin.
function nameOf(path: string, plugin: string): string {
  return join(path) === '.' ? plugin : basename(path);
}

function distinct(items: readonly SourceItem[], onDouble: (item: SourceItem) => void): SourceItem[] {
  const byName = new Map<string, SourceItem>();
  for (const item of items) {
    const known = byName.get(item.name);
    if (known === undefined) byName.set(item.name, item);
    else if (known.path !== item.path) onDouble(item);
  }
  return [...byName.values()];
}

// The Markdown files of a directory, or the file itself.
function markdownIn(tree: string, path: string): string[] {
  if (!isDirectory(join(tree, path))) return isOccupied(join(tree, path)) && /\.md$/i.test(path) ? [path] : [];
  const found: string[] = [];
  const walk = (directory: string, depth: number): void => {
    for (const entry of readdirSync(join(tree, directory), { withFileTypes: true }).sort((a, b) =>
      compareText(a.name, b.name),
    )) {
      if (found.length >= MAX_FILES) return;
      const at = join(directory, entry.name);
      if (entry.isDirectory() && depth < 8) walk(at, depth + 1);
      else if (!entry.isDirectory() && /\.md$/i.test(entry.name)) found.push(at);
    }
  };
  walk(path, 0);
  return found;
}

const NO_HOOKS = 'wield does not run hooks of an agent';

// What plugins have besides items: it is named, and never installed (INS-61).
function countOthers({ only, fields }: Declared, { tree, root, plugin, skip }: ReaderOptions): void {
  const usual = (path: string): Json[] => (!only && isOccupied(join(tree, root, path)) ? [path] : []);
  const tables = (written: readonly Json[]): JsonObject[] =>
    written.flatMap((value) => {
      if (isRecord(value)) return [value as JsonObject];
      const path = typeof value === 'string' ? normalize(value) : '..';
      try {
        const table = isSafePath(path) ? readJsonObject(tree, join(root, path)) : undefined;
        return table === undefined ? [] : [table];
      } catch (error) {
        if (!isToolError(error)) throw error;
        return [{ [path]: {} }];
      }
    });
  for (const table of tables([...usual('hooks/hooks.json'), ...fields('hooks')]))
    for (const text of hookTexts(table)) skip('hook', `${plugin}: ${text}`, NO_HOOKS);
  for (const table of tables([...usual('.lsp.json'), ...fields('lspServers')]))
    for (const name of Object.keys(table))
      skip('LSP server', `${plugin}:${name}`, 'wield does not start language servers');
  for (const path of [...usual('output-styles'), ...fields('outputStyles')])
    skip('output style', `${plugin}: ${String(path)}`, 'wield has no output styles');
}

// One line per command: the event and what would run.
function hookTexts(table: JsonObject): string[] {
  const events = isRecord(table.hooks) ? table.hooks : table;
  return Object.entries(events).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : [matchers]).flatMap((matcher) => {
      const hooks = isRecord(matcher) && Array.isArray(matcher.hooks) ? matcher.hooks : [matcher];
      return hooks.map((hook) => {
        const run = isRecord(hook) ? (hook.command ?? hook.prompt ?? hook.url ?? hook.type) : undefined;
        return `${event}${run === undefined ? '' : `: ${String(run)}`}`;
      });
    }),
  );
}

/** The name of a directory that is a plugin without a marketplace. */
export function entryOf(tree: string, path: string): PluginEntry | undefined {
  const manifest = readPluginManifest(tree, path);
  if (manifest === undefined) return undefined;
  return { name: manifest.name, description: manifest.description, path, strict: true, components: {} };
}

/** Returns the directory of a plugin from the path of its manifest. */
export function directoryOfManifest(path: string): string {
  const directory = dirname(path);
  const root = /^\.(?:claude|codex)-plugin$/.test(basename(directory)) ? dirname(directory) : directory;
  return root === '.' ? '' : root;
}
