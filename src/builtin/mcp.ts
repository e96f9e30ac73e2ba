// The built-in tools `mcp_list_tools`, `mcp_search`, `mcp_info` and `mcp_exec` (UPS-6).

import { BUILTIN_TAG } from '../core/name.js';
import type { Tool } from '../core/tool.js';
import { type LazyDefinition, toLazyTool } from '../formats/module/lazy.js';
import type { McpFunctions, McpToolsOptions } from './mcp-functions.js';

const SERVER = { type: 'string', description: 'Name of the server' } as const;
const TOOL = { type: 'string', description: 'Name of the tool at its server' } as const;

/** Creates the four tools, sorted by name. */
export function createMcpTools(options: McpToolsOptions): Tool[] {
  let functions: Promise<McpFunctions> | undefined;
  const load = async (name: keyof McpFunctions) => {
    functions ??= import('./mcp-functions.js').then(({ createMcpFunctions }) => createMcpFunctions(options));
    return (await functions)[name];
  };
  const tool = (definition: Omit<LazyDefinition, 'load' | 'internal'>, name: keyof McpFunctions): Tool =>
    toLazyTool({
      ...definition,
      traits: { ...definition.traits, group: 'mcp', tags: [BUILTIN_TAG] },
      internal: true,
      load: () => load(name),
    });
  return [
    tool(
      {
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
      },
      'exec',
    ),
    tool(
      {
        name: 'mcp_info',
        description: 'Describe a tool of a connected server: its purpose, input and output.',
        traits: { readOnly: true },
        inputSchema: {
          type: 'object',
          properties: { server: SERVER, tool: TOOL },
          required: ['server', 'tool'],
        },
      },
      'info',
    ),
    tool(
      {
        name: 'mcp_list_tools',
        description: 'List the tools of the connected servers, one per line.',
        traits: { readOnly: true },
        inputSchema: {
          type: 'object',
          properties: { server: { ...SERVER, description: 'Only the tools of this server' } },
        },
      },
      'listTools',
    ),
    tool(
      {
        name: 'mcp_search',
        description: 'Find tools of the connected servers by what they do, best first.',
        traits: { readOnly: true },
        inputSchema: {
          type: 'object',
          properties: {
            query: { type: 'string', description: 'What the tool should do, in a few words' },
            limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Maximum number of tools' },
            server: { ...SERVER, description: 'Only the tools of this server' },
          },
          required: ['query'],
        },
      },
      'searchTools',
    ),
  ];
}
