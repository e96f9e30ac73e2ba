// Reads the MCP servers of a plugin in the format of `.mcp.json`.

import { join, normalize } from 'node:path';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { withSandbox } from '../../upstream/entries/sandbox.js';
import { isSafePath } from './item-name.js';
import { readJsonObject } from './plugin-json.js';
import { attempt, type PluginServer, type SkipServer, toServer } from './plugin-server.js';

const PLACEHOLDER = /\$\{(?:CLAUDE_)?PLUGIN_(?:ROOT|DATA)\}/;
const FIELDS = ['type', 'command', 'args', 'env', 'cwd', 'url', 'headers', 'timeout', 'sandbox', 'sandboxEnabled'];

/** Reads `.mcp.json` and the field `mcpServers`: an object, a file, or an array of both. */
export function readClaudeServers(
  tree: string,
  root: string,
  fields: readonly Json[],
  skip: SkipServer,
): PluginServer[] {
  const tables = fields.flat().flatMap((value): JsonObject[] => {
    if (isRecord(value)) return [value as JsonObject];
    if (typeof value !== 'string') {
      skip(String(value), 'is neither a table of servers nor a path');
      return [];
    }
    if (/\.(?:mcpb|dxt)$/i.test(value)) {
      skip(value, 'is a bundle: add it by itself with wield add FILE.mcpb');
      return [];
    }
    const path = normalize(value);
    if (!isSafePath(path)) skip(value, 'its path is outside the plugin');
    else return attempt(value, skip, () => readJsonObject(tree, join(root, path)));
    return [];
  });
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
