// A tool as its server describes it becomes a tool of ours; whatever cannot be believed of it is left out and said.

import { ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside, sanitize } from '../../core/text.js';
import type { RemoteAction, Tool, Traits } from '../../core/tool.js';
import type { RemoteTool, ServerEntry } from '../../core/upstream.js';
import { createJsonSchema } from '../../schema/json.js';
import { digestDefinition } from '../../upstream/definition.js';
import { toPrefix, toToolName, toUri } from './name.js';

/** What of a tool is kept between two starts of its server: its schemas as text, read when someone asks. */
export interface KeptTool {
  readonly name: string;
  readonly remoteName: string;
  readonly description: string;
  readonly traits: Traits;
  readonly definition: string;
  readonly described?: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  /** What was approved of it, where it is another by now: until someone approves it again, that is shown (POL-21). */
  readonly approved?: Approved;
  readonly changed?: true;
}

export type Approved = Pick<KeptTool, 'description' | 'traits' | 'input' | 'output'>;

// A description is read by a model at every turn; no tool needs more to say what it does.
const LONGEST_DESCRIPTION = 8000;

/** Reads a tool of a server. Throws `invalid_definition` where its schemas cannot be used; doubts are warnings. */
export function keepTool(remote: RemoteTool, server: ServerEntry, warn: (doubt: string) => void): KeptTool {
  const raw = remote.description ?? remote.title ?? `The tool ${remote.name} of ${server.name}.`;
  const clean = sanitize(raw).trim();
  if (clean !== raw.trim()) warn('has characters in its description that cannot be seen: they are left out');
  if (clean.length > LONGEST_DESCRIPTION)
    warn(`is described by ${clean.length} characters: only the first ${LONGEST_DESCRIPTION} are shown`);
  const { input, output } = readSchemas(remote);
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

/** The tool of what was kept. */
export function toTool(kept: () => KeptTool, head: KeptHead, place: ToolPlace): Tool {
  const { server } = place;
  return {
    name: head.name,
    description: head.description,
    traits: {
      ...head.traits,
      ...(server.timeoutMs === undefined ? {} : { timeoutMs: server.timeoutMs }),
    },
    origin: {
      format: 'upstream',
      uri: toUri(server.name, head.remoteName),
      directory: null,
      source: server.place.file,
      digest: null,
      server: server.name,
      owner: 'upstream',
      ...(server.owner === 'workspace' ? { configuredBy: 'workspace' as const } : {}),
    },
    get input() {
      return createJsonSchema(kept().input, { closed: true });
    },
    get output() {
      const { output } = kept();
      return output && createJsonSchema(output);
    },
    get action(): RemoteAction {
      const { definition, described } = kept();
      return {
        kind: 'remote',
        server: server.name,
        tool: head.remoteName,
        target: place.target,
        configuration: place.configuration,
        definition,
        ...(described === undefined ? {} : { described }),
      };
    },
  } as Tool;
}

/** What a listing shows of a tool. */
export type KeptHead = Pick<KeptTool, 'name' | 'remoteName' | 'description' | 'traits' | 'changed'>;

/** The server that a tool is of. */
export interface ToolPlace {
  readonly server: ServerEntry;
  readonly configuration: string;
  readonly target: string;
}

function readSchemas({ inputSchema, outputSchema }: RemoteTool) {
  const input = asObject(inputSchema);
  // Made once here, so that a schema that cannot be used is known before anyone sees the tool.
  createJsonSchema(input, { closed: true });
  if (outputSchema === undefined) return { input };
  const output = outputSchema as JsonSchema;
  createJsonSchema(output);
  return { input, output };
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
