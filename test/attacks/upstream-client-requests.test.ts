// A hostile server that asks the client behind a call: for context of other servers, too much, too late, or another client.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { createServeTransport, serveUrl } from '../support/serve.js';
import { until } from '../support/server.js';
import { onEnd } from '../support/share.js';
import { spec } from '../support/spec.js';
import { configureServers, protocolServer, said } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const SERVER = fileURLToPath(new URL('../support/asking-server.mjs', import.meta.url));

function createAsking(config = '') {
  const workspace = createWorkspace();
  const file = join(workspace.home, 'far.log');
  configureServers(workspace, { far: { command: process.execPath, args: [SERVER, file] } });
  workspace.config(config);
  return { workspace, log: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []) };
}

/** Connects a client that consents to all requests, and notes them; by URL in the newer protocol version. */
async function connect(at: Workspace | string, root = 'one') {
  const isNewer = typeof at === 'string';
  const client = new Client({ name: 'same', version: '1' }, {
    ...(isNewer ? { versionNegotiation: { mode: 'auto' } } : {}),
    capabilities: { sampling: { context: {} }, roots: {} },
  } as never);
  const sampled: Record<string, unknown>[] = [];
  client.setRequestHandler('sampling/createMessage', async ({ params }) => {
    sampled.push(params as never);
    return { role: 'assistant', model: 'test', content: { type: 'text', text: 'Said.' } } as never;
  });
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file:///${root}` }] }));
  await client.connect(
    isNewer ? new StreamableHTTPClientTransport(new URL(at)) : createServeTransport(at, ['--trust']),
  );
  onEnd(() => client.close());
  const call = async (tool: string) => said(await client.callTool({ name: `far_${tool}`, arguments: {} }));
  return { client, call, sampled };
}

describe.concurrent('a hostile server', () => {
  spec('RSC-7', 'gets no context of other servers by asking for that of "this server"', async () => {
    const { call, sampled } = await connect(createAsking().workspace);
    expect(await call('context')).toContain('Said.');
    expect(sampled[0]).toMatchObject({ includeContext: 'none' });
    // What it could ask a client directly, the client decides on.
    await call('everywhere');
    expect(sampled[1]).toMatchObject({ includeContext: 'allServers' });
  });

  spec('RSC-7', 'sends a limited number of requests of a limited size', async () => {
    const { call, sampled } = await connect(createAsking().workspace);
    expect(await call('flood')).toBe('{"answered":16}');
    expect(sampled).toHaveLength(16);
    expect(await call('large')).toContain('error');
    expect(sampled).toHaveLength(16);
  });

  spec('RSC-7', 'asks nobody when no call runs', async () => {
    const { workspace, log } = createAsking();
    const { call, sampled } = await connect(workspace);
    await call('late');
    await until(() => log().length === 2, 'the late requests are answered');
    expect(log()).toEqual(['roots/list true', 'sampling/createMessage true']);
    expect(sampled).toEqual([]);
  });

  spec('RSC-7', 'asks nothing that a rule about it denies', async () => {
    const { call, sampled } = await connect(
      createAsking('[trust]\nrules = ["{sampling,roots}:far($deny)"]\n').workspace,
    );
    expect(await call('context')).toContain('error');
    expect(await call('roots')).not.toContain('file:');
    expect(sampled).toEqual([]);
  });

  spec('UPS-106', 'asks the client of the call, also if two without a session have the same name', async () => {
    const { workspace, log } = createAsking();
    const url = await serveUrl(workspace, ['--trust']);
    const [one, other] = [await connect(url, 'one'), await connect(url, 'other')];
    const first = one.call('slow');
    await until(() => log().includes('began'), 'the first call runs');
    expect(await other.call('roots')).toContain('file:///other');
    expect(await first).toContain('file:///one');
  });

  spec.thorough('UPS-106', 'asks nobody if its connection has calls of several clients', async () => {
    const workspace = createWorkspace();
    const far = await protocolServer(workspace, 'far', 'older', 'http');
    configureServers(workspace, { far: far.entry });
    const url = await serveUrl(workspace, ['--trust']);
    const [one, other] = [await connect(url, 'one'), await connect(url, 'other')];
    const stop = new AbortController();
    // All connections that a server may have.
    for (let at = 0; at < 16; at++) {
      const input = { name: 'far_slow', arguments: { name: `n${at}` } };
      one.client.callTool(input, { signal: stop.signal }).catch(() => {});
      await until(() => far.log().includes(`began n${at}`), 'the call runs');
    }
    const answer = await other.call('roots').catch(String);
    expect(answer).toContain('calls of several clients');
    stop.abort();
  });
});
