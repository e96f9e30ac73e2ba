// Approvals through the MCP client, in both protocol versions.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished } from 'vitest';
import type { ToolContext } from '../../../src/core/context.js';
import { createMcpHttp } from '../../../src/mcp-server/index.js';
import { type AskingWorkspace, createAskingWorkspace, DEPLOY } from '../../support/approvals.js';
import { wield } from '../../support/cli.js';
import { ACCEPT, connectAsking, connectOlderSdk, connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { ALL_TESTS } from '../../support/effort.js';
import { serveHere } from '../../support/serve.js';
import { type Message, type RawSession, serveStdio } from '../../support/server.js';
import { spec } from '../../support/spec.js';

const CALL = { name: 'deploy', arguments: { branch: 'main' } };
const errorOf = (result: Message): { code: string; data: { id: string } } => result._meta['wield/error'];

for (const protocol of ['older', 'newer'] as const satisfies readonly ProtocolVersion[]) {
  describe(`${protocol} protocol version`, () => {
    for (const transport of ['stdio', 'http'] as const) {
      // Two of four combinations.
      if (!ALL_TESTS && (protocol === 'older') !== (transport === 'stdio')) continue;
      spec('POL-6 SRV-6', `over ${transport} shows the plan and runs the call once if approved`, async () => {
        const workspace = createAskingWorkspace();
        const messages: string[] = [];
        const client = await connectAsking(workspace, protocol, transport, (message) => {
          messages.push(message);
          return ACCEPT;
        });
        const result = await client.callTool(CALL);
        expect(result.content).toEqual([{ type: 'text', text: 'deployed\n' }]);
        expect(messages).toHaveLength(1);
        for (const text of [
          'wield needs your approval to run deploy',
          '{"branch":"main"}',
          '.agents/tools/deploy',
          'mcp:test',
        ])
          expect(messages[0]).toContain(text);
        await client.callTool(CALL);
        expect(messages).toHaveLength(2);
        expect(workspace.runs()).toEqual(['main', 'main']);
        expect(workspace.records()).toEqual([]);
      });

      spec('POL-6 SRV-6', `over ${transport} denies the call on decline, cancel and any other answer`, async () => {
        const workspace = createAskingWorkspace();
        const answers = [
          { action: 'decline' },
          { action: 'cancel' },
          { action: 'accept', content: { decision: 'do not run it' } },
          { action: 'accept', content: { decision: true } },
          { action: 'accept', content: {} },
          { action: 'accept' },
        ] as const;
        const left = [...answers];
        const client = await connectAsking(workspace, protocol, transport, () => left.shift() as typeof ACCEPT);
        for (const _ of answers) {
          const result = await client.callTool(CALL);
          expect(result.isError).toBe(true);
          expect(errorOf(result).code).toBe('denied');
        }
        expect(left).toEqual([]);
        expect(workspace.runs()).toEqual([]);
      });
    }

    spec('POL-6', 'returns needs_approval to a client without forms, and runs the call once approved', async () => {
      const workspace = createAskingWorkspace();
      const client = await connectStdio(workspace, protocol);
      const result = await client.callTool(CALL);
      expect(result.isError).toBe(true);
      const { code, data } = errorOf(result);
      expect(code).toBe('needs_approval');
      expect((result.content as { text: string }[])[0]!.text).toContain(`wield approvals approve ${data.id}`);
      await wield(workspace, ['approvals', 'approve', data.id]);
      expect((await client.callTool(CALL)).content).toEqual([{ type: 'text', text: 'deployed\n' }]);
      expect((await client.callTool(CALL)).isError).toBe(true);
      expect(workspace.runs()).toEqual(['main']);
    });

    spec.thorough('POL-7', 'keeps an approval across a restart of the server', async () => {
      const workspace = createAskingWorkspace();
      const first = await connectStdio(workspace, protocol);
      const { data } = errorOf(await first.callTool(CALL));
      await first.close();
      await wield(workspace, ['approvals', 'approve', data.id]);
      const second = await connectStdio(workspace, protocol);
      expect((await second.callTool(CALL)).isError ?? false).toBe(false);
      expect(workspace.runs()).toEqual(['main']);
    });

    spec('POL-6', 'runs nothing if the client disconnects while asking', async () => {
      const workspace = createAskingWorkspace();
      const controller = new AbortController();
      const client = await connectAsking(workspace, protocol, 'stdio', async () => {
        controller.abort();
        return ACCEPT;
      });
      await expect(client.callTool(CALL, { signal: controller.signal })).rejects.toThrow();
      // The server still responds, and the abandoned call did not run.
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('deploy');
      expect(workspace.runs()).toEqual([]);
    });
  });
}

describe('a nested call', () => {
  const outer = {
    name: 'outer',
    description: 'Calls deploy.',
    inputSchema: { type: 'object' as const, properties: {} },
    execute: async (_input: unknown, { toolbox }: ToolContext) => {
      const { ok, error } = await toolbox.call('deploy', { branch: 'nested' });
      return ok ? 'ran' : `${error?.code} ${error?.hint}`;
    },
  };
  const connect = async (workspace: AskingWorkspace, protocol: ProtocolVersion, asked: string[]): Promise<Client> => {
    const handler = createMcpHttp(workspace.toolbox({ tools: [outer], trust: true }), {
      version: '1',
      access: { host: '127.0.0.1' },
    });
    onTestFinished(() => handler.close());
    const client = new Client(
      { name: 'test', version: '1' },
      {
        ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
        capabilities: { elicitation: { form: {} } },
      },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      return ACCEPT;
    });
    const url = new URL('http://127.0.0.1/mcp');
    const toRequest = (to: string | URL, init?: RequestInit): Request => {
      const headers = new Headers(init?.headers);
      headers.set('host', '127.0.0.1');
      return new Request(to, { ...init, headers });
    };
    await client.connect(
      new StreamableHTTPClientTransport(url, { fetch: (to, init) => handler.fetch(toRequest(to, init)) }),
    );
    onTestFinished(() => client.close());
    return client;
  };

  for (const protocol of ['older', 'newer'] as const)
    spec('POL-6', `is approved separately in the ${protocol} protocol version`, async () => {
      const workspace = createAskingWorkspace();
      const asked: string[] = [];
      const client = await connect(workspace, protocol, asked);
      const result = await client.callTool({ name: 'outer', arguments: {} });
      expect(result.content).toEqual([{ type: 'text', text: 'ran' }]);
      expect(asked).toEqual([expect.stringContaining('{"branch":"nested"}')]);
      expect(workspace.runs()).toEqual(['nested']);
    });
});

spec('POL-6 SRV-6', 'supports clients from before elicitation had modes', async () => {
  const workspace = createAskingWorkspace();
  const client = await connectOlderSdk(workspace, ['--trust'], () => ACCEPT);
  expect((await client.callTool(CALL)).content).toEqual([{ type: 'text', text: 'deployed\n' }]);
  expect(workspace.runs()).toEqual(['main']);
});

describe('request state of the newer protocol version', () => {
  const meta = (capabilities: object = { elicitation: { form: {} } }, name = 'raw') => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name, version: '1' },
  });
  let ids = 0;
  const call = (server: RawSession, more: object = {}, name = 'raw'): Promise<Message> =>
    server.request(++ids, 'tools/call', { ...CALL, ...more, _meta: meta(undefined, name) });
  const ask = async (server: RawSession, name?: string): Promise<string> => {
    const { result } = await call(server, {}, name);
    expect(result.resultType).toBe('input_required');
    expect(result.inputRequests.consent.method).toBe('elicitation/create');
    return result.requestState;
  };
  const inputResponses = { consent: ACCEPT };

  spec('SRV-6', 'is accepted once and rejected when replayed', async () => {
    const workspace = createAskingWorkspace();
    const server = serveHere(workspace);
    const requestState = await ask(server);
    const first = await call(server, { requestState, inputResponses });
    expect(first.result.content).toEqual([{ type: 'text', text: 'deployed\n' }]);
    for (let replay = 0; replay < 3; replay++) {
      const { result } = await call(server, { requestState, inputResponses });
      expect(errorOf(result).code).toBe('needs_approval');
    }
    expect(workspace.runs()).toEqual(['main']);
  });

  spec('SRV-6', 'is accepted once by concurrent requests', async () => {
    const workspace = createAskingWorkspace();
    const server = serveHere(workspace);
    const requestState = await ask(server);
    const answers = await Promise.all(Array.from({ length: 8 }, () => call(server, { requestState, inputResponses })));
    expect(answers.filter(({ result }) => result.isError !== true)).toHaveLength(1);
    expect(workspace.runs()).toEqual(['main']);
  });

  spec('SRV-6', 'is rejected if altered or from another server', async () => {
    const workspace = createAskingWorkspace();
    const server = serveHere(workspace);
    const requestState = await ask(server);
    const [version, body, mac] = requestState.split('.') as [string, string, string];
    const payload = JSON.parse(Buffer.from(body, 'base64url').toString());
    const forge = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const foreign = await ask(serveStdio(workspace));
    for (const state of [
      `${version}.${forge({ ...payload, exp: payload.exp + 9999 })}.${mac}`,
      `${version}.${forge({ ...payload, p: { ...payload.p, binding: 'f'.repeat(64) } })}.${mac}`,
      `${version}.${body}.${mac.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
      foreign,
      'nonsense',
    ]) {
      const { error } = await call(server, { requestState: state, inputResponses });
      expect(error.code).toBe(-32602);
    }
    expect(workspace.runs()).toEqual([]);
  });

  spec('SRV-6', 'is rejected for other input, another caller or a changed tool', async () => {
    const workspace = createAskingWorkspace();
    const server = serveHere(workspace);
    const other = await call(server, {
      requestState: await ask(server),
      inputResponses,
      arguments: { branch: 'prod' },
    });
    expect(errorOf(other.result).code).toBe('needs_approval');
    const caller = await call(server, { requestState: await ask(server, 'one'), inputResponses }, 'two');
    expect(errorOf(caller.result).code).toBe('needs_approval');
    const requestState = await ask(server);
    workspace.script('deploy', `${DEPLOY}# changed\n`);
    const changed = await call(server, { requestState, inputResponses });
    expect(errorOf(changed.result).code).toBe('needs_approval');
    expect(workspace.runs()).toEqual([]);
  });

  spec('SRV-6', 'is required for an answer', async () => {
    const workspace = createAskingWorkspace();
    const server = serveHere(workspace);
    const { result } = await call(server, { inputResponses });
    expect(result.resultType).toBe('input_required');
    expect(workspace.runs()).toEqual([]);
  });
});
