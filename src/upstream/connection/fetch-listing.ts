// Fetches and validates what a server lists: all pages, within limits; invalid entries are reported and omitted.

import { isRecord, type Json, type JsonObject, toJson } from '../../core/json.js';
import { formatBytes, quoteOutside, sanitize } from '../../core/text.js';
import { RpcError, SKILLS } from '../../net/mcp.js';
import type { OfferKind, RemoteTool } from '../remote-tool.js';
import type { Fields } from './client.js';
import { describeJsonFault } from './result.js';

export interface ToolListing {
  readonly tools: readonly RemoteTool[];
  /** What was omitted and why, as predicates of the server. */
  readonly faults: readonly string[];
}

interface List {
  /** Absent for tools. */
  readonly kind?: OfferKind;
  readonly capability: string;
  readonly method: string;
  /** The member of a page with the entries. */
  readonly member: string;
  /** The field that identifies an entry. */
  readonly id: string;
}

const LISTS: readonly List[] = [
  { capability: 'tools', method: 'tools/list', member: 'tools', id: 'name' },
  { kind: 'resource', capability: 'resources', method: 'resources/list', member: 'resources', id: 'uri' },
  {
    kind: 'template',
    capability: 'resources',
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    id: 'uriTemplate',
  },
  { kind: 'prompt', capability: 'prompts', method: 'prompts/list', member: 'prompts', id: 'name' },
  { kind: 'skill', capability: SKILLS, method: 'skills/list', member: 'skills', id: 'uri' },
];

const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;
// Of all tools together, so that a listing can be stored and loaded again.
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_FAULTS = 100;
const MAX_NAME = 512;
const MAX_URI = 2048;
// Deeper than the limit for schemas, so that a deep schema is reported as such.
const BOUNDS = { maxDepth: 100, maxBytes: 1024 * 1024 };

type Request = (method: string, params: Fields) => Promise<unknown>;

/** Fetches tools, and the resources, templates and prompts of the capabilities. Throws only what `request` throws. */
export async function fetchListing(request: Request, capabilities: JsonObject): Promise<ToolListing> {
  const found = createToolList();
  const { extensions } = capabilities;
  const announced: JsonObject = { ...capabilities, ...(isRecord(extensions) ? (extensions as JsonObject) : {}) };
  for (const list of LISTS) {
    if (announced[list.capability] === undefined) continue;
    try {
      await fetchPages(list, request, found);
    } catch (error) {
      // Many servers have resources but no templates, and do not know the request.
      if (list.kind === undefined || !(error instanceof RpcError)) throw error;
    }
  }
  return found.finish();
}

async function fetchPages(list: List, request: Request, found: ReturnType<typeof createToolList>): Promise<void> {
  const { method, member } = list;
  const cursors = new Set<unknown>();
  let cursor: unknown;
  while (found.isOpen()) {
    const answer = await request(method, cursor === undefined ? {} : { cursor });
    const { [member]: entries, nextCursor } = isRecord(answer) ? answer : {};
    if (!Array.isArray(entries)) {
      found.stop(member === 'tools' ? 'returned an invalid tool list' : `returned an invalid list of ${member}`);
      break;
    }
    for (const entry of entries) found.add(entry, list);
    if (typeof nextCursor !== 'string' || nextCursor === '') break;
    cursor = nextCursor;
    if (cursors.has(cursor)) found.stop(`returned the same page of ${member} again; the rest is omitted`);
    cursors.add(cursor);
    if (cursors.size >= MAX_PAGES) found.stop(`has more than ${MAX_PAGES} pages of ${member}; the rest is omitted`);
  }
}

function createToolList() {
  const tools = new Map<string, RemoteTool>();
  const faults: string[] = [];
  let omittedFaults = 0;
  let characters = 0;
  let stopped: string | undefined;
  const report = (fault: string): void => {
    if (faults.length < MAX_FAULTS) faults.push(fault);
    else omittedFaults++;
  };
  const stop = (fault: string): void => {
    stopped ??= fault;
  };
  return {
    stop,
    isOpen: () => stopped === undefined,
    add(value: unknown, list: List): void {
      if (stopped !== undefined) return;
      const tool = readEntry(value, list);
      if (typeof tool === 'string') report(tool);
      else if (tools.has(keyOf(tool)))
        report(`lists the ${tool.offers ?? 'tool'} "${quoteOutside(tool.name, 80)}" twice`);
      else {
        characters += JSON.stringify(tool).length;
        if (characters > MAX_CHARACTERS)
          stop(`has tool definitions of more than ${formatBytes(MAX_CHARACTERS)}; the rest is omitted`);
        else if (tools.size === MAX_TOOLS) stop(`has more than ${MAX_TOOLS} tools; the rest is omitted`);
        else tools.set(keyOf(tool), tool);
      }
    },
    finish(): ToolListing {
      if (omittedFaults > 0) faults.push(`has ${omittedFaults} more problems in its tool list`);
      if (stopped !== undefined) faults.push(stopped);
      return { tools: [...tools.values()], faults };
    },
  };
}

function keyOf({ offers, name }: RemoteTool): string {
  return `${offers ?? 'tool'} ${name}`;
}

// Returns the entry, or what is wrong with it.
function readEntry(value: unknown, { kind, id }: List): RemoteTool | string {
  const name = isRecord(value) ? value[id] : undefined;
  const fault = kind === undefined ? findNameFault(name) : isValidId(name) ? undefined : '';
  if (typeof name !== 'string' || name === '' || fault === '')
    return kind === undefined ? 'lists a tool without a name' : `lists a ${kind} without a valid ${id}`;
  const about = `the ${kind ?? 'tool'} "${quoteOutside(name, 80)}"`;
  if (fault !== undefined) return `${about} ${fault}`;
  try {
    const entry = toJson(value, BOUNDS) as Record<string, Json>;
    if (kind !== undefined) return toListedTool(kind, id, entry);
    return isRecord(entry.inputSchema) ? toRemoteTool(entry) : `${about} has no input schema`;
  } catch (error) {
    return `${about} has a definition that ${describeJsonFault(error, BOUNDS.maxBytes)}`;
  }
}

function findNameFault(name: unknown): string | undefined {
  if (typeof name !== 'string') return '';
  if (name.length > MAX_NAME) return `has a name of more than ${MAX_NAME} characters`;
  return /\p{Cs}/u.test(name) ? 'has a name with invalid characters' : undefined;
}

function isValidId(id: unknown): boolean {
  return typeof id === 'string' && id.length <= MAX_URI && sanitize(id) === id;
}

function toRemoteTool(entry: Record<string, Json>): RemoteTool {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } = entry;
  return {
    name: name as string,
    title: toText(title),
    description: toText(description),
    inputSchema: inputSchema!,
    outputSchema: toObject(outputSchema),
    annotations: toObject(annotations),
    icons,
    ...(isRecord(execution) ? { execution: toObject(execution)! } : {}),
    _meta: toObject(_meta),
  };
}

const NO_INPUT: Json = { type: 'object', properties: {} };
const URI_INPUT: Json = { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] };

// Converts a resource, template or prompt to the form of a tool, so that it is parsed, pinned and stored like one.
function toListedTool(kind: OfferKind, id: string, entry: Record<string, Json>): RemoteTool {
  const { title, description, name, [id]: _, ...fields } = entry;
  return {
    name: entry[id] as string,
    offers: kind,
    title: toText(title),
    description: kind === 'skill' ? describeSkill(entry) : (toText(description) ?? toText(title) ?? toText(name)),
    inputSchema: kind === 'prompt' ? toInput(entry.arguments) : kind === 'template' ? URI_INPUT : NO_INPUT,
    fields: {
      ...fields,
      ...(kind === 'prompt' || kind === 'skill' ? {} : { name: toText(name) ?? (entry[id] as string) }),
    },
  };
}

function describeSkill({ frontmatter }: Record<string, Json>): string | undefined {
  return toText(toObject(frontmatter)?.description);
}

/** Converts the instructions of a server, so that they are cleaned, pinned and named by rules like a tool. */
export function toInstructions(text: string): RemoteTool {
  return { name: 'instructions', offers: 'instructions', description: text, inputSchema: NO_INPUT };
}

function toInput(given: Json | undefined): Json {
  const named = (Array.isArray(given) ? given : []).filter(
    (argument) => isRecord(argument) && typeof argument.name === 'string',
  ) as { readonly name: string; readonly required?: Json }[];
  const properties = Object.fromEntries(named.map(({ name }) => [name, { type: 'string' }]));
  const required = named.filter((argument) => argument.required === true).map(({ name }) => name);
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}

function toText(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function toObject(value: Json | undefined): Record<string, Json> | undefined {
  return isRecord(value) ? (value as Record<string, Json>) : undefined;
}
