// Subscriptions to resources: of upstream servers in all combinations of protocol versions, of wield, and of programs.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { createToolbox, defineResource } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { connectHttp, connectStdio, connectUrl, type ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { serveUrl } from '../../support/serve.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { COMBINATIONS, configureServers, protocolServer } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const OFFERS_SERVER = fileURLToPath(new URL('../../support/offers-server.mjs', import.meta.url));
const ONE = 'mcp://far/note://one';
const CHANGED = JSON.stringify({ path: 'a.md', content: '2', on_conflict: 'overwrite' });
const TWO = 'mcp://far/note://two';

/** Follows a resource; the returned function ends that. */
async function follow(client: Client, protocol: ProtocolVersion, uri: string): Promise<() => Promise<unknown>> {
  if (protocol === 'older') {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  }
  const stream = await client.listen({ resourceSubscriptions: [uri] });
  expect(stream.honoredFilter.resourceSubscriptions).toEqual([uri]);
  return () => stream.close();
}

const connect = (workspace: Workspace, protocol: ProtocolVersion, wire: 'stdio' | 'http'): Promise<Client> =>
  wire === 'stdio' ? connectStdio(workspace, protocol) : connectHttp(workspace, protocol);

/** Collects the URIs of updates that a client is told of. */
function collect(client: Client): string[] {
  const told: string[] = [];
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri));
  return told;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.concurrent('updates of a server', () => {
  for (const [serverVersion, serverWire, version, wire] of some(COMBINATIONS, 1)) {
    const about = `${serverVersion} ${serverWire} to ${version} ${wire}`;
    spec('RSC-6 UPS-70', `reach the client that asked, also after a restart: ${about}`, async () => {
      const workspace = createWorkspace();
      const server = await protocolServer(workspace, 'far', serverVersion, serverWire);
      configureServers(workspace, { far: server.entry });
      const client = await connect(workspace, version, wire);
      await client.listTools();
      const told = collect(client);
      const touch = (uri: string) => client.callTool({ name: 'far_touch', arguments: { uri } });
      const end = await follow(client, version, ONE);
      await touch('note://two');
      await touch('note://one');
      await until(() => told.length > 0, 'the update arrives');
      expect(told).toEqual([ONE]);
      if (serverWire === 'http') await server.restart();
      else process.kill(server.starts().at(-1)!, 'SIGKILL');
      // What changed while it was away is not known.
      await until(() => told.length > 1, 'the client is told to read again');
      const before = told.length;
      await until(async () => {
        await touch('note://one').catch(() => {});
        await pause(100);
        return told.length > before;
      }, 'an update after the restart arrives');
      await end();
      // Updates that were sent before may arrive later.
      let last = -1;
      while (last !== told.length) {
        last = told.length;
        await pause(300);
      }
      await touch('note://one');
      await pause(300);
      expect(told).toEqual(Array.from({ length: last }, () => ONE));
    });
  }

  spec.thorough('RSC-6', 'end at the server with the last client', async () => {
    const workspace = createWorkspace();
    const server = await protocolServer(workspace, 'far', 'older', 'stdio');
    configureServers(workspace, { far: server.entry });
    const url = await serveUrl(workspace, ['--trust']);
    const [first, second] = [await connectUrl(url, 'older'), await connectUrl(url, 'newer')];
    await first.listTools();
    await follow(first, 'older', ONE);
    await follow(first, 'older', TWO);
    await follow(second, 'newer', ONE);
    await (first.transport as StreamableHTTPClientTransport).terminateSession();
    const ended = () => server.log().filter((line) => line.startsWith('unsubscribe'));
    await until(() => ended().length > 0, 'a subscription ends');
    await pause(300);
    expect(ended()).toEqual(['unsubscribe note://two']);
    await second.close();
    await until(() => ended().length > 1, 'the other ends');
    expect(ended()[1]).toBe('unsubscribe note://one');
  });
});

describe.concurrent('a subscription', () => {
  spec('RSC-6 RSC-1', 'is refused if the resource may not be read, and hears nothing once it is denied', async () => {
    const workspace = createWorkspace();
    const server = await protocolServer(workspace, 'far', 'older', 'stdio');
    configureServers(workspace, { far: server.entry });
    workspace.config(`[trust]\nrules = ["resource:${ONE}($deny)"]\n`);
    const older = await connectStdio(workspace, 'older');
    await older.listTools();
    await expect(older.subscribeResource({ uri: ONE })).rejects.toMatchObject({
      message: expect.stringContaining('[denied]'),
    });
    await expect(older.subscribeResource({ uri: 'mcp://absent/note://one' })).rejects.toMatchObject({ code: -32602 });
    const newer = await connectStdio(workspace, 'newer');
    const stream = await newer.listen({ resourceSubscriptions: [ONE, TWO], toolsListChanged: true });
    expect(stream.honoredFilter).toEqual({ resourceSubscriptions: [TWO], toolsListChanged: true });
    const told = collect(newer);
    const touch = () => newer.callTool({ name: 'far_touch', arguments: { uri: 'note://two' } });
    await touch();
    await until(() => told.length > 0, 'the update arrives');
    workspace.config(`[trust]\nrules = ["resource:*note*($deny)"]\n`);
    await touch();
    await pause(300);
    expect(told).toEqual([TWO]);
  });

  spec.thorough('RSC-6', 'to a server that has none is an error', async () => {
    const workspace = createWorkspace();
    const file = join(workspace.home, 'offers.json');
    writeFileSync(file, JSON.stringify({ resources: [{ uri: 'notes://one', name: 'one' }] }));
    const args = [OFFERS_SERVER, join(workspace.home, 'far.starts'), file];
    configureServers(workspace, { far: { command: process.execPath, args } });
    const client = await connectStdio(workspace, 'older');
    await client.listTools();
    await expect(client.subscribeResource({ uri: 'mcp://far/notes://one' })).rejects.toMatchObject({
      message: expect.stringContaining('does not support subscriptions'),
    });
  });

  spec('RSC-6', 'follows what a program defines, until it ends', async () => {
    const { toolbox, change } = createWatched();
    const { result } = await toolbox.catalog.resources.subscribe('note://absent', () => {});
    expect(result.error?.code).toBe('not_found');
    let told = 0;
    const { result: ok, end } = await toolbox.catalog.resources.subscribe('note://kept', () => void told++);
    expect(ok.ok).toBe(true);
    change();
    end();
    change();
    expect(told).toBe(1);
  });

  for (const protocol of some(['older', 'newer'] as const, 1))
    spec('RSC-6', `follows skills and documents, for a client of the ${protocol} version`, async () => {
      const workspace = createWorkspace();
      const skill = (text: string) =>
        workspace.write('.agents/skills/notes/SKILL.md', `---\nname: notes\ndescription: Notes.\n---\n${text}\n`);
      skill('Write.');
      const client = await connectStdio(workspace, protocol, ['--trust', '--with', 'context']);
      await client.callTool({ name: 'context_write', arguments: { path: 'a.md', content: '1' } });
      const told = collect(client);
      await follow(client, protocol, 'skill://notes/SKILL.md');
      await follow(client, protocol, 'context://a.md');
      skill('Write it down.');
      await until(() => told.includes('skill://notes/SKILL.md'), 'the skill is announced');
      await wield(workspace, ['call', 'context_write', '--input', CHANGED]);
      await until(() => told.includes('context://a.md'), 'the document is announced');
    });
});

function createWatched() {
  let listener = (): void => {};
  const kept = defineResource({
    uri: 'note://kept',
    name: 'kept',
    read: () => 'kept',
    watch: (_uri, onChange) => {
      listener = onChange;
      return () => {
        listener = () => {};
      };
    },
  });
  return { toolbox: createToolbox({ tools: [], resources: [kept] }), change: () => listener() };
}
