// Finds the tables of servers in a file of a client, by their names and by what is in them.

import { isRecord } from '../core/json.js';
import { type KeyPath, valueAt } from './forms/form.js';

const TABLE = /^(?:.+\.)?(?:mcpServers|mcp_servers|servers|context_servers|mcp|extensions)$/;
const SERVER = [
  'command',
  'cmd',
  'executable',
  'url',
  'serverUrl',
  'server_url',
  'httpUrl',
  'baseUrl',
  'base_url',
  'uri',
];

/** Whether a table of servers has this key. */
export function isTable(key: string): boolean {
  return TABLE.test(key);
}

/** Returns the tables of a client, then others of the file; a file without any may be a table itself. */
export function findTables(document: unknown, own: readonly KeyPath[]): readonly KeyPath[] {
  const keysOf = (path: KeyPath): KeyPath[] => {
    const value = valueAt(document, path);
    return isRecord(value) ? Object.keys(value).map((key) => [...path, key]) : [];
  };
  const named = keysOf([]).flatMap((path) => [path, ...(path[0] === 'mcp' ? keysOf(path) : [])]);
  const isOwn = (path: KeyPath): boolean => own.some((one) => one.join('\0') === path.join('\0'));
  const others = named.filter(
    (path) => isTable(path.at(-1)!) && !isOwn(path) && hasServers(valueAt(document, path), 'some'),
  );
  const all = [...own.filter((path) => isRecord(valueAt(document, path))), ...others];
  return all.length === 0 && hasServers(document, 'every') ? [[]] : all;
}

/** Returns the tables of all directories in a file of Claude Code. */
export function findProjectTables(document: unknown): readonly KeyPath[] {
  const projects = valueAt(document, ['projects']);
  return isRecord(projects) ? Object.keys(projects).map((directory) => ['projects', directory, 'mcpServers']) : [];
}

function hasServers(table: unknown, amount: 'some' | 'every'): boolean {
  const entries = isRecord(table) ? Object.values(table) : [];
  const isServer = (entry: unknown): boolean => isRecord(entry) && SERVER.some((key) => Object.hasOwn(entry, key));
  return entries.length > 0 && entries[amount](isServer);
}
