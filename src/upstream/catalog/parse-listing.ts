// Parses the tool list of a server: invalid tools are omitted, questionable ones reported.

import { isToolError, ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { cleanSchema } from '../../core/schema.js';
import { formatBytes, quoteOutside, sanitize } from '../../core/text.js';
import type { Traits } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { readParamHeaders } from '../../net/param-headers.js';
import { createJsonSchema } from '../../schema/json.js';
import { digestDefinition, type RemoteTool } from '../remote-tool.js';
import type { Listing, StoredTool } from './listing-file.js';
import { toOfferedName, toPrefix, toPublicMeta } from './name.js';

const MAX_FAULTS = 200;
const REPORT = 'report this to the author of the server';

/** Returns the tools of a server that can be offered, and its problems. */
export function parseListing(
  { tools, faults }: { readonly tools: readonly RemoteTool[]; readonly faults: readonly string[] },
  server: ServerEntry,
): { readonly tools: readonly StoredTool[]; readonly faults: Listing['faults'] } {
  const found: Listing['faults'][number][] = faults.map((message) => ({ severity: 'error', message }));
  const parsed = tools.flatMap((remote) => {
    const about =
      remote.offers === 'instructions'
        ? 'its text of instructions'
        : `the ${remote.offers ?? 'tool'} "${quoteOutside(remote.name, 80)}"`;
    try {
      return parseTool(remote, server, (warning) =>
        found.push({ severity: 'warning', message: `${about} ${warning}` }),
      );
    } catch (error) {
      if (!isToolError(error)) throw error;
      found.push({ severity: 'error', message: `${about} is not offered: ${error.message}` });
      return [];
    }
  });
  const omitted = found.splice(MAX_FAULTS).length;
  if (omitted > 0) found.push({ severity: 'error', message: `${omitted} more problems of its tools are not shown` });
  return { tools: parsed, faults: found };
}

// Models read descriptions at every turn.
const MAX_DESCRIPTION = 16 * 1024;

// Throws `invalid_definition` for invalid schemas.
function parseTool(remote: RemoteTool, server: ServerEntry, warn: (warning: string) => void): StoredTool {
  const raw = remote.description ?? remote.title ?? `The ${remote.offers ?? 'tool'} ${remote.name} of ${server.name}.`;
  const clean = sanitize(raw).trim();
  if (clean !== raw.trim()) warn('has invisible characters in its description, which are removed');
  if (clean.length > MAX_DESCRIPTION)
    warn(`has a description of ${clean.length} characters, of which ${MAX_DESCRIPTION} are shown`);
  const { input, output } = readSchemas(remote, warn);
  return {
    name: toOfferedName(server, remote),
    remoteName: remote.name,
    offers: remote.offers,
    description: clean.slice(0, MAX_DESCRIPTION),
    traits: { ...readTraits(remote, server), listed: readListed(remote, server, warn) },
    definition: digestDefinition(remote),
    described: clean === raw.trim() ? undefined : raw,
    input,
    output,
  };
}

function readSchemas({ inputSchema, outputSchema }: RemoteTool, warn: (warning: string) => void) {
  const given = asObject(inputSchema);
  assertParamHeaders(given);
  // Validates the schemas before the tool is offered.
  const input = createJsonSchema(given, { closed: true, foreign: true }).json;
  const output =
    outputSchema === undefined ? undefined : createJsonSchema(outputSchema as JsonSchema, { foreign: true }).json;
  const clean = { input: cleanSchema(input), output: output && cleanSchema(output) };
  if (clean.input !== input || clean.output !== output)
    warn('has invisible characters in its schemas, which are removed from descriptions');
  return clean;
}

function asObject(schema: Json): JsonSchema {
  if (!isRecord(schema)) throw badInput('is not an object');
  const { type } = schema;
  if (type !== undefined && type !== 'object') throw badInput('must have the type object');
  return schema as JsonSchema;
}

// The protocol forbids clients to use a tool with an invalid declaration.
function assertParamHeaders(input: JsonSchema): void {
  try {
    readParamHeaders(input);
  } catch (error) {
    throw badInput(`is invalid: ${quoteOutside((error as Error).message, 200)}`);
  }
}

function badInput(problem: string): ToolError {
  return new ToolError('invalid_definition', `its input schema ${problem}`, { hint: REPORT });
}

// MCP Apps: a tool that only the page of its server calls is not offered to models.
function isForAppsOnly(meta: RemoteTool['_meta']): boolean {
  const visibility = isRecord(meta?.ui) ? meta.ui.visibility : undefined;
  return Array.isArray(visibility) && !visibility.includes('model');
}

// Missing hints stay undefined (POL-5).
function readTraits({ title, annotations = {}, _meta }: RemoteTool, server: ServerEntry): Traits {
  const flag = (hint: string): boolean | undefined => {
    const value = annotations[hint];
    return typeof value === 'boolean' ? value : undefined;
  };
  const shown = title ?? annotations.title;
  return {
    title: typeof shown === 'string' && shown !== '' ? quoteOutside(shown, 100) : undefined,
    group: toPrefix(server.name).slice(0, -1),
    tags: [],
    hidden: isForAppsOnly(_meta),
    ...(isForAppsOnly(_meta) ? { app: true } : {}),
    terminal: false,
    readOnly: flag('readOnlyHint'),
    destructive: flag('destructiveHint'),
    idempotent: flag('idempotentHint'),
    openWorld: flag('openWorldHint'),
    examples: [],
  };
}

// Of one field; icons may be embedded.
const MAX_FIELD = 16 * 1024;
// The 512 files of the largest skill.
const MAX_FILES_FIELD = 512 * 1024;
// Hints that a tool has as traits.
const HINTS: readonly string[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

// Returns the fields that clients get as they are; undefined if there are none.
function readListed(remote: RemoteTool, server: ServerEntry, warn: (warning: string) => void): JsonObject | undefined {
  const { title, description, icons, annotations, execution, _meta } = remote;
  const other = Object.entries(annotations ?? {}).filter(([hint]) => !HINTS.includes(hint));
  const own = sanitize(description ?? '');
  const fields: Readonly<Record<string, unknown>> = remote.fields ?? {
    icons,
    annotations: other.length === 0 ? undefined : Object.fromEntries(other),
    // Here it can be called without a task too (UPS-99).
    execution: execution?.taskSupport === 'required' ? { ...execution, taskSupport: 'optional' } : execution,
    _meta,
  };
  // As it was written if it is trimmed elsewhere, and empty if it was added here (UPS-107).
  const isSame = description !== undefined && own === own.trim();
  const given = { ...fields, title, description: isSame ? undefined : own.slice(0, MAX_DESCRIPTION) };
  const kept = Object.entries(given).flatMap(([key, value]) => {
    const most = remote.offers === 'skill' && key === 'resources' ? MAX_FILES_FIELD : MAX_FIELD;
    if (value === undefined || value === null) return [];
    const text = JSON.stringify(value);
    const fault =
      text.length > most
        ? `is larger than ${formatBytes(most)}`
        : sanitize(text) === text
          ? undefined
          : 'contains invisible characters';
    if (fault !== undefined) warn(`has a field ${key} that ${fault}, which is not passed on`);
    return fault === undefined ? [[key, key === '_meta' ? toPublicMeta(value as Json, server) : value]] : [];
  });
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as JsonObject);
}
