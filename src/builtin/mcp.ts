// The built-in tools `mcp_list_tools`, `mcp_search`, `mcp_info` and `mcp_exec`, which reach tools that the caller may call anyway (UPS-6).

import { reviveError, ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import { readRemote } from '../core/name.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { CallInternals, Tool } from '../core/tool.js';
import { type BuiltinDefinition, defineBuiltin } from '../formats/module/builtin.js';
import { listTools } from '../runtime/list.js';
import type { GetParts } from './builtin.js';

const LINE = 200;
// Tools of no server are ranked too, then dropped.
const RANKED = 1000;
const FOUND = 10;
const SERVER = { type: 'string', description: 'Name of the server' } as const;
const ONLY_SERVER = { ...SERVER, description: 'Only the tools of this server' } as const;
const TOOL = { type: 'string', description: 'Name of the tool at its server' } as const;

/** Creates the four tools, sorted by name. */
export function createMcpTools(parts: GetParts): Tool[] {
  const remote = async ({ caller, snapshot }: CallInternals) =>
    (await listTools(parts(), snapshot, { caller })).filter(isRemote);
  const find = async (server: string, name: string, internals: CallInternals): Promise<Tool> => {
    const all = await remote(internals);
    const found = all.find((tool) => tool.origin.server === server && nameOf(tool) === name);
    if (found !== undefined) return found;
    throw missing(server, name, all);
  };
  const define = <Input>(definition: BuiltinDefinition<Input>): Tool =>
    defineBuiltin({ ...definition, traits: { ...definition.traits, group: 'mcp' } });
  return [
    define<{ server: string; tool: string; args?: Json }>({
      name: 'mcp_exec',
      description: 'Call a tool of a connected server; see mcp_info for its input.',
      inputSchema: {
        type: 'object',
        properties: {
          server: SERVER,
          tool: TOOL,
          args: { type: 'object', description: 'The input of the tool', additionalProperties: true },
        },
        required: ['server', 'tool'],
      },
      async run({ server, tool, args = {} }, { toolbox }, internals) {
        const { name } = await find(server, tool, internals);
        const { content, structured, error } = await toolbox.call(name, args);
        return {
          content,
          ...(structured === undefined ? {} : { structured }),
          ...(error === undefined ? {} : { error: reviveError(error) }),
        };
      },
    }),
    define<{ server: string; tool: string }>({
      name: 'mcp_info',
      description: 'Describe a tool of a connected server: its purpose, input and output.',
      traits: { readOnly: true },
      inputSchema: { type: 'object', properties: { server: SERVER, tool: TOOL }, required: ['server', 'tool'] },
      async run({ server, tool }, _context, internals) {
        const { name, description, input, output, traits } = await find(server, tool, internals);
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
      },
    }),
    define<{ server?: string }>({
      name: 'mcp_list_tools',
      description: 'List the tools of the connected servers, one per line.',
      traits: { readOnly: true },
      inputSchema: { type: 'object', properties: { server: ONLY_SERVER } },
      async run({ server }, _context, internals) {
        const all = await remote(internals);
        const tools = all.filter(({ origin }) => server === undefined || origin.server === server);
        if (server !== undefined && tools.length === 0) throw missing(server, undefined, all);
        return { tools: tools.map(toLine) };
      },
    }),
    define<{ query: string; limit?: number; server?: string }>({
      name: 'mcp_search',
      description: 'Find tools of the connected servers by what they do, best first.',
      traits: { readOnly: true },
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'What the tool should do, in a few words' },
          limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Maximum number of tools' },
          server: ONLY_SERVER,
        },
        required: ['query'],
      },
      async run({ query, limit = FOUND, server }, _context, { caller, snapshot }) {
        const ranked = (await parts().search(query, RANKED, caller, snapshot)).filter(isRemote);
        const wanted = ranked.filter(({ origin }) => server === undefined || origin.server === server);
        return { tools: wanted.slice(0, limit).map(toLine) };
      },
    }),
  ];
}

function isRemote(tool: Tool): boolean {
  return readRemote(tool) !== undefined;
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
