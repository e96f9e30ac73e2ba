// The tools that a server lists, read as untrusted: every page, within bounds; what is no tool is named and left out.

import { isToolError } from '../../core/error.js';
import { isRecord, type Json, toJson } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { RemoteTool } from '../../core/upstream.js';

export interface ToolListing {
  readonly tools: readonly RemoteTool[];
  /** What was left out, in words that name it. */
  readonly faults: readonly string[];
}

const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;
// Of all tools together, so that a listing can be kept and read again.
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MAX_FAULTS = 100;
const LONGEST_NAME = 512;
// Deeper than any schema that is taken, so that the schema's own fault is the one that is told.
const BOUNDS = { maxDepth: 100, maxBytes: 1024 * 1024 };

/** Asks for every page. Throws what asking throws. */
export async function fetchTools(
  ask: (params: Readonly<Record<string, unknown>>) => Promise<unknown>,
): Promise<ToolListing> {
  const tools = new Map<string, RemoteTool>();
  const faults: string[] = [];
  let unsaid = 0;
  const blame = (fault: string): void => {
    if (faults.length < MAX_FAULTS) faults.push(fault);
    else unsaid++;
  };
  const cursors = new Set<unknown>();
  let characters = 0;
  let cursor: unknown;
  let stop: string | undefined;
  const take = (one: unknown): void => {
    const tool = readTool(one, blame);
    if (tool === undefined) return;
    const isKnown = tools.has(tool.name);
    if (isKnown) blame(`lists the tool "${quoteOutside(tool.name, 80)}" twice`);
    if (isKnown) return;
    characters += JSON.stringify(tool).length;
    if (characters > MAX_CHARACTERS) stop = 'describes its tools with more than 16 MiB: the rest is left out';
    else if (tools.size === MAX_TOOLS) stop = `lists more than ${MAX_TOOLS} tools: the rest is left out`;
    else tools.set(tool.name, tool);
  };
  while (stop === undefined) {
    const answer = await ask(cursor === undefined ? {} : { cursor });
    const { tools: listed, nextCursor } = isRecord(answer) ? answer : {};
    if (!Array.isArray(listed)) {
      stop = 'answers a request for its tools with something else';
      break;
    }
    for (const one of listed) if (stop === undefined) take(one);
    if (typeof nextCursor !== 'string' || nextCursor === '') break;
    cursor = nextCursor;
    // A page that comes again would come again for ever.
    if (cursors.has(cursor)) stop ??= 'lists a page of tools that it has listed: the rest is left out';
    cursors.add(cursor);
    if (cursors.size >= MAX_PAGES)
      stop ??= `lists more than ${MAX_PAGES} pages of tools: the rest is left out`;
  }
  if (unsaid > 0) faults.push(`has ${unsaid} more faults in its list of tools`);
  if (stop !== undefined) faults.push(stop);
  return { tools: [...tools.values()], faults };
}

function readTool(one: unknown, blame: (fault: string) => void): RemoteTool | undefined {
  if (!isRecord(one) || typeof one.name !== 'string' || one.name === '') {
    blame('lists something without a name');
    return undefined;
  }
  const refuse = (problem: string): undefined => {
    blame(`the tool "${quoteOutside(String(one.name), 80)}" ${problem}`);
    return undefined;
  };
  if (one.name.length > LONGEST_NAME) return refuse(`has a name of more than ${LONGEST_NAME} characters`);
  if (/\p{Cs}/u.test(one.name)) return refuse('has a name that is no text');
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
