// Runs the shared test suite for every door through which a model calls tools.

import { ADAPTERS } from '../support/adapters.js';
import { callTool, connectHttp, connectOlderSdk, connectStdio } from '../support/clients.js';
import { ALL_TESTS } from '../support/effort.js';
import { type ConnectedDoor, describeDoor } from './door.js';

/** The common part of both generations of the SDK's client. */
interface ProtocolClient {
  listTools(): Promise<{ tools: readonly { name: string; description?: string; inputSchema: object }[] }>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    options: { signal?: AbortSignal },
  ): Promise<unknown>;
}

function toDoor(client: ProtocolClient): ConnectedDoor {
  return {
    // Always offered (SRV-14).
    list: async () => (await client.listTools()).tools.filter(({ name }) => !name.endsWith('_result')),
    call: async (name, input, signal) => {
      const result = await callTool(client, name, input as Record<string, unknown>, signal ? { signal } : {});
      const error = result._meta?.['wield/error'];
      return {
        isError: result.isError === true,
        text: result.content.map((part) => part.text ?? '').join(''),
        code: error?.code,
        hint: error?.hint,
      };
    },
  };
}

describeDoor({
  name: 'MCP over stdio, older protocol',
  connect: async (workspace) => toDoor((await connectStdio(workspace, 'older')) as ProtocolClient),
});
describeDoor({
  name: 'MCP over stdio, first generation of the SDK',
  connect: async (workspace) => {
    const client = await connectOlderSdk(workspace);
    return toDoor({
      listTools: () => client.listTools() as ReturnType<ProtocolClient['listTools']>,
      callTool: (params, options) => client.callTool(params, undefined, options),
    });
  },
});
describeDoor({
  name: 'MCP over HTTP, newer protocol',
  connect: async (workspace) => toDoor((await connectHttp(workspace, 'newer')) as ProtocolClient),
});

// In `npm test` each version and each transport is tried in one combination.
if (ALL_TESTS) {
  describeDoor({
    name: 'MCP over stdio, newer protocol',
    connect: async (workspace) => toDoor((await connectStdio(workspace, 'newer')) as ProtocolClient),
  });
  describeDoor({
    name: 'MCP over HTTP, older protocol',
    connect: async (workspace) => toDoor((await connectHttp(workspace, 'older')) as ProtocolClient),
  });
}

for (const { name, list, call } of ADAPTERS) {
  describeDoor({
    name,
    connect: async (workspace) => {
      const toolbox = workspace.toolbox({ trust: true });
      return {
        list: async () => (await list(toolbox)).filter((tool) => !tool.name.endsWith('_result')),
        call: async (tool, input, signal) => {
          const { text, isError } = await call(toolbox, tool, input, signal);
          const [, code, hint] = /^\[([a-z_]+)\] .*?(?:\nhint: (.*?))?(?:\n|$)/s.exec(isError ? text : '') ?? [];
          // A cancelled call still returns a result; here it counts as a rejection.
          if (code === 'cancelled') throw new Error(text);
          return { isError, text, code, hint };
        },
      };
    },
  });
}
