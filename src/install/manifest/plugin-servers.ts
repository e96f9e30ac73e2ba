// The MCP servers of a plugin, in the format of `.mcp.json` or of Agent Plugins 1.0.

import { join, normalize } from 'node:path';
import { isToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject, mapValues, showValue } from '../../core/json.js';
import {
  custom,
  formatFault,
  matches,
  object,
  oneOf,
  optional,
  readShape,
  record,
  string,
  strings,
  table,
  tagged,
  text,
} from '../../core/shape.js';
import { readServer } from '../../upstream/entries/entry.js';
import { withSandbox } from '../../upstream/entries/sandbox.js';
import { findNameFault, isSafePath } from './item-name.js';
import { AGENT_SCHEMAS, readJsonObject } from './plugin-json.js';
import { literal } from './server-config.js';

const PLACEHOLDER = /\$\{(?:CLAUDE_)?PLUGIN_(?:ROOT|DATA)\}/;
const FIELDS = ['type', 'command', 'args', 'env', 'cwd', 'url', 'headers', 'timeout', 'sandbox', 'sandboxEnabled'];

/** Reads `.mcp.json` and the field `mcpServers`: an object, a file, or an array of both. */
export function readClaudeServers(
  tree: string,
  root: string,
  fields: readonly Json[],
  skip: SkipServer,
): PluginServer[] {
  const isBundle = (value: Json): boolean => typeof value === 'string' && /\.(?:mcpb|dxt)$/i.test(value);
  for (const value of fields.filter(isBundle))
    skip(String(value), 'is a bundle: add it by itself with wield add FILE.mcpb');
  const tables = readTables(
    tree,
    root,
    fields.filter((value) => !isBundle(value)),
    skip,
  );
  const servers = new Map<string, PluginServer>();
  for (const table of tables)
    for (const [name, value] of Object.entries(isRecord(table.mcpServers) ? table.mcpServers : table)) {
      const whole = isRecord(table.mcpServers) ? withSandbox(value, table) : value;
      const entry = isRecord(whole) ? pickFields(whole) : whole;
      const server = toServer(name, withRoot(entry), skip);
      if (server !== undefined && !servers.has(name)) servers.set(name, server);
    }
  return [...servers.values()];
}

function pickFields(value: Readonly<Record<string, unknown>>): JsonObject {
  const kept = Object.fromEntries(FIELDS.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]])));
  return kept as JsonObject;
}

// A process that is started from the plugin also finds it by a variable.
function withRoot(entry: Json): Json {
  if (!isRecord(entry) || entry.command === undefined || !PLACEHOLDER.test(JSON.stringify(entry))) return entry;
  const env = isRecord(entry.env) ? (entry.env as JsonObject) : {};
  return { ...(entry as JsonObject), env: { ...env, CLAUDE_PLUGIN_ROOT: '${CLAUDE_PLUGIN_ROOT}' } };
}

export interface PluginServer {
  readonly name: string;
  /** The entry; placeholders such as `${CLAUDE_PLUGIN_ROOT}` are not expanded. */
  readonly entry: JsonObject;
}

/** Called with each server that cannot be installed. */
export type SkipServer = (name: string, reason: string) => void;

/** Returns undefined for an entry with an error, which is a reason not to install it. */
export function toServer(name: string, entry: Json, skip: SkipServer): PluginServer | undefined {
  const fault = findNameFault(name);
  if (fault !== undefined) {
    skip(name, `its name ${fault}`);
    return undefined;
  }
  const position = { file: '', pointer: null, line: null };
  const { findings, entry: read } = readServer(name, entry, { owner: 'package', position });
  if (read !== undefined) return { name, entry: entry as JsonObject };
  const first = findings.find(({ severity }) => severity === 'error');
  skip(name, [first?.keyPath.join('.'), first?.message].filter(Boolean).join(': '));
  return undefined;
}

/** Returns tables that a plugin declares: each is an object, or the path of a file with one. */
export function readTables(tree: string, root: string, fields: readonly Json[], skip: SkipServer): JsonObject[] {
  return fields.flat().flatMap((value): JsonObject[] => {
    if (isRecord(value)) return [value as JsonObject];
    const path = typeof value === 'string' ? normalize(value) : undefined;
    try {
      if (path !== undefined && isSafePath(path)) return [readJsonObject(tree, join(root, path)) ?? []].flat();
      skip(showValue(value), path === undefined ? 'is neither a table nor a path' : 'its path is outside the plugin');
    } catch (error) {
      if (!isToolError(error)) throw error;
      skip(showValue(value), error.message);
    }
    return [];
  });
}

const ROOT = '${PLUGIN_ROOT}';
const AGENT_SERVERS = object({ $schema: oneOf(`${AGENT_SCHEMAS}1.0.0/mcp.schema.json`), mcpServers: table });

/** Reads `mcp.json` of Agent Plugins 1.0, with its closed shape. */
export function readAgentServers(tree: string, root: string, skip: SkipServer): PluginServer[] {
  const [document] = readTables(tree, root, ['mcp.json'], skip);
  if (document === undefined) return [];
  if (!matches(AGENT_SERVERS, document)) {
    skip('mcp.json', 'is not a valid file of Agent Plugins 1.0');
    return [];
  }
  return Object.entries(document.mcpServers).flatMap(([name, value]) => {
    const entry = toAgentEntry(value);
    if (typeof entry !== 'string') return toServer(name, entry, skip) ?? [];
    skip(name, entry);
    return [];
  });
}

const SERVER = tagged('type', {
  stdio: object({
    type: oneOf('stdio'),
    command: text('a single word', /^\S+$/),
    args: optional(strings),
    env: optional(
      record(string, { findFault: (key) => (/^PLUGIN_(?:ROOT|DATA)$/.test(key) ? 'is reserved' : undefined) }),
    ),
    cwd: optional(string),
  }),
  'streamable-http': object({
    type: oneOf('streamable-http'),
    url: custom('an https:// URL', (url) => (typeof url === 'string' && isPublicUrl(url) ? url : undefined)),
    headers: optional(record(string)),
  }),
});

// Returns the reason as text if an entry is not valid.
function toAgentEntry(value: unknown): JsonObject | string {
  const { value: server, faults } = readShape(SERVER, value);
  if (server === undefined || faults.length > 0) return formatFault(faults[0]!);
  if (server.type === 'streamable-http') {
    const { url, headers = {} } = server;
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    if (new Set(names).size < names.length) return 'has a header twice';
    return { type: 'http', url: literal(url), headers: mapValues(headers, literal) };
  }
  const { command, args = [], env = {}, cwd = ROOT } = server;
  const path = command.startsWith('./') ? normalize(command) : null;
  if (path === null ? /[/\\$]/.test(command) : !isSafePath(path)) return 'its command is outside the plugin';
  const directory = readDirectory(cwd);
  if (directory === undefined) return 'its cwd is outside the plugin';
  return {
    command: path === null ? command : `${ROOT}/${path}`,
    args: args.map(keepPlaceholders),
    env: { ...mapValues(env, keepPlaceholders), PLUGIN_ROOT: ROOT, PLUGIN_DATA: '${PLUGIN_DATA}' },
    cwd: directory,
  };
}

function readDirectory(cwd: string): string | undefined {
  const [, base = ROOT, rest] = /^(\$\{PLUGIN_(?:ROOT|DATA)\}|\.)(?:\/(.*))?$/s.exec(cwd) ?? [];
  const path = rest === undefined ? '.' : normalize(rest);
  if (!/^(?:\.\/|\$\{PLUGIN_(?:ROOT|DATA)\}(?:\/|$))/.test(cwd) || !isSafePath(path) || path.includes('$'))
    return undefined;
  const root = base === '.' ? ROOT : base;
  return path === '.' ? root : `${root}/${path}`;
}

function isPublicUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
  return `${username}${password}${hash}` === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopback));
}

function keepPlaceholders(text: string): string {
  return literal(text).replace(/\$(\$\{PLUGIN_(?:ROOT|DATA)\})/g, '$1');
}
