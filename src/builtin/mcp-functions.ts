// What the built-in tools `mcp_list_tools`, `mcp_search`, `mcp_info` and `mcp_exec` do (UPS-6).

import type { Caller } from '../core/caller.js';
import type { ToolContext } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import { readRemote } from '../core/name.js';
import type { Snapshot } from '../core/snapshot.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { CallInternals, Tool } from '../core/tool.js';
import type { SearchTools } from '../runtime/search.js';
import type { BuiltinFunction } from './builtin.js';

export interface McpToolsOptions {
  /** Lists the tools that a caller is offered. */
  readonly list: (caller: Caller, snapshot: Snapshot) => Promise<readonly Tool[]>;
  readonly search: SearchTools;
}

const LINE = 200;
// Tools of no server are ranked too, then dropped.
const RANKED = 1000;
const FOUND = 10;

/** Creates the four functions. They only reach tools that the caller may call anyway. */
export function createMcpFunctions({ list, search }: McpToolsOptions): McpFunctions {
  const remote = async ({ caller, snapshot }: CallInternals) => (await list(caller, snapshot)).filter(isRemote);
  const find = async (server: string, name: string, internals: CallInternals): Promise<Tool> => {
    const all = await remote(internals);
    const found = all.find((tool) => tool.origin.server === server && nameOf(tool) === name);
    if (found !== undefined) return found;
    throw missing(server, name, all);
  };

  const exec: McpFunctions['exec'] = async ({ server, tool, args = {} }, context, internals) => {
    const { name } = await find(server, tool, internals!);
    const { content, structured, error } = await (context as ToolContext).toolbox.call(name, args);
    const more = structured === undefined ? {} : { structured };
    if (error === undefined) return { content, ...more };
    const { code, message, hint, data } = error;
    return { content, ...more, error: new ToolError(code, message, { hint, data }) };
  };
  const info: McpFunctions['info'] = async ({ server, tool }, _context, internals) => {
    const { name, description, input, output, traits } = await find(server, tool, internals!);
    const { title, readOnly, destructive, idempotent, openWorld } = traits;
    return {
      server,
      tool,
      name,
      ...(title === undefined ? {} : { title }),
      description,
      input: input.json,
      ...(output === undefined ? {} : { output: output.json }),
      hints: { readOnly, destructive, idempotent, openWorld },
    };
  };
  const listTools: McpFunctions['listTools'] = async ({ server }, _context, internals) => {
    const all = await remote(internals!);
    const tools = all.filter(({ origin }) => server === undefined || origin.server === server);
    if (server !== undefined && tools.length === 0) throw missing(server, undefined, all);
    return { tools: tools.map(toLine) };
  };
  const searchTools: McpFunctions['searchTools'] = async ({ query, limit = FOUND, server }, _context, internals) => {
    const { caller, snapshot } = internals!;
    const ranked = (await search(query, RANKED, caller, snapshot)).filter(isRemote);
    const wanted = ranked.filter(({ origin }) => server === undefined || origin.server === server);
    return { tools: wanted.slice(0, limit).map(toLine) };
  };

  return { exec, info, listTools, searchTools };
}

export interface McpFunctions {
  readonly exec: BuiltinFunction<{ server: string; tool: string; args?: Json }>;
  readonly info: BuiltinFunction<{ server: string; tool: string }>;
  readonly listTools: BuiltinFunction<{ server?: string }>;
  readonly searchTools: BuiltinFunction<{ query: string; limit?: number; server?: string }>;
}

function isRemote({ origin }: Tool): boolean {
  return origin.owner === 'upstream';
}

function nameOf(tool: Tool): string {
  return readRemote(tool)!.name;
}

function toLine(tool: Tool) {
  const { name, description, origin } = tool;
  return { server: origin.server, tool: nameOf(tool), name, description: quoteOutside(description, LINE) };
}

function missing(server: string, name: string | undefined, all: readonly Tool[]): ToolError {
  const servers = [...new Set(all.map(({ origin }) => origin.server!))];
  const known = servers.includes(server);
  const what =
    known && name !== undefined
      ? `the server ${server} has no tool "${quoteOutside(name, 80)}"`
      : `server not found: ${quoteOutside(server, 80)}`;
  const near = known
    ? nearest(name ?? '', all.filter(({ origin }) => origin.server === server).map(nameOf))
    : nearest(server, servers);
  return new ToolError('not_found', what, {
    hint: near.length > 0 ? `did you mean ${near.join(', ')}?` : 'see mcp_list_tools',
  });
}
