// Every door through which a model calls tools, held to the one suite.

import { ADAPTERS } from '../support/adapters.js';
import { connectHttp, connectOlderSdk, connectStdio } from '../support/clients.js';
import { type ConnectedConsumer, describeConsumer } from './consumer.js';

/** What both generations of the SDK's client have in common. */
interface ProtocolClient {
  listTools(): Promise<{ tools: readonly { name: string; description?: string; inputSchema: object }[] }>;
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    options: { signal?: AbortSignal },
  ): Promise<unknown>;
}

interface ProtocolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly _meta?: { readonly 'wield/error'?: { readonly code: string; readonly hint?: string } };
}

function toConsumer(client: ProtocolClient): ConnectedConsumer {
  return {
    // Offered beside whatever there is (SRV-14).
    list: async () => (await client.listTools()).tools.filter(({ name }) => name !== 'read_result'),
    call: async (name, input, signal) => {
      const params = { name, arguments: input as Record<string, unknown> };
      const result = (await client.callTool(params, signal ? { signal } : {})) as ProtocolResult;
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

describeConsumer({
  name: 'MCP over stdio, older protocol',
  connect: async (workspace) => toConsumer((await connectStdio(workspace, 'older')) as ProtocolClient),
});
describeConsumer({
  name: 'MCP over stdio, newer protocol',
  connect: async (workspace) => toConsumer((await connectStdio(workspace, 'newer')) as ProtocolClient),
});
describeConsumer({
  name: 'MCP over stdio, first generation of the SDK',
  connect: async (workspace) => {
    const client = await connectOlderSdk(workspace);
    return toConsumer({
      listTools: () => client.listTools() as ReturnType<ProtocolClient['listTools']>,
      callTool: (params, options) => client.callTool(params, undefined, options),
    });
  },
});
describeConsumer({
  name: 'MCP over HTTP, older protocol',
  connect: async (workspace) => toConsumer((await connectHttp(workspace, 'older')) as ProtocolClient),
});
describeConsumer({
  name: 'MCP over HTTP, newer protocol',
  connect: async (workspace) => toConsumer((await connectHttp(workspace, 'newer')) as ProtocolClient),
});

for (const { name, list, call } of ADAPTERS) {
  describeConsumer({
    name,
    connect: async (workspace) => {
      const toolbox = workspace.toolbox({ trust: true });
      return {
        list: async () => (await list(toolbox)).filter((tool) => tool.name !== 'read_result'),
        call: async (tool, input, signal) => {
          const { text, isError } = await call(toolbox, tool, input, signal);
          const [, code, hint] =
            /^\[([a-z_]+)\] .*?(?:\nhint: (.*?))?(?:\n|$)/s.exec(isError ? text : '') ?? [];
          // The answer to a cancelled call is written all the same; here it counts as a rejection.
          if (code === 'cancelled') throw new Error(text);
          return { isError, text, code, hint };
        },
      };
    },
  });
}
