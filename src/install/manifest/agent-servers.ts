// Reads the MCP servers of a plugin in the format of Agent Plugins 1.0.

import { join, normalize } from 'node:path';
import { isRecord, type Json, type JsonObject, mapValues } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { isSafePath } from './item-name.js';
import { AGENT_SCHEMAS, readJsonObject } from './plugin-json.js';
import { attempt, type PluginServer, type SkipServer, toServer } from './plugin-server.js';
import { literal } from './server-config.js';

const ROOT = '${PLUGIN_ROOT}';

/** Reads `mcp.json` of Agent Plugins 1.0, with its closed shape. */
export function readAgentServers(tree: string, root: string, skip: SkipServer): PluginServer[] {
  const file = join(root, 'mcp.json');
  const [document] = attempt(file, skip, () => readJsonObject(tree, file));
  if (document === undefined) return [];
  const { $schema, mcpServers, ...rest } = document;
  if ($schema !== `${AGENT_SCHEMAS}1.0.0/mcp.schema.json` || !isRecord(mcpServers) || Object.keys(rest).length > 0) {
    skip(file, 'is not a valid mcp.json of Agent Plugins 1.0');
    return [];
  }
  return Object.entries(mcpServers).flatMap(([name, value]) => {
    const entry = toAgentEntry(value as Json);
    if (typeof entry !== 'string') return toServer(name, entry, skip) ?? [];
    skip(name, entry);
    return [];
  });
}

const STDIO_FIELDS = ['type', 'command', 'args', 'env', 'cwd'];
const HTTP_FIELDS = ['type', 'url', 'headers'];

// Returns the reason as text if an entry is not valid.
function toAgentEntry(value: Json): JsonObject | string {
  if (!isRecord(value)) return 'is not an object';
  const { type, command, cwd = ROOT, args = [], env = {}, url, headers = {} } = value as JsonObject;
  const known = type === 'stdio' ? STDIO_FIELDS : HTTP_FIELDS;
  const odd = Object.keys(value).find((key) => !known.includes(key));
  if (odd !== undefined) return `has an unknown field "${quoteOutside(odd, 40)}"`;
  if (type === 'sse') return 'uses the deprecated transport "sse"';
  if (type === 'streamable-http') {
    if (typeof url !== 'string' || !isPublicUrl(url)) return 'its url is not valid';
    if (!isTexts(headers)) return 'its headers are not valid';
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    if (new Set(names).size < names.length) return 'has a header twice';
    return { type: 'http', url: literal(url), headers: mapValues(headers, literal) };
  }
  if (type !== 'stdio') return 'has no valid type';
  if (typeof command !== 'string' || /\s|^$/.test(command)) return 'its command is not a single word';
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) return 'its args are not valid';
  if (!isTexts(env) || 'PLUGIN_ROOT' in env || 'PLUGIN_DATA' in env) return 'its env is not valid';
  const path = command.startsWith('./') ? normalize(command) : null;
  if (path === null ? /[/\\$]/.test(command) : !isSafePath(path)) return 'its command is outside the plugin';
  const directory = typeof cwd === 'string' ? readDirectory(cwd) : undefined;
  if (directory === undefined) return 'its cwd is outside the plugin';
  return {
    command: path === null ? command : `${ROOT}/${path}`,
    args: args.map((arg) => keepPlaceholders(arg as string)),
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

function isTexts(value: Json): value is { readonly [key: string]: string } {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}
