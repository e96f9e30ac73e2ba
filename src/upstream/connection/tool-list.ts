// Fetches and validates the tool list of a server: all pages, within limits; invalid tools are reported and omitted.

import { isRecord, type Json, type JsonObject, toJson } from '../../core/json.js';
import { formatBytes, quoteOutside, sanitize } from '../../core/text.js';
import { RpcError } from '../../net/mcp.js';
import type { OfferKind, RemoteTool } from '../remote-tool.js';
import { OFFERS, toOffer } from './offer-list.js';
import { describeJsonFault } from './result.js';

export interface ToolListing {
  readonly tools: readonly RemoteTool[];
  /** What was omitted and why, as predicates of the server. */
  readonly faults: readonly string[];
}

const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;
// Of all tools together, so that a listing can be stored and loaded again.
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_FAULTS = 100;
const MAX_NAME = 512;
const MAX_URI = 2048;
// Deeper than the limit for schemas, so that a deep schema is reported as such.
const BOUNDS = { maxDepth: 100, maxBytes: 1024 * 1024 };

type Request = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** Fetches tools, and the resources, templates and prompts of the capabilities. Throws only what `request` throws. */
export async function fetchListing(request: Request, capabilities: JsonObject): Promise<ToolListing> {
  const list = createToolList();
  if (capabilities.tools !== undefined) await fetchPages('tools/list', 'tools', request, list, readTool);
  for (const { kind, capability, method, member, id } of OFFERS) {
    if (capabilities[capability] === undefined) continue;
    try {
      await fetchPages(method, member, request, list, (entry, report) => readOffer(kind, id, entry, report));
    } catch (error) {
      // Many servers have resources but no templates, and do not know the request.
      if (!(error instanceof RpcError)) throw error;
    }
  }
  return list.finish();
}

async function fetchPages(
  method: string,
  member: string,
  request: Request,
  list: ReturnType<typeof createToolList>,
  read: ReadEntry,
): Promise<void> {
  const cursors = new Set<unknown>();
  let cursor: unknown;
  while (list.isOpen()) {
    const answer = await request(method, cursor === undefined ? {} : { cursor });
    const entries = isRecord(answer) ? answer[member] : undefined;
    const { nextCursor } = isRecord(answer) ? answer : {};
    if (!Array.isArray(entries)) {
      list.stop(member === 'tools' ? 'returned an invalid tool list' : `returned an invalid list of ${member}`);
      break;
    }
    for (const entry of entries) list.add(entry, read);
    if (typeof nextCursor !== 'string' || nextCursor === '') break;
    cursor = nextCursor;
    if (cursors.has(cursor)) list.stop(`returned the same page of ${member} again; the rest is omitted`);
    cursors.add(cursor);
    if (cursors.size >= MAX_PAGES) list.stop(`has more than ${MAX_PAGES} pages of ${member}; the rest is omitted`);
  }
}

type ReadEntry = (value: unknown, report: (fault: string) => void) => RemoteTool | undefined;

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
    add(value: unknown, read: ReadEntry): void {
      if (stopped !== undefined) return;
      const tool = read(value, report);
      if (tool === undefined) return;
      const key = `${tool.offers ?? 'tool'} ${tool.name}`;
      if (tools.has(key)) {
        report(`lists the ${tool.offers ?? 'tool'} "${quoteOutside(tool.name, 80)}" twice`);
        return;
      }
      characters += JSON.stringify(tool).length;
      if (characters > MAX_CHARACTERS)
        stop(`has tool definitions of more than ${formatBytes(MAX_CHARACTERS)}; the rest is omitted`);
      else if (tools.size === MAX_TOOLS) stop(`has more than ${MAX_TOOLS} tools; the rest is omitted`);
      else tools.set(key, tool);
    },
    finish(): ToolListing {
      if (omittedFaults > 0) faults.push(`has ${omittedFaults} more problems in its tool list`);
      if (stopped !== undefined) faults.push(stopped);
      return { tools: [...tools.values()], faults };
    },
  };
}

function readOffer(
  kind: OfferKind,
  id: string,
  value: unknown,
  report: (fault: string) => void,
): RemoteTool | undefined {
  const name = isRecord(value) ? value[id] : undefined;
  if (typeof name !== 'string' || name === '' || name.length > MAX_URI || sanitize(name) !== name) {
    report(`lists a ${kind} without a valid ${id}`);
    return undefined;
  }
  try {
    return toOffer(kind, id, toJson(value, BOUNDS) as Record<string, Json>);
  } catch (error) {
    report(
      `the ${kind} "${quoteOutside(name, 80)}" has a definition that ${describeJsonFault(error, BOUNDS.maxBytes)}`,
    );
    return undefined;
  }
}

function readTool(value: unknown, report: (fault: string) => void): RemoteTool | undefined {
  if (!isRecord(value) || typeof value.name !== 'string' || value.name === '') {
    report('lists a tool without a name');
    return undefined;
  }
  const reject = (fault: string): undefined => {
    report(`the tool "${quoteOutside(String(value.name), 80)}" ${fault}`);
    return undefined;
  };
  if (value.name.length > MAX_NAME) return reject(`has a name of more than ${MAX_NAME} characters`);
  if (/\p{Cs}/u.test(value.name)) return reject('has a name with invalid characters');
  let tool: Json;
  try {
    tool = toJson(value, BOUNDS);
  } catch (error) {
    return reject(`has a definition that ${describeJsonFault(error, BOUNDS.maxBytes)}`);
  }
  if (!isRecord(tool) || !isRecord(tool.inputSchema)) return reject('has no input schema');
  const { name, title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } = tool as Record<
    string,
    Json
  >;
  return {
    name: name as string,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    inputSchema: inputSchema!,
    outputSchema: isRecord(outputSchema) ? (outputSchema as Json) : undefined,
    annotations: isRecord(annotations) ? (annotations as Record<string, Json>) : undefined,
    icons,
    ...(isRecord(execution) ? { execution: execution as Record<string, Json> } : {}),
    _meta: isRecord(_meta) ? (_meta as Record<string, Json>) : undefined,
  };
}
