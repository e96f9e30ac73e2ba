// Requests of servers to the client behind a call: sampling and roots, in every combination of protocol versions.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { logRecords } from '../../support/audit.js';
import { wield } from '../../support/cli.js';
import type { ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { EVERYTHING } from '../../support/reference-servers.js';
import { createServeTransport, serveUrl } from '../../support/serve.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { configureServers, protocolServer, said, type Wire } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ROOTS = { roots: [{ uri: 'file:///home/ada/site', name: 'site' }] };
const RED = { action: 'accept', content: { colour: 'red' } } as const;

interface Requested {
  readonly method: string;
  readonly text?: string;
  readonly server?: unknown;
}

interface Host {
  readonly client: Client;
  /** What the client was asked, in order. */
  readonly requested: Requested[];
}

type Capability = 'sampling' | 'roots' | 'elicitation';

/** Connects a client that samples a model, lists roots and answers forms, as far as it announces that. */
async function connectHost(
  workspace: Workspace,
  protocol: ProtocolVersion,
  wire: Wire,
  announced: readonly Capability[] = ['sampling', 'roots', 'elicitation'],
  answers: { decision?: string } = {},
): Promise<Host> {
  const client = new Client({ name: 'host', version: '1' }, {
    ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
    capabilities: Object.fromEntries(announced.map((name) => [name, {}])),
  } as never);
  const requested: Requested[] = [];
  if (announced.includes('sampling'))
    client.setRequestHandler('sampling/createMessage', async ({ params }) => {
      const [first] = params.messages as unknown as { content: { text: string } }[];
      const { text } = first!.content;
      requested.push({ method: 'sampling', text, server: params._meta?.['wield/server'] });
      return { role: 'assistant', model: 'test', content: { type: 'text', text: `${text} Said.` } } as never;
    });
  if (announced.includes('roots'))
    client.setRequestHandler('roots/list', async ({ params }) => {
      requested.push({ method: 'roots', server: params?._meta?.['wield/server'] });
      return ROOTS;
    });
  if (announced.includes('elicitation'))
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      requested.push({ method: 'elicitation', text: params.message });
      const isApproval = JSON.stringify(params).includes('decision');
      return isApproval ? { action: 'accept', content: { decision: answers.decision ?? 'run it once' } } : RED;
    });
  await client.connect(
    wire === 'stdio'
      ? createServeTransport(workspace, ['--trust'])
      : new StreamableHTTPClientTransport(new URL(await serveUrl(workspace, ['--trust']))),
  );
  onEnd(() => client.close());
  return { client, requested };
}

async function createFar(protocol: ProtocolVersion, wire: Wire, rules: readonly string[] = []): Promise<Workspace> {
  const workspace = createWorkspace();
  const upstream = await protocolServer(workspace, 'far', protocol, wire);
  configureServers(workspace, { far: upstream.entry });
  workspace.config(`[trust]\nrules = ${JSON.stringify(rules)}\n`);
  return workspace;
}

// Servers of the older version answer what they may not request with an error of the protocol, which is passed on.
const call = ({ client }: Host, name: string, input: Record<string, unknown> = {}): Promise<{ isError?: boolean }> =>
  client.callTool({ name, arguments: input }).catch(({ message }: Error) => ({
    isError: true,
    content: [{ type: 'text', text: message }],
  })) as Promise<{ isError?: boolean }>;
const answersOf = (result: unknown): Record<string, unknown> => JSON.parse(said(result));
const SAID = { role: 'assistant', model: 'test', content: { type: 'text', text: 'Say 0. Said.' } };

const COMBINATIONS: readonly (readonly [ProtocolVersion, Wire, ProtocolVersion, Wire])[] = [
  ['older', 'stdio', 'older', 'http'],
  ['older', 'http', 'newer', 'stdio'],
  ['newer', 'stdio', 'older', 'stdio'],
  ['newer', 'http', 'newer', 'http'],
];

describe.concurrent('sampling and roots', () => {
  for (const [at, [protocol, wire, door, doorWire]] of COMBINATIONS.entries()) {
    const prove = at === 2 ? spec : spec.thorough;
    prove('RSC-7', `reach the client: server ${protocol} ${wire}, client ${door} ${doorWire}`, async () => {
      const workspace = await createFar(protocol, wire);
      const host = await connectHost(workspace, door, doorWire);
      expect(answersOf(await call(host, 'far_sample'))).toEqual({ sample0: expect.objectContaining(SAID) });
      expect(answersOf(await call(host, 'far_roots'))).toMatchObject(ROOTS);
      // The SDK's client of the newer version drops the `_meta` of a request for sampling.
      expect(host.requested).toEqual([
        { method: 'sampling', text: 'Say 0.', server: door === 'older' ? 'far' : undefined },
        { method: 'roots', server: 'far' },
      ]);
      const all = answersOf(await call(host, 'far_everything'));
      expect(all).toMatchObject({ colour: RED, sample: { model: 'test' }, roots: ROOTS });
      expect(
        host.requested
          .slice(2)
          .map(({ method }) => method)
          .sort(),
      ).toEqual(['elicitation', 'roots', 'sampling']);
      // Each request is a nested call with its own decision.
      const records = logRecords(workspace).filter(({ tool }) => /^(sampling|roots):/.test(tool));
      expect(records.map(({ tool, verdict }) => `${tool} ${verdict}`)).toEqual(
        expect.arrayContaining(['sampling:far allow', 'roots:far allow']),
      );
      expect(records.every(({ parent }) => typeof parent === 'string')).toBe(true);
    });
  }

  for (const protocol of some(['older', 'newer'] as const, 1))
    spec('RSC-7', `follow rules, and are limited: server ${protocol}`, async () => {
      const workspace = await createFar(protocol, 'stdio', ['*:far($policy=deny)']);
      const use = (...rules: readonly string[]): void =>
        workspace.config(`[trust]\nrules = ${JSON.stringify(rules)}\n`);
      const answers = { decision: 'run it once' };
      const host = await connectHost(workspace, protocol, 'stdio', undefined, answers);
      const methods = (): string[] => host.requested.splice(0).map(({ method }) => method);
      for (const tool of ['far_sample', 'far_roots']) {
        const result = await call(host, tool);
        expect(result.isError, said(result)).toBe(true);
        if (protocol === 'newer') expect(said(result)).toContain('which a rule denies its server');
      }
      expect(methods()).toEqual([]);
      use('sampling:far($policy=ask)');
      expect(answersOf(await call(host, 'far_sample'))).toMatchObject({ sample0: { model: 'test' } });
      expect(host.requested[0]!.text).toContain('sampling:far');
      expect(methods()).toEqual(['elicitation', 'sampling']);
      answers.decision = 'do not run it';
      const declined = await call(host, 'far_sample');
      expect(declined.isError, said(declined)).toBe(true);
      expect(methods()).toEqual(['elicitation']);
      use();
      const flood = await call(host, 'far_sample', { times: 17 });
      expect(flood.isError).toBe(true);
      expect(said(flood)).toContain('more than 16 requests');

      const lacking = await connectHost(workspace, protocol === 'newer' ? 'older' : 'newer', 'stdio', ['elicitation']);
      const failed = await call(lacking, 'far_sample');
      expect(failed.isError).toBe(true);
      expect(said(failed)).toMatch(/needs a client that supports sampling|with the capability sampling/);
      expect(lacking.requested).toEqual([]);
    });

  spec('RSC-7 UPS-5', 'carry no secret of the configuration', async () => {
    const workspace = await createFar('newer', 'stdio');
    const upstream = await protocolServer(workspace, 'near', 'older', 'stdio');
    configureServers(workspace, { far: { ...upstream.entry, env: { SECRET: '${FAR_SECRET}' } } });
    workspace.env.FAR_SECRET = 'hunter2-hunter2';
    const host = await connectHost(workspace, 'newer', 'stdio');
    await call(host, 'far_sample');
    expect(host.requested).toHaveLength(1);
    expect(host.requested[0]!.text).not.toContain('hunter2');
  });

  spec.thorough(
    'RSC-7',
    'work with the reference server, which offers their tools only if the client has the capabilities',
    async () => {
      const workspace = createWorkspace();
      configureServers(workspace, { far: { command: process.execPath, args: [EVERYTHING, 'stdio'] } });
      const namesOf = async ({ client }: Host) => (await client.listTools()).tools.map(({ name }) => name);
      const host = await connectHost(workspace, 'newer', 'stdio');
      expect(await namesOf(host)).toEqual(
        expect.arrayContaining(['far_trigger-sampling-request', 'far_get-roots-list']),
      );
      const sampled = await call(host, 'far_trigger-sampling-request', { prompt: 'Hello' });
      expect(said(sampled)).toContain('Hello Said.');
      expect(said(await call(host, 'far_get-roots-list'))).toContain('file:///home/ada/site');
    },
  );

  spec.thorough('RSC-7 MOD-5', 'are available to typed tools, unless a rule denies it', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/tools/greet.tool.ts',
      `import { defineTool } from 'wield';
       export const greet = defineTool({
         name: 'greet',
         description: 'Greet.',
         inputSchema: { type: 'object', properties: {} },
         execute: async (_input, { requestClient }) => {
           const messages = [{ role: 'user', content: { type: 'text', text: 'Greet.' } }];
           const { content } = await requestClient('sampling', { messages, maxTokens: 5 });
           const { roots } = await requestClient('roots');
           return JSON.stringify([content.text, roots[0].uri]);
         },
       });`,
    );
    const host = await connectHost(workspace, 'newer', 'stdio');
    expect(JSON.parse(said(await call(host, 'greet')))).toEqual(['Greet. Said.', 'file:///home/ada/site']);
    workspace.config('[trust]\nrules = ["sampling:greet($policy=deny)"]\n');
    expect(said(await call(host, 'greet'))).toContain('sampling:greet was not run: a rule denies it');
    const shell = await wield(workspace, ['call', 'greet']);
    expect(shell.stderr).toContain('needs a client that supports sampling');
  });
});
