// The MCP reference servers, directly and through wield: results are the same, except for the differences below.

import { spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { Client, type ElicitRequestParams, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished } from 'vitest';
import { toPublicUri } from '../../../src/core/resource.js';
import type { ElicitAnswer, ToolResult } from '../../../src/index.js';
import { toToolName } from '../../../src/upstream/catalog/name.js';
import { json, wield } from '../../support/cli.js';
import { connectPerson, type ProtocolVersion } from '../../support/clients.js';
import { rounds, THOROUGH } from '../../support/effort.js';
import {
  EVERYTHING,
  EVERYTHING_CALLS,
  type ReferenceCall,
  type ReferenceServer,
  referenceServers,
} from '../../support/reference-servers.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

// biome-ignore lint/suspicious/noExplicitAny: results are compared as a whole, whatever is in them
type Wild = any;

const INFO = { name: 'test', version: '1' };

// Answers questions the same way for all clients.
const answer = (params: ElicitRequestParams): Wild => {
  if (params.mode === 'url') return { action: 'accept' };
  const { properties } = params.requestedSchema as Wild;
  const content = 'decision' in properties ? { decision: 'run it once' } : { name: 'Ada', check: true };
  return { action: 'accept', content };
};

async function connectDirect(transport: ConstructorParameters<typeof Object>[0]): Promise<Client> {
  const client = new Client(INFO, { capabilities: { elicitation: { form: {}, url: {} } } });
  client.setRequestHandler('elicitation/create', async ({ params }) => answer(params));
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

const connectProcess = ({ command, args, env }: ReferenceServer): Promise<Client> =>
  connectDirect(new StdioClientTransport({ command, args: [...args], env, stderr: 'ignore' }));

// Times and random values.
function settled(value: unknown): Wild {
  return JSON.parse(
    JSON.stringify(value)
      .replace(/"blob":"(UmVzb3VyY2U[^"]*)"/g, (_, blob: string) => `"blob":"${Buffer.from(blob, 'base64')}"`)
      .replace(/\w{3} \w{3} \d\d 20\d\d [\d:]{8} GMT[^"\\]*/g, 'DATE')
      .replace(/20\d\d-\d\d-\d\dT[\d:.]+Z/g, 'DATE')
      .replace(/\d{1,2}:\d\d:\d\d [AP]M/g, 'TIME')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'),
  );
}

async function callDirect(client: Client, { tool, input }: ReferenceCall): Promise<Wild> {
  try {
    const { content, structuredContent, isError, _meta } = await client.callTool({
      name: tool,
      arguments: input,
    });
    return settled({ content, structuredContent, isError, _meta });
  } catch (error) {
    return { refused: (error as Error).message };
  }
}

/** Converts a direct result to what a client of wield must get. */
function expectSame(direct: Wild, through: Wild, call: ReferenceCall, name: string): void {
  const about = `${name}: ${JSON.stringify(call.input)}`;
  if (call.tool === 'get-env') {
    expectNarrowed(through);
    return;
  }
  // UPS-99: the server runs it as a task only, so a direct call is refused.
  if (call.tool === 'simulate-research-query') {
    expect(direct.refused ?? direct.content[0].text, about).toContain('task');
    expect(through.content[0].text, about).toContain('# Research Report: tools');
    return;
  }
  // SRV-3: errors of servers are passed on.
  if ('refused' in direct) {
    expect(through.refused, about).toContain(direct.refused.replace(/^MCP error -?\d+: /, ''));
    return;
  }
  if (direct.isError === true) {
    expect(through.content, about).toEqual(direct.content);
    expect(through.isError, about).toBe(true);
    expect(through._meta['wield/error'].code, about).toBe('tool_failed');
    return;
  }
  // Defaults of its form are filled in on the way, so its answer has more fields.
  if (call.tool === 'trigger-elicitation-request') {
    expect(through.content[0], about).toEqual(direct.content[0]);
    return;
  }
  const server = name.slice(0, name.indexOf('_'));
  expect(through.content, about).toEqual(direct.content.map((part: Wild) => withPublicUri(part, server)));
  expect(through.structuredContent, about).toEqual(direct.structuredContent);
  expect(through.isError, about).toBeUndefined();
  expect(withoutNeighbour(through._meta), about).toEqual(withoutNeighbour(direct._meta));
}

// RSC-2: clients read resources of a server at wield.
function withPublicUri(part: Wild, server: string): Wild {
  if (part.type === 'resource_link') return { ...part, uri: toPublicUri(server, part.uri) };
  if (part.type !== 'resource') return part;
  return { ...part, resource: { ...part.resource, uri: toPublicUri(server, part.resource.uri) } };
}

// A server gets the variables of its entry and few others.
function expectNarrowed({ content }: Wild): void {
  const env = JSON.parse(content[0].text);
  expect(env.HOME).toMatch(/\/home$/);
  expect(Object.keys(env)).not.toContain('WIELD_HOME');
}

// Metadata of a single connection, and labels that wield adds (FLW-1).
function withoutNeighbour(meta: Record<string, unknown> = {}): Record<string, unknown> {
  const isOwn = (key: string): boolean => key.startsWith('io.modelcontextprotocol/') || key === 'wield/labels';
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !isOwn(key)));
}

function expectSameList(listed: readonly Wild[], through: readonly Wild[], server: string): void {
  const names = listed.map(({ name }) => toToolName(server, name));
  const ours = through.filter(({ name }) => names.includes(name));
  expect(ours.map(({ name }) => name).sort()).toEqual([...names].sort());
  for (const tool of listed) {
    const found = ours.find(({ name }) => name === toToolName(server, tool.name))!;
    expect(found.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(found.title).toEqual(tool.title ?? tool.annotations?.title);
    expect(found.description).toBe(tool.description.trim());
    expect(found.inputSchema).toEqual(tool.inputSchema);
    expect(found.outputSchema).toEqual(tool.outputSchema);
    const { title: ___, ...hints } = tool.annotations ?? {};
    expect(found.annotations ?? {}).toEqual(hints);
  }
}

/** Converts a result of wield to the protocol's form. */
function toWire({ content, structured, error, meta }: ToolResult): Wild {
  const { remote } = meta as { remote?: Record<string, unknown> };
  const said = content.filter((part) => part.type !== 'text' || part.text !== '');
  if (error === undefined)
    return settled({ content: said, structuredContent: structured, ...(remote ? { _meta: remote } : {}) });
  if (said.length === 0) return { refused: error.message };
  return settled({ content: said, isError: true, _meta: { 'wield/error': error } });
}

function openWorkspace(find: (workspace: Workspace) => ReferenceServer): {
  readonly workspace: Workspace;
  readonly server: ReferenceServer;
} {
  const workspace = createWorkspace();
  const server = find(workspace);
  const { command, args, env } = server;
  configureServers(workspace, { [server.name]: { command, args, env } });
  return { workspace, server };
}

for (const index of [0, 1, 2, 3]) {
  const name = ['everything', 'filesystem', 'memory', 'sequential-thinking'][index]!;
  const open = () => openWorkspace((workspace) => referenceServers(workspace)[index]!);
  const protocols: readonly ProtocolVersion[] = THOROUGH || name === 'everything' ? ['older', 'newer'] : ['newer'];
  describe(`the server ${name} over stdio`, () => {
    spec.thorough('UPS-10 RES-42', 'is the same through wield serve and the library', async () => {
      const { workspace, server } = open();
      server.prepare();
      const direct = await connectProcess(server);
      const { tools } = await direct.listTools();
      expect([...new Set(server.calls.map(({ tool }) => tool))].sort()).toEqual(tools.map((tool) => tool.name).sort());
      // Takes five seconds; UPS-99 has tests of its own.
      const calls = server.calls.filter(({ tool }) => THOROUGH || tool !== 'simulate-research-query');
      const expected: Wild[] = [];
      for (const call of calls) expected.push(await callDirect(direct, call));
      for (const protocol of protocols) {
        server.prepare();
        const client = await connectPerson(workspace, protocol, 'stdio', answer);
        expectSameList(tools, (await client.listTools()).tools, server.name);
        for (const [at, call] of calls.entries()) {
          const ours = toToolName(server.name, call.tool);
          expectSame(expected[at], await callDirect(client, { ...call, tool: ours }), call, ours);
        }
        await client.close();
      }
      server.prepare();
      const toolbox = workspace.toolbox();
      for (const [at, call] of calls.entries()) {
        const ours = toToolName(server.name, call.tool);
        // By URI here, by name there.
        const result = await toolbox.call(`mcp://${server.name}/${call.tool}`, call.input, {
          approve: async () => 'once',
          elicit: async ({ url, schema }) =>
            answer({
              mode: url === undefined ? 'form' : 'url',
              requestedSchema: schema,
            } as Wild) as ElicitAnswer,
          full: true,
        });
        expectSame(expected[at], toWire(result), call, ours);
      }
      await toolbox.close();
    });

    (index === 0 ? spec : spec.thorough)('UPS-10', 'is the same through wield call --json', async () => {
      const { workspace, server } = open();
      server.prepare();
      const direct = await connectProcess(server);
      // Each call is its own process and server, without elicitation.
      const calls = server.calls
        .filter(({ tool }) => !/^(?:trigger|toggle)-/.test(tool))
        .slice(0, server.name === 'sequential-thinking' ? 1 : rounds(1, 6));
      const expected: Wild[] = [];
      for (const call of calls) expected.push(await callDirect(direct, call));
      server.prepare();
      for (const [at, call] of calls.entries()) {
        const ours = toToolName(server.name, call.tool);
        const input = JSON.stringify(call.input);
        const run = await wield(workspace, ['call', ours, '--json', '--yes', '--input', input]);
        expectSame(expected[at], toWire(json(run)), call, ours);
      }
    });
  });
}

describe('a call that requires visiting a URL first', () => {
  spec.thorough('UPS-10', 'is repeated after the visit, and fails without it', async () => {
    const { workspace } = openWorkspace((here) => referenceServers(here)[0]!);
    const asked: Wild[] = [];
    let action = 'decline';
    const client = await connectPerson(workspace, 'newer', 'stdio', (params) => {
      asked.push(params);
      return { action } as Wild;
    });
    const call = () =>
      client.callTool({
        name: 'everything_trigger-url-elicitation',
        arguments: { url: 'https://example.com/pay', errorPath: true, elicitationId: action },
      });
    await expect(call()).rejects.toMatchObject({ code: -32042 });
    expect(asked).toHaveLength(1);
    action = 'accept';
    const accepted = await call();
    expect(accepted.isError).toBeUndefined();
    expect(asked.map(({ mode }) => mode)).toEqual(['url', 'url', 'url']);
    expect(asked.at(-1).url).toBe('https://example.com/pay');
  });
});

describe('input that is not in the schema', () => {
  spec.thorough('UPS-10', 'is rejected, although the server ignores it', async () => {
    const { workspace, server } = openWorkspace((here) => referenceServers(here)[0]!);
    const direct = await connectProcess(server);
    const input = { a: 1, b: 2, c: 3 };
    expect((await callDirect(direct, { tool: 'get-sum', input })).isError).toBeUndefined();
    const { error } = await workspace.toolbox().call('everything_get-sum', input);
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('c') });
  });
});

// It does not support port 0.
async function findFreePort(): Promise<string> {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  await new Promise((resolve) => taken.close(resolve));
  return String(port);
}

describe('the server everything over HTTP', () => {
  spec.thorough('UPS-10', 'is the same through wield serve', async () => {
    const workspace = createWorkspace();
    const port = await findFreePort();
    const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
      env: { ...workspace.env, PORT: port },
      stdio: 'ignore',
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const url = `http://127.0.0.1:${port}/mcp`;
    await until(
      () =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      'it listens',
    );
    configureServers(workspace, { everything: { url } });
    const direct = await connectDirect(new StreamableHTTPClientTransport(new URL(url)));
    const client = await connectPerson(workspace, 'newer', 'http', answer);
    expectSameList((await direct.listTools()).tools, (await client.listTools()).tools, 'everything');
    for (const call of EVERYTHING_CALLS.filter(({ tool }) => tool !== 'get-env')) {
      const ours = toToolName('everything', call.tool);
      const expected = await callDirect(direct, call);
      expectSame(expected, await callDirect(client, { ...call, tool: ours }), call, ours);
    }
  });
});
