// Both protocol versions on both sides: calls work in every combination of server and client.

import type { Client, ElicitRequestParams, ElicitResult, Progress } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { connectAsking, connectPerson, connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { until } from '../../support/server.js';
import { share } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import {
  COMBINATIONS,
  configureServers,
  type EraServer,
  protocolServer,
  said,
  type Wire,
} from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

interface Scene {
  readonly client: Client;
  readonly upstream: EraServer;
  /** Questions that the person was asked. */
  readonly asked: ElicitRequestParams[];
  /** The next answers; accepts with the color red by default. */
  readonly answers: ElicitResult[];
}

const RED: ElicitResult = { action: 'accept', content: { colour: 'red' } };

async function open(protocol: ProtocolVersion, wire: Wire, door: ProtocolVersion, doorWire: Wire): Promise<Scene> {
  const workspace = createWorkspace();
  const upstream = await protocolServer(workspace, 'far', protocol, wire);
  configureServers(workspace, { far: upstream.entry });
  const asked: ElicitRequestParams[] = [];
  const answers: ElicitResult[] = [];
  const client = await connectPerson(workspace, door, doorWire, (params) => {
    asked.push(params);
    return answers.shift() ?? (params.mode === 'url' ? { action: 'accept' } : RED);
  });
  return { client, upstream, asked, answers };
}

const PARTS = [
  { type: 'text', text: 'words', annotations: { audience: ['user'], priority: 0.5 } },
  { type: 'image', data: 'aGk=', mimeType: 'image/png', _meta: { 'example.com/width': 3 } },
  { type: 'audio', data: 'aGk=', mimeType: 'audio/wav', annotations: { audience: ['assistant'] } },
  {
    type: 'resource_link',
    uri: 'mcp://far/demo://one',
    name: 'one',
    title: 'One',
    description: 'The first.',
    mimeType: 'text/plain',
    size: 3,
  },
  { type: 'resource', resource: { uri: 'mcp://far/demo://two', mimeType: 'text/plain', text: 'two' } },
  { type: 'resource', resource: { uri: 'mcp://far/demo://three', blob: 'aGk=' } },
];

for (const [protocol, wire, door, doorWire] of COMBINATIONS) {
  describe(`a server of the ${protocol} protocol over ${wire}, a client of the ${door} protocol over ${doorWire}`, () => {
    const scene = share(() => open(protocol, wire, door, doorWire));

    spec('UPS-10 TOOL-21', 'passes on every kind of content unchanged', async () => {
      const { client, upstream } = scene();
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === 'far_echo')).toMatchObject({
        title: 'Echo',
        description: 'About echo.',
        annotations: { readOnlyHint: true, openWorldHint: false },
        inputSchema: { properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] },
      });
      const parts = await client.callTool({ name: 'far_parts', arguments: {} });
      expect(parts.content).toEqual(PARTS);
      expect(parts.structuredContent).toEqual({ loose: true });
      expect(parts._meta?.['example.com/note']).toBe('kept');
      expect(parts.isError).toBeUndefined();
      const typed = await client.callTool({ name: 'far_typed', arguments: {} });
      expect(typed.structuredContent).toEqual({ count: 3 });
      const failed = await client.callTool({ name: 'far_fails', arguments: {} });
      expect(failed.isError).toBe(true);
      expect(failed.content).toEqual([
        { type: 'text', text: 'it did not work' },
        { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      ]);
      expect(failed._meta?.['wield/error']).toMatchObject({ code: 'tool_failed' });
      await expect(client.callTool({ name: 'far_refuses', arguments: {} })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringMatching(/^(MCP error -32602: )?not like this$/),
      });
      // A server that may have both versions is started once more, to see whether it has that of the client (UPS-105).
      expect(upstream.starts()).toHaveLength(protocol === 'newer' && door === 'older' && wire === 'stdio' ? 2 : 1);
    });

    spec.thorough('UPS-10', 'passes on questions and all kinds of answers', async () => {
      const { client, asked, answers } = scene();
      const call = async (name: string) => JSON.parse(said(await client.callTool({ name, arguments: {} })));
      expect(await call('far_ask')).toEqual(RED);
      expect(asked[0]).toMatchObject({
        message: 'far_ask asks:\nWhich colour?',
        requestedSchema: { properties: { colour: { type: 'string' } }, required: ['colour'] },
      });
      for (const action of ['decline', 'cancel'] as const) {
        answers.push({ action });
        expect(await call('far_ask')).toEqual({ action });
      }
      expect(await call('far_page')).toEqual({ action: 'accept' });
      expect(asked.at(-1)).toMatchObject({ mode: 'url', url: 'https://example.com/login' });
      answers.push(RED, { action: 'decline' });
      expect(await call('far_two')).toEqual([RED, { action: 'decline' }]);
      asked.length = 0;
      expect(await call('far_rounds')).toEqual([RED, RED, RED]);
      expect(asked.map(({ message }) => message.split('\n')[1])).toEqual(['Colour 1?', 'Colour 2?', 'Colour 3?']);
    });

    // Leaves a call open.
    spec('UPS-10', 'passes on progress and cancellation', async () => {
      const { client, upstream } = scene();
      const steps: Progress[] = [];
      const done = await client.callTool(
        { name: 'far_steps', arguments: {} },
        { onprogress: (step) => steps.push(step) },
      );
      expect(said(done)).toBe('done');
      expect(steps).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })));
      const stop = new AbortController();
      const gone = client.callTool({ name: 'far_slow', arguments: { name: 'one' } }, { signal: stop.signal });
      const other = client.callTool({ name: 'far_slow', arguments: { name: 'other' } });
      other.catch(() => {});
      await until(() => upstream.log().filter((line) => line.startsWith('began')).length === 2, 'both run');
      stop.abort();
      await expect(gone).rejects.toThrow();
      await until(() => upstream.log().includes('cancelled one'), 'the server hears that one is cancelled');
      expect(upstream.log()).not.toContain('cancelled other');
      expect(said(await client.callTool({ name: 'far_echo', arguments: { text: 'still here' } }))).toBe('still here');
    });
  });
}

describe('a server that asks a client without elicitation', () => {
  for (const protocol of some(['older', 'newer'] as const, 1))
    spec('UPS-10', `of the ${protocol} protocol gets the answer cancel`, async () => {
      const workspace = createWorkspace();
      const upstream = await protocolServer(workspace, 'far', protocol, 'stdio');
      configureServers(workspace, { far: upstream.entry });
      const client = await connectStdio(workspace, 'newer');
      const answer = await client.callTool({ name: 'far_ask', arguments: {} });
      expect(JSON.parse(said(answer))).toEqual({ action: 'cancel' });
      const run = await workspace.toolbox().call('far_ask', {});
      expect(JSON.parse(said(run))).toEqual({ action: 'cancel' });
    });
});

describe('a URL question to a client that supports only forms', () => {
  for (const protocol of some(['older', 'newer'] as const, 1))
    spec('UPS-10', `is cancelled for a server of the ${protocol} protocol`, async () => {
      const workspace = createWorkspace();
      const upstream = await protocolServer(workspace, 'far', protocol, 'stdio');
      configureServers(workspace, { far: upstream.entry });
      const client = await connectAsking(workspace, 'newer', 'stdio', () => RED);
      const asked = client.callTool({ name: 'far_page', arguments: {} });
      const answer = await asked.then(said, ({ message }: Error) => message);
      expect(answer).toMatch(/^(?:\[\w+\] )?this client cannot show a page to visit/);
      expect(said(await client.callTool({ name: 'far_echo', arguments: { text: 'on' } }))).toBe('on');
    });
});
