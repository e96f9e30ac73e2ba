// What a server lists becomes what is kept of it; whatever cannot be believed of a tool is left out and said.

import { isToolError, ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import type { Traits } from '../../core/tool.js';
import type { RemoteTool, ServerEntry } from '../../core/upstream.js';
import { createJsonSchema, DATA } from '../../schema/json.js';
import { digestDefinition } from './definition.js';
import type { Listing } from './listing-file.js';
import { toPrefix, toToolName } from './name.js';
import type { KeptTool } from './to-tool.js';

// What a server can have people told about it.
const MAX_FAULTS = 200;

/** The tools of a server that can be offered, and what is to be said of it. */
export function keepListing(
  { tools, faults }: { readonly tools: readonly RemoteTool[]; readonly faults: readonly string[] },
  server: ServerEntry,
): { readonly tools: readonly KeptTool[]; readonly faults: Listing['faults'] } {
  const said: Listing['faults'][number][] = faults.map((message) => ({ severity: 'error', message }));
  const kept = tools.flatMap((remote) => {
    const about = `the tool "${quoteOutside(remote.name, 80)}"`;
    try {
      return keepTool(remote, server, (doubt) =>
        said.push({ severity: 'warning', message: `${about} ${doubt}` }),
      );
    } catch (error) {
      if (!isToolError(error)) throw error;
      said.push({ severity: 'error', message: `${about} is not offered: ${error.message}` });
      return [];
    }
  });
  const unsaid = said.splice(MAX_FAULTS).length;
  if (unsaid > 0)
    said.push({ severity: 'error', message: `${unsaid} more faults of its tools are not shown` });
  return { tools: kept, faults: said };
}

// A description is read by a model at every turn; no tool needs more to say what it does.
const LONGEST_DESCRIPTION = 8000;

// Reads a tool of a server. Throws `invalid_definition` where its schemas cannot be used; doubts are warnings.
function keepTool(remote: RemoteTool, server: ServerEntry, warn: (doubt: string) => void): KeptTool {
  const raw = remote.description ?? remote.title ?? `The tool ${remote.name} of ${server.name}.`;
  const clean = sanitize(raw).trim();
  if (clean !== raw.trim()) warn('has characters in its description that cannot be seen: they are left out');
  if (clean.length > LONGEST_DESCRIPTION)
    warn(`is described by ${clean.length} characters: only the first ${LONGEST_DESCRIPTION} are shown`);
  const { input, output } = readSchemas(remote, warn);
  return {
    name: toToolName(server.name, remote.name),
    remoteName: remote.name,
    description: clean.slice(0, LONGEST_DESCRIPTION),
    traits: readTraits(remote, server),
    definition: digestDefinition(remote),
    ...(clean === raw.trim() ? {} : { described: raw }),
    input,
    ...(output === undefined ? {} : { output }),
  };
}

function readSchemas({ inputSchema, outputSchema }: RemoteTool, warn: (doubt: string) => void) {
  const input = asObject(inputSchema);
  // Made once here, so that a schema that cannot be used is known before anyone sees the tool.
  createJsonSchema(input, { closed: true });
  const output = outputSchema as JsonSchema | undefined;
  if (output !== undefined) createJsonSchema(output);
  const texts = JSON.stringify([input, output]);
  if (sanitize(texts) === texts) return { input, ...(output === undefined ? {} : { output }) };
  warn('has characters in its schemas that cannot be seen: they are left out of what is read there');
  return {
    input: cleanTexts(input) as JsonSchema,
    ...(output === undefined ? {} : { output: cleanTexts(output) as JsonSchema }),
  };
}

const TEXTS: ReadonlySet<string> = new Set(['description', 'title', '$comment']);
// Under these the keys are names, whatever they look like.
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']);

// What is read by whoever calls; what values are compared with stays as it is. The schema is bounded by now.
function cleanTexts(node: Json): Json {
  if (Array.isArray(node)) return node.map(cleanTexts);
  if (!isRecord(node)) return node;
  return mapValues(node as Record<string, Json>, (value, key) => {
    if (DATA.has(key)) return value;
    if (NAMED.has(key) && isRecord(value)) return mapValues(value as Record<string, Json>, cleanTexts);
    return TEXTS.has(key) && typeof value === 'string' ? sanitize(value) : cleanTexts(value);
  });
}

function mapValues(node: Record<string, Json>, change: (value: Json, key: string) => Json): Json {
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, change(value, key)]));
}

function asObject(schema: Json): JsonSchema {
  if (!isRecord(schema)) throw badInput('is no object');
  const { type } = schema;
  if (type !== undefined && type !== 'object') throw badInput('takes something else than an object');
  return schema as JsonSchema;
}

function badInput(problem: string): ToolError {
  return new ToolError('invalid_definition', `the schema of its input ${problem}`, {
    hint: 'this is for the author of the server',
  });
}

// Hints only tighten, and one that is missing says nothing (POL-5).
function readTraits({ title, annotations = {} }: RemoteTool, server: ServerEntry): Traits {
  const flag = (hint: string): boolean | undefined => {
    const value = annotations[hint];
    return typeof value === 'boolean' ? value : undefined;
  };
  const shown = title ?? annotations.title;
  const readOnly = flag('readOnlyHint');
  const destructive = flag('destructiveHint');
  const idempotent = flag('idempotentHint');
  const openWorld = flag('openWorldHint');
  return {
    ...(typeof shown === 'string' && shown !== '' ? { title: quoteOutside(shown, 100) } : {}),
    group: toPrefix(server.name).slice(0, -1),
    tags: [],
    hidden: false,
    terminal: false,
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(destructive === undefined ? {} : { destructive }),
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(openWorld === undefined ? {} : { openWorld }),
    examples: [],
  };
}
