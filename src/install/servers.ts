// The servers of installed plugins, as the list of upstream servers reads them: `servers.json`.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import { digestParts } from '../files/digest.js';
import { makeDirectory } from '../files/make-directory.js';
import { readStateFile, readTextFile } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import type { InstallPaths } from './environment.js';
import { itemKey } from './manifest/item-name.js';
import { type ConfigValues, fillEntry, type ServerTemplate } from './manifest/server-config.js';
import { type InstalledItem, loadInstalled, parseState } from './state.js';
import { SERVER_FILE } from './tokens/source-form.js';

export interface InstalledServer {
  readonly source: string;
  readonly entry: JsonObject;
  /** What it runs, with the hashes that are checked before it starts (INS-68). */
  readonly files: readonly { readonly path: string; readonly hash: string }[];
  /** Of the entry and of the files. */
  readonly digest: string;
  /** The digest that a person accepted. */
  readonly accepted: string | null;
  /** What a person configures of it. */
  readonly template?: ServerTemplate;
  readonly config?: ConfigValues;
}

type Servers = Readonly<Record<string, InstalledServer>>;

/** Writes the servers that are installed now. One whose entry or files changed has to be accepted again (INS-62). */
export function writeServers(paths: InstallPaths, platform: string): void {
  const { items } = loadInstalled(paths);
  const before = loadServers(paths);
  const servers = Object.fromEntries(
    items
      .filter(({ kind }) => kind === 'server')
      .flatMap((item) => {
        const read = readEntry(item, paths);
        if (read === undefined) return [];
        const known = Object.hasOwn(before, item.effective) ? before[item.effective] : undefined;
        const { entry, ...template } = toFilled(read, known?.config, platform);
        createData(item, entry, paths);
        const files = filesOf(item, items);
        const digest = digestServer(entry, files);
        const accepted = known?.digest === digest ? known.accepted : null;
        return [[item.effective, { source: item.source, entry, files, digest, accepted, ...template }] as const];
      }),
  );
  if (JSON.stringify(servers) !== JSON.stringify(before)) save(servers, paths);
  removeSecrets(before, servers, paths);
}

// Removes the files of secrets that no server refers to any more.
function removeSecrets(before: Servers, after: Servers, paths: InstallPaths): void {
  const filesIn = (servers: Servers): string[] =>
    Object.values(servers).flatMap(({ config = {} }) => secretFiles(config, paths));
  const used = filesIn(after);
  for (const path of filesIn(before)) if (!used.includes(path)) removeFile(path);
}

/** Returns the digest that a person accepts: of everything that decides what runs. */
export function digestServer(entry: JsonObject, files: InstalledServer['files']): string {
  return digestParts(['server', JSON.stringify(entry), ...files.map(({ hash }) => hash)]);
}

/** Returns an installed server. Throws `not_found`. */
export function findInstalledServer(name: string, paths: InstallPaths): InstalledServer {
  const servers = loadServers(paths);
  if (Object.hasOwn(servers, name)) return servers[name]!;
  throw new ToolError('not_found', `the server ${quoteOutside(name, 80)} is not installed any more`, {
    hint: 'wield mcp shows the servers',
  });
}

/** Where a secret of an option is kept: no other server, option or position has this file (INS-73). */
export function secretPath(server: string, key: string, at: number, { store }: InstallPaths): string {
  const shown = `${server}.${key}`.replace(/[^\w.-]/g, '-');
  return join(dirname(store), 'secrets', `installed.${shown}.${digestParts([server, key, `${at}`]).slice(0, 12)}`);
}

function secretFiles(config: ConfigValues, { store }: InstallPaths): string[] {
  const directory = join(dirname(store), 'secrets', 'installed.');
  return Object.values(config)
    .flat()
    .flatMap((text) => (text.startsWith(`\${file:${directory}`) ? [text.slice('${file:'.length, -1)] : []));
}

/** Replaces the record of one server. */
export function saveServer(name: string, server: InstalledServer, paths: InstallPaths): void {
  const before = loadServers(paths);
  const after = { ...before, [name]: server };
  save(after, paths);
  removeSecrets(before, after, paths);
}

function save(servers: Servers, { serversFile }: InstallPaths): void {
  if (Object.keys(servers).length === 0) removeFile(serversFile);
  else writeFileAtomic(serversFile, `${JSON.stringify({ version: 1, servers }, null, 1)}\n`);
}

/** Returns the servers of installed plugins, by name. */
export function loadServers({ serversFile }: InstallPaths): Servers {
  if (!existsSync(serversFile)) return {};
  const { servers } = parseState(readStateFile(serversFile) ?? '', serversFile);
  return isRecord(servers) ? (servers as unknown as Servers) : {};
}

function readEntry({ object }: InstalledItem, { objects }: InstallPaths): JsonObject | undefined {
  const text = readTextFile(join(objects, object, SERVER_FILE));
  return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
}

// The server of a bundle is a template, which is filled with the values of a person.
function toFilled(
  read: JsonObject,
  config: ConfigValues = {},
  platform: string,
): Pick<InstalledServer, 'entry' | 'template' | 'config'> {
  if (!isRecord(read.options) || !isRecord(read.entry)) return { entry: read };
  const template = read as unknown as ServerTemplate;
  return { entry: fillEntry(template, config, platform), template, config };
}

// What a server can run: its own file, and the directory of its plugin if it refers to that.
function filesOf(item: InstalledItem, items: readonly InstalledItem[]): InstalledServer['files'] {
  const needed = new Set(item.references.map((one) => itemKey({ ...item, ...one })));
  const all = [item, ...items.filter((one) => needed.has(itemKey(one)))];
  return all.map(({ store, installedHash }) => ({ path: store, hash: installedHash }));
}

// A server expects the directory for its data to exist. It stays when the plugin is uninstalled.
function createData({ effective, name, plugin }: InstalledItem, entry: JsonObject, { store }: InstallPaths): void {
  const prefix = effective === name ? plugin! : effective.slice(0, -name.length - 1);
  const directory = join(dirname(store), 'plugin-data', prefix);
  if (JSON.stringify(entry).includes(JSON.stringify(directory).slice(1, -1))) makeDirectory(directory);
}
