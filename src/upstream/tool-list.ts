// The tools that a server lists, read as untrusted: every page, within bounds; what is no tool is named and left out.

import { isToolError } from '../core/error.js';
import { isRecord, type Json, toJson } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import type { RemoteTool } from '../core/upstream.js';

export interface ToolListing {
  readonly tools: readonly RemoteTool[];
  /** What was left out, in words that name it. */
  readonly faults: readonly string[];
}

const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;
// Deeper than any schema that is taken, so that the schema's own fault is the one that is told.
const BOUNDS = { maxDepth: 100, maxBytes: 1024 * 1024 };

/** Asks for every page. Throws what asking throws. */
export async function fetchTools(
  ask: (params: Readonly<Record<string, unknown>>) => Promise<unknown>,
): Promise<ToolListing> {
  const tools = new Map<string, RemoteTool>();
  const faults: string[] = [];
  let cursor: unknown;
  for (let page = 0; ; page++) {
    if (page >= MAX_PAGES) {
      faults.push(`lists more than ${MAX_PAGES} pages of tools: the rest is left out`);
      break;
    }
    const answer = await ask(cursor === undefined ? {} : { cursor });
    const { tools: listed, nextCursor } = isRecord(answer) ? answer : {};
    if (!Array.isArray(listed)) {
      faults.push('answers a request for its tools with something else');
      break;
    }
    for (const one of listed) {
      const tool = readTool(one, faults);
      if (tool === undefined) continue;
      if (tools.has(tool.name)) faults.push(`lists the tool "${quoteOutside(tool.name, 80)}" twice`);
      else if (tools.size < MAX_TOOLS) tools.set(tool.name, tool);
    }
    if (tools.size >= MAX_TOOLS) faults.push(`lists more than ${MAX_TOOLS} tools: the rest is left out`);
    if (typeof nextCursor !== 'string' || nextCursor === '' || tools.size >= MAX_TOOLS) break;
    cursor = nextCursor;
  }
  return { tools: [...tools.values()], faults };
}

function readTool(one: unknown, faults: string[]): RemoteTool | undefined {
  if (!isRecord(one) || typeof one.name !== 'string' || one.name === '') {
    faults.push('lists something without a name');
    return undefined;
  }
  const refuse = (problem: string): undefined => {
    faults.push(`the tool "${quoteOutside(String(one.name), 80)}" ${problem}`);
    return undefined;
  };
  let tool: Json;
  try {
    tool = toJson(one, BOUNDS);
  } catch (error) {
    return refuse(
      isToolError(error) && error.code === 'too_large'
        ? 'is described by more than 1 MiB'
        : `cannot be read: ${isToolError(error) ? error.message.replace(/^input/, 'its description') : 'no JSON'}`,
    );
  }
  if (!isRecord(tool) || !isRecord(tool.inputSchema)) return refuse('has no schema of its input');
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool as Record<
    string,
    Json
  >;
  return {
    name: name as string,
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: inputSchema!,
    ...(isRecord(outputSchema) ? { outputSchema: outputSchema as Json } : {}),
    ...(isRecord(annotations) ? { annotations: annotations as Record<string, Json> } : {}),
    ...(icons === undefined ? {} : { icons }),
    ...(isRecord(_meta) ? { _meta: _meta as Record<string, Json> } : {}),
  };
}
