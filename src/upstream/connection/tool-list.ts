// Fetches and validates the tool list of a server: all pages, within limits; invalid tools are reported and omitted.

import { isRecord, type Json, toJson } from '../../core/json.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import type { RemoteTool } from '../../core/upstream.js';
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
// Deeper than the limit for schemas, so that a deep schema is reported as such.
const BOUNDS = { maxDepth: 100, maxBytes: 1024 * 1024 };

/** Fetches all pages. Throws only what `request` throws. */
export async function fetchTools(
  request: (params: Readonly<Record<string, unknown>>) => Promise<unknown>,
): Promise<ToolListing> {
  const list = createToolList();
  const cursors = new Set<unknown>();
  let cursor: unknown;
  while (list.isOpen()) {
    const answer = await request(cursor === undefined ? {} : { cursor });
    const { tools, nextCursor } = isRecord(answer) ? answer : {};
    if (!Array.isArray(tools)) {
      list.stop('returned an invalid tool list');
      break;
    }
    for (const tool of tools) list.add(tool);
    if (typeof nextCursor !== 'string' || nextCursor === '') break;
    cursor = nextCursor;
    if (cursors.has(cursor)) list.stop('returned the same page of tools again; the rest is omitted');
    cursors.add(cursor);
    if (cursors.size >= MAX_PAGES) list.stop(`has more than ${MAX_PAGES} pages of tools; the rest is omitted`);
  }
  return list.finish();
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
    add(value: unknown): void {
      if (stopped !== undefined) return;
      const tool = readTool(value, report);
      if (tool === undefined) return;
      if (tools.has(tool.name)) {
        report(`lists the tool "${quoteOutside(tool.name, 80)}" twice`);
        return;
      }
      characters += JSON.stringify(tool).length;
      if (characters > MAX_CHARACTERS)
        stop(`has tool definitions of more than ${formatBytes(MAX_CHARACTERS)}; the rest is omitted`);
      else if (tools.size === MAX_TOOLS) stop(`has more than ${MAX_TOOLS} tools; the rest is omitted`);
      else tools.set(tool.name, tool);
    },
    finish(): ToolListing {
      if (omittedFaults > 0) faults.push(`has ${omittedFaults} more problems in its tool list`);
      if (stopped !== undefined) faults.push(stopped);
      return { tools: [...tools.values()], faults };
    },
  };
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
