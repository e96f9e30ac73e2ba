// Reads the items of one plugin, and counts what cannot be installed.

import { basename, dirname, join, normalize, relative } from 'node:path';
import { isRecord, type Json, type JsonObject, showValue } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { namesIn } from '../../files/list.js';
import { statOrNothing } from '../../files/read.js';
import { isDirectory, isOccupied } from '../directory.js';
import { findNameFault, type ItemKind, isReservedFile, isSafePath } from '../manifest/item-name.js';
import { COMPONENT_FIELDS } from '../manifest/marketplace.js';
import { type PluginManifest, readPluginManifest } from '../manifest/plugin-json.js';
import {
  type PluginServer,
  readAgentServers,
  readClaudeServers,
  readTables,
  type SkipServer,
} from '../manifest/plugin-servers.js';
import type { PluginEntry } from '../manifest/source-manifest.js';
import { isBelow, isInside } from './find-items.js';
import { assertInside } from './load-manifest.js';
import type { ScanNotes } from './notes.js';
import { readSourceItem, resolveLinks, type SourceItem } from './source-item.js';

export interface FoundPlugin {
  readonly name: string;
  readonly description: string | null;
  readonly path: string;
  readonly items: readonly SourceItem[];
}

/** Reads a plugin. Throws `invalid_definition` or `path_escape` if it cannot be read at all (INS-60). */
export function readPlugin(
  tree: string,
  entry: PluginEntry,
  found: Pick<PluginContext, 'files' | 'others' | 'notes'>,
): FoundPlugin {
  const { name: plugin, path: root } = entry;
  assertInside(tree, root, `the directory of the plugin ${plugin}`);
  const { notes } = found;
  if (!isDirectory(join(tree, root))) {
    notes.skip('plugin', plugin, 'its directory does not exist');
    return { ...entry, items: [] };
  }
  const manifest = readPluginManifest(tree, root);
  for (const key of manifest?.unknown ?? []) {
    const message = `the plugin ${plugin}: unknown field "${key}" has no effect`;
    const hint = 'remove it, or put it under extensions';
    notes.warnings.push({ path: join(root, 'plugin.json'), kind: 'unknown-field', message, hint });
  }
  const context = { ...found, tree, plugin, root };
  const isAgent = manifest?.dialect === 'agent';
  // A plugin.json without its schema has the places of Claude, and those of Agent Plugins.
  const files = manifest?.file === join(root, 'plugin.json') ? ['.mcp.json', 'mcp.json'] : ['.mcp.json'];
  const own = isAgent ? readAgent(context) : readClaude(context, toDeclared(entry, manifest), files);
  const items = withDirectory(own, context);
  const description = entry.description ?? manifest?.description ?? null;
  return { name: plugin, path: root, description, items };
}

function toDeclared({ strict, components }: PluginEntry, manifest: PluginManifest | undefined): Declared {
  const own: JsonObject = strict ? (manifest?.fields ?? {}) : {};
  const only = !strict && COMPONENT_FIELDS.some((key) => components[key] !== undefined);
  return { only, fields: (key) => [own[key], components[key]].flat().filter((value) => value !== undefined) as Json[] };
}

function readAgent(context: PluginContext): SourceItem[] {
  const { tree, root } = context;
  return [
    ...skillsIn(context, join(root, 'skills')),
    ...toItems(context, readAgentServers(tree, root, skipServer(context))),
  ];
}

function readClaude(context: PluginContext, declared: Declared, files: readonly string[]): SourceItem[] {
  const { tree, root } = context;
  const usual: Json[] = declared.only ? [] : files.filter((file) => isOccupied(join(tree, root, file))).slice(0, 1);
  countOthers(declared, context);
  const tables = [...usual, ...declared.fields('mcpServers')];
  return [
    ...readSkills(context, declared),
    ...readDocuments(context, 'agent', declared),
    ...readDocuments(context, 'command', declared),
    ...toItems(context, readClaudeServers(tree, root, tables, skipServer(context))),
  ];
}

// Empty for an item that cannot be read, which is counted.
function readItem({ tree, plugin, notes }: PluginContext, kind: ItemKind, name: string, path: string): SourceItem[] {
  const fault = findNameFault(name);
  if (fault !== undefined) {
    notes.skip(kind, `${plugin}:${quoteOutside(name, 60)}`, `its name ${fault}`);
    return [];
  }
  const item = notes.attempt(kind, `${plugin}:${name}`, () => {
    assertInside(tree, path);
    return readSourceItem(tree, kind, name, path);
  });
  return item === undefined ? [] : [{ ...item, plugin }];
}

// A path of the manifest, relative to the source; undefined if it is outside or missing, which is counted.
function resolvePath({ tree, plugin, root, notes }: PluginContext, kind: string, written: Json): string | undefined {
  const path = typeof written === 'string' ? normalize(written) : undefined;
  const isInside = path !== undefined && isSafePath(path);
  const found = isInside ? join(root, path) : undefined;
  if (found !== undefined && isOccupied(join(tree, found))) return found;
  const outside = path === undefined ? 'is not a path' : 'its path is outside the plugin';
  const reason = isInside ? 'the file does not exist' : outside;
  notes.skip(kind, `${plugin}:${quoteOutside(showValue(written), 80)}`, reason);
  return undefined;
}

function skillsIn(context: PluginContext, directory: string): SourceItem[] {
  return namesIn(join(context.tree, directory)).flatMap((name) =>
    isSkill(join(context.tree, directory, name)) ? readItem(context, 'skill', name, join(directory, name)) : [],
  );
}

function readSkills(context: PluginContext, { only, fields }: Declared): SourceItem[] {
  const { tree, plugin, root, others, notes } = context;
  const given = fields('skills');
  const declared = given.flatMap((written) => {
    const named = resolvePath(context, 'skill', written);
    if (named === undefined) return [];
    // Many manifests name the file of a skill instead of its directory (INS-87).
    const path = basename(named) === 'SKILL.md' ? dirname(named) : named;
    if (!isSkill(join(tree, path))) {
      if (!hasSkills(join(tree, path)))
        notes.skip('skill', `${plugin}:${quoteOutside(showValue(written), 80)}`, 'contains no skills');
      return skillsIn(context, path);
    }
    // A skill is named after its directory; one that is the source itself after the plugin.
    return readItem(context, 'skill', join(path) === '.' ? plugin : basename(path), path);
  });
  const usual = only ? [] : skillsIn(context, join(root, 'skills'));
  // INS-90: a manifest that lists nothing that exists hides no skills.
  const isFree = !only && declared.length === 0 && !hasSkills(join(tree, root, 'skills'));
  const isOne = isFree && isSkill(join(tree, root));
  const found = [
    ...usual,
    ...declared,
    ...(isOne ? readItem(context, 'skill', plugin, root) : []),
    ...(isFree && !isOne ? others : []).flatMap((path) => readItem(context, 'skill', basename(path), path)),
  ];
  return distinct(found, notes);
}

function readDocuments(context: PluginContext, kind: 'agent' | 'command', { only, fields }: Declared): SourceItem[] {
  const { tree, files, plugin, root, notes } = context;
  // A text in a skill is part of it, wherever the skill is.
  const skills = new Set(context.others);
  // The Markdown files of a directory, or the file itself.
  const markdownIn = (base: string): string[] =>
    files.filter((file) => /\.md$/i.test(file) && (base === '' || isBelow(file, base)) && !isInside(file, skills));
  // Commands can also be a table of names.
  const given = fields(`${kind}s`).flatMap((value) => (isRecord(value) ? (Object.values(value) as Json[]) : [value]));
  const paths = given.flatMap(
    (value) => resolvePath(context, kind, isRecord(value) ? (value.source as Json) : value) ?? [],
  );
  const usual = resolveLinks(tree, join(root, `${kind}s`));
  const bases = only || given.length > 0 ? paths.map((path) => resolveLinks(tree, path)) : [usual];
  const items = bases.flatMap((base) =>
    markdownIn(base).flatMap((file) => {
      const name = (file === base ? basename(file) : relative(base, file)).replace(/\.md$/i, '').replaceAll('/', '-');
      if (!isReservedFile(`${name}.md`)) return readItem(context, kind, name, file);
      // INS-88
      if (!/^readme$/i.test(name)) notes.skip(kind, `${plugin}:${quoteOutside(file, 80)}`, 'its name is reserved');
      return [];
    }),
  );
  if (!only && given.length > 0)
    for (const file of markdownIn(usual))
      if (!bases.some((base) => isBelow(file, base)) && !/\/readme\.md$/i.test(file))
        notes.skip(kind, `${plugin}:${quoteOutside(file, 80)}`, 'its manifest lists others');
  return distinct(items, notes);
}

function skipServer({ plugin, notes }: PluginContext): SkipServer {
  return (name, reason) => notes.skip('server', `${plugin}:${quoteOutside(name, 80)}`, reason);
}

function toItems({ plugin, root }: PluginContext, servers: readonly PluginServer[]): SourceItem[] {
  return servers.map(({ name, entry }) => ({
    ...BLANK,
    kind: 'server',
    name,
    ownName: name,
    plugin,
    path: root,
    description: `MCP server of the plugin ${plugin}`,
    content: `${JSON.stringify(entry, null, 2)}\n`,
  }));
}

// The directory that the other items can refer to.
function withDirectory(items: readonly SourceItem[], { plugin, root }: PluginContext): readonly SourceItem[] {
  if (items.length === 0) return [];
  const description = `files of the plugin ${plugin}`;
  return [...items, { ...BLANK, kind: 'plugin', name: plugin, ownName: plugin, plugin, path: root, description }];
}

/** The fields of an item that has no files of its own. */
export const BLANK = { file: false, bin: null, build: null, install: null, uninstall: null, link: null, requires: [] };

function isSkill(directory: string): boolean {
  return statOrNothing(join(directory, 'SKILL.md'))?.isFile() === true;
}

function hasSkills(directory: string): boolean {
  return namesIn(directory).some((name) => isSkill(join(directory, name)));
}

// The first item of each name.
function distinct(items: readonly SourceItem[], { skip }: ScanNotes): SourceItem[] {
  const byName = new Map<string, SourceItem>();
  for (const item of items) {
    const known = byName.get(item.name);
    if (known === undefined) byName.set(item.name, item);
    else if (known.path !== item.path) skip(item.kind, item.path, `another ${item.kind} has the same name`);
  }
  return [...byName.values()];
}

interface PluginContext {
  readonly tree: string;
  readonly plugin: string;
  /** Its directory, relative to the source. */
  readonly root: string;
  /** All files of the source. */
  readonly files: readonly string[];
  /** Directories with a SKILL.md, which are skills of the plugin if it has none in the usual place. */
  readonly others: readonly string[];
  readonly notes: ScanNotes;
}

/** The components that a plugin declares. */
interface Declared {
  /** Whether only the listed components belong to the plugin. */
  readonly only: boolean;
  readonly fields: (key: string) => readonly Json[];
}

const NO_HOOKS = 'wield does not run hooks of an agent';

/** Counts what plugins have besides items: it is named, and never installed (INS-61). */
function countOthers({ only, fields }: Declared, { tree, root, plugin, notes: { skip } }: PluginContext): void {
  const usual = (path: string): Json[] => (!only && isOccupied(join(tree, root, path)) ? [path] : []);
  const tables = (what: string, path: string, key: string): JsonObject[] =>
    readTables(tree, root, [...usual(path), ...fields(key)], (name, reason) =>
      skip(what, `${plugin}: ${name}`, reason),
    );
  for (const table of tables('hook', 'hooks/hooks.json', 'hooks'))
    for (const text of hookTexts(table)) skip('hook', `${plugin}: ${text}`, NO_HOOKS);
  for (const table of tables('LSP server', '.lsp.json', 'lspServers'))
    for (const name of Object.keys(table))
      skip('LSP server', `${plugin}:${name}`, 'wield does not start language servers');
  for (const path of [...usual('output-styles'), ...fields('outputStyles')])
    skip('output style', `${plugin}: ${showValue(path)}`, 'wield has no output styles');
}

// One line per command: the event and what would run.
function hookTexts(table: JsonObject): string[] {
  const events = isRecord(table.hooks) ? table.hooks : table;
  return Object.entries(events).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : [matchers]).flatMap((matcher) => {
      const hooks = isRecord(matcher) && Array.isArray(matcher.hooks) ? matcher.hooks : [matcher];
      return hooks.map((hook) => {
        const run = isRecord(hook) ? (hook.command ?? hook.prompt ?? hook.url ?? hook.type) : undefined;
        return `${event}${run === undefined ? '' : `: ${showValue(run)}`}`;
      });
    }),
  );
}
