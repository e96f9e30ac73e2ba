// The servers of installed plugins, as the list of upstream servers reads them: `servers.json`.

import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolError } from '../core/error.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import { digestParts } from '../files/digest.js';
import { makeDirectory } from '../files/make-directory.js';
import { readStateFile, readTextFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';
import type { InstallPaths } from './environment.js';
import { type InstalledItem, parseState } from './manifest/installed.js';
import { itemKey } from './manifest/item-name.js';
import { loadInstalled } from './state.js';
import { SERVER_FILE } from './tokens/source-form.js';

interface InstalledServer {
  readonly source: string;
  readonly entry: JsonObject;
  /** Of the entry and of the directory it refers to. */
  readonly digest: string;
  /** The digest that a person accepted. */
  readonly accepted: string | null;
}

type Servers = Readonly<Record<string, InstalledServer>>;

const VERSION = 1;

/** Writes the servers that are installed now. One whose entry or files changed has to be accepted again (INS-62). */
export function writeServers(paths: InstallPaths): void {
  const { items } = loadInstalled(paths);
  const before = loadServers(paths);
  const servers = Object.fromEntries(
    items
      .filter(({ kind }) => kind === 'server')
      .flatMap((item) => {
        const entry = readEntry(item, paths);
        if (entry === undefined) return [];
        createData(item, entry, paths);
        const digest = digestParts(['server', JSON.stringify(entry), ...hashesOf(item, items)]);
        const known = before[item.effective];
        const accepted = known?.digest === digest ? known.accepted : null;
        return [[item.effective, { source: item.source, entry, digest, accepted }] as const];
      }),
  );
  if (JSON.stringify(servers) !== JSON.stringify(before)) save(servers, paths);
}

/** Records that a person accepts a server as it is now. Throws `not_found`. */
export function acceptServer(name: string, digest: string, paths: InstallPaths): void {
  const servers = loadServers(paths);
  const server = servers[name];
  if (server === undefined || server.digest !== digest)
    throw new ToolError('not_found', `the server ${quoteOutside(name, 80)} is not installed any more, or changed`, {
      hint: 'wield mcp shows the servers',
    });
  save({ ...servers, [name]: { ...server, accepted: digest } }, paths);
}

function save(servers: Servers, { serversFile }: InstallPaths): void {
  if (Object.keys(servers).length === 0) rmSync(serversFile, { force: true });
  else writeFileAtomic(serversFile, `${JSON.stringify({ version: VERSION, servers }, null, 1)}\n`);
}

function loadServers({ serversFile }: InstallPaths): Servers {
  if (!existsSync(serversFile)) return {};
  const { servers } = parseState(readStateFile(serversFile) ?? '', serversFile, VERSION);
  return isRecord(servers) ? (servers as unknown as Servers) : {};
}

function readEntry({ object }: InstalledItem, { objects }: InstallPaths): JsonObject | undefined {
  const text = readTextFile(join(objects, object, SERVER_FILE));
  return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
}

// What a server can run: its own file, and the directory of its plugin if it refers to that.
function hashesOf(item: InstalledItem, items: readonly InstalledItem[]): string[] {
  const needed = new Set(item.references.map((one) => itemKey({ ...item, ...one })));
  return [item, ...items.filter((one) => needed.has(itemKey(one)))].map(({ installedHash }) => installedHash);
}

// A server expects the directory for its data to exist. It stays when the plugin is uninstalled.
function createData({ effective, name, plugin }: InstalledItem, entry: JsonObject, { store }: InstallPaths): void {
  const prefix = effective === name ? plugin! : effective.slice(0, -name.length - 1);
  const directory = join(dirname(store), 'plugin-data', prefix);
  if (JSON.stringify(entry).includes(JSON.stringify(directory).slice(1, -1))) makeDirectory(directory);
}
