// Reads the manifest of a plugin: `plugin.json` of Agent Plugins 1.0, or one in `.claude-plugin` or `.codex-plugin`.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { DOCUMENT_BOUNDS, isRecord, type JsonObject, parseJson, toJsonFault } from '../../core/json.js';
import { formatPosition } from '../../core/problem.js';
import {
  anything,
  formatFault,
  object,
  optional,
  readShape,
  type ShapeFault,
  string,
  strings,
  text,
} from '../../core/shape.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { readHead } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { findPluginNameFault } from './item-name.js';

export type PluginManifest = ReturnType<typeof toManifest>;

export const AGENT_SCHEMAS = 'https://agent-plugins.org/schemas/';
const AGENT_SCHEMA = `${AGENT_SCHEMAS}1.0.0/plugin.schema.json`;
const CLIENT_FILES = ['.claude-plugin/plugin.json', '.codex-plugin/plugin.json'];
/** The file of Agent Plugins, which other programs use for manifests of their own. */
const ROOT_FILE = 'plugin.json';
export const MANIFEST_PATHS = [...CLIENT_FILES, ROOT_FILE];
const MAX_BYTES = 4 * 1024 * 1024;

/** Reads a JSON object of a source; undefined if there is no such file. Throws `invalid_definition` or `path_escape`. */
export function readJsonObject(tree: string, path: string): JsonObject | undefined {
  const [root, real] = [realPath(tree), realPath(join(tree, path))];
  if (real === undefined) return undefined;
  if (root === undefined || !isWithin(root, real)) throw invalid(path, 'is outside its directory', 'path_escape');
  const reading = readHead(real, MAX_BYTES);
  if ('fault' in reading) throw invalid(path, `could not be read: ${reading.message}`);
  if (!reading.complete) throw invalid(path, `is larger than ${formatBytes(MAX_BYTES)}`);
  let document: unknown;
  try {
    document = parseJson(reading.bytes.toString('utf8').replace(/^\ufeff/, ''), path, DOCUMENT_BOUNDS);
  } catch (error) {
    const fault = toJsonFault(error);
    throw new ToolError('invalid_definition', `${formatPosition(path, fault)} ${fault.message}`, {
      hint: 'fix the JSON',
      data: { file: path, line: fault.line, message: fault.message },
      cause: error,
    });
  }
  if (!isRecord(document)) throw invalid(path, 'must be an object');
  return document as JsonObject;
}

/** Finds the manifest of the plugin in a directory of a source; undefined if there is none. */
export function readPluginManifest(tree: string, directory: string): PluginManifest | undefined {
  for (const name of CLIENT_FILES) {
    const file = join(directory, name);
    const fields = readJsonObject(tree, file);
    if (fields !== undefined) return toManifest('claude', file, fields);
  }
  const file = join(directory, ROOT_FILE);
  const fields = readJsonObject(tree, file);
  if (fields === undefined) return undefined;
  const { $schema, name } = fields;
  if (typeof $schema === 'string' && $schema.startsWith(AGENT_SCHEMAS)) {
    return toManifest('agent', file, fields, checkAgentManifest(file, fields));
  }
  // Without a schema, it is a manifest as in `.claude-plugin`, if it is one of a plugin at all.
  const isPlugin = $schema === undefined && typeof name === 'string' && findPluginNameFault(name) === undefined;
  return isPlugin ? toManifest('claude', file, fields) : undefined;
}

// `agent`: Agent Plugins 1.0, which has fixed places and skills and servers only. Unknown fields are ignored.
function toManifest(dialect: 'agent' | 'claude', file: string, fields: JsonObject, unknown: readonly string[] = []) {
  const { name, description } = fields;
  if (typeof name !== 'string') throw invalid(file, 'has no name');
  const fault = findPluginNameFault(name);
  if (fault !== undefined) throw invalid(file, `has the name "${quoteOutside(name, 60)}", which ${fault}`);
  return { dialect, file, name, description: toText(description), fields, unknown };
}

/** Returns a text that is not empty. */
export function toText(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

const OPTIONAL = optional(string);
const AGENT = object({
  $schema: string,
  name: text('a name as Agent Plugins allows it', /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/),
  version: OPTIONAL,
  description: OPTIONAL,
  author: optional(object({ name: OPTIONAL, email: OPTIONAL, url: OPTIONAL })),
  homepage: OPTIONAL,
  repository: OPTIONAL,
  license: OPTIONAL,
  keywords: optional(strings),
  // Of any type: what is not an object is ignored.
  extensions: optional(anything),
});

// Returns the unknown fields.
function checkAgentManifest(file: string, fields: JsonObject): string[] {
  if (fields.$schema !== AGENT_SCHEMA) {
    throw invalid(file, `has an unsupported version of Agent Plugins: ${quoteOutside(String(fields.$schema), 120)}`);
  }
  const { faults } = readShape(AGENT, fields);
  const isUnknown = ({ kind, path }: ShapeFault): boolean => kind === 'unknown' && path.length === 1;
  const fault = faults.find((one) => !isUnknown(one));
  if (fault !== undefined) throw invalid(file, `is not valid: ${formatFault(fault)}`);
  return faults.map(({ path }) => String(path[0]));
}

function invalid(file: string, what: string, code: 'invalid_definition' | 'path_escape' = 'invalid_definition') {
  return new ToolError(code, `${quoteOutside(file, 200)} ${what}`, {
    hint: 'report it to the author of the plugin',
    data: { path: file },
  });
}
