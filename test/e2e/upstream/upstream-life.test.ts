// Tests of servers that change or restart while they are used.

import { describe, expect } from 'vitest';
import { callTool, connectPerson, connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { listen } from '../../support/http.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { COMBINATIONS, configureServers, countedServer, protocolServer, said } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

describe('a server whose tools change', () => {
  for (const [protocol, wire, door, doorWire] of some(COMBINATIONS, 1))
    spec(
      'UPS-12',
      `${protocol} over ${wire} tells it to a client of the ${door} protocol over ${doorWire}`,
      async () => {
        const workspace = createWorkspace();
        const upstream = await protocolServer(workspace, 'far', protocol, wire);
        configureServers(workspace, { far: upstream.entry });
        let told = 0;
        const client = await connectPerson(workspace, door, doorWire, () => ({ action: 'cancel' }), {
          onListChanged: () => told++,
        });
        const names = async () => (await client.listTools()).tools.map(({ name }) => name);
        expect(await names()).toContain('far_count');
        expect(said(await client.callTool({ name: 'far_grow', arguments: {} }))).toBe('grown');
        await until(() => told > 0, 'the client is told');
        const now = await names();
        expect(now).toContain('far_grown');
        expect(now).not.toContain('far_count');
        expect(said(await client.callTool({ name: 'far_grown', arguments: {} }))).toBe('grown');
        const gone = await callTool(client, 'far_count');
        expect(gone.isError).toBe(true);
        expect(said(gone)).toMatch(/^\[not_found\] .*far_count/);
        expect(upstream.log()).not.toContain('counted');
      },
    );
});

describe('a server of an untrusted workspace', () => {
  spec('UPS-12 POL-20', 'is not started, and a call of its tools fails with the reason', async () => {
    const workspace = createWorkspace();
    const upstream = countedServer(workspace, 'far');
    workspace.write('.mcp.json', JSON.stringify({ mcpServers: { far: upstream.entry } }));
    const toolbox = workspace.toolbox();
    for (const kind of ['model', 'person', 'code'] as const)
      for (const ref of ['mcp://far/echo', 'far_echo']) {
        const { error } = await toolbox.call(ref, { text: 'a' }, { caller: { kind, door: 'library' } });
        expect(error).toMatchObject({ code: 'needs_trust', hint: expect.stringContaining('wield trust') });
      }
    expect(upstream.starts()).toEqual([]);
  });
});

describe('a server over HTTP', () => {
  spec.thorough('UPS-11', 'that lost the session is initialized again, and the call runs once', async () => {
    const workspace = createWorkspace();
    const upstream = await protocolServer(workspace, 'far', 'older', 'http');
    configureServers(workspace, { far: upstream.entry });
    const client = await connectStdio(workspace, 'newer');
    const call = async () => said(await client.callTool({ name: 'far_count', arguments: {} }));
    expect(await call()).toBe('counted');
    await upstream.restart();
    expect(await call()).toBe('counted');
    expect(upstream.log().filter((line) => line === 'counted')).toHaveLength(2);
    expect(await call()).toBe('counted');
  });

  spec.thorough('UPS-11', 'of the newer protocol needs no session: after a restart it just responds', async () => {
    const workspace = createWorkspace();
    const upstream = await protocolServer(workspace, 'far', 'newer', 'http');
    configureServers(workspace, { far: upstream.entry });
    const client = await connectStdio(workspace, 'newer');
    const call = async () => said(await client.callTool({ name: 'far_count', arguments: {} }));
    expect(await call()).toBe('counted');
    await upstream.restart();
    expect(await call()).toBe('counted');
    expect(upstream.log().filter((line) => line === 'counted')).toHaveLength(2);
  });

  for (const protocol of some(['older', 'newer'] as const, 1))
    spec('UPS-11', `of the ${protocol} protocol that exits during a call is not called again`, async () => {
      const workspace = createWorkspace();
      const upstream = await protocolServer(workspace, 'far', protocol, 'http');
      configureServers(workspace, { far: upstream.entry });
      const toolbox = workspace.toolbox();
      const call = toolbox.call('far_slow', { name: 'one' });
      await until(() => upstream.log().includes('began one'), 'it runs');
      await upstream.restart();
      const { error } = await call;
      expect(error).toMatchObject({ code: 'exec_failed', message: expect.stringContaining('far_slow') });
      expect(upstream.log().filter((line) => line === 'began one')).toHaveLength(1);
      expect((await toolbox.call('far_echo', { text: 'again' })).content).toEqual([{ type: 'text', text: 'again' }]);
    });

  spec('UPS-10', 'of the newer protocol gets parameters in headers as its schema requires', async () => {
    const workspace = createWorkspace();
    const upstream = await protocolServer(workspace, 'far', 'newer', 'http');
    configureServers(workspace, { far: upstream.entry });
    const toolbox = workspace.toolbox();
    const result = await toolbox.call('far_region', { region: 'north', note: 'not in a header' });
    expect(said(result)).toBe('north not in a header');
    expect(upstream.log()).toContain('POST tools/call region north -');
    const without = await toolbox.call('far_region', { note: 'alone' });
    expect(said(without)).toBe('undefined alone');
    expect(upstream.log()).toContain('POST tools/call region - -');
    const refused = await toolbox.call('far_region', { region: 'nowhere' });
    expect(refused.error).toMatchObject({
      code: 'tool_failed',
      message: 'the server refused far_region: there is no such region',
    });
    const answer = { action: 'accept', content: { colour: 'red' } } as const;
    const asked = await toolbox.call('far_region', { region: 'which' }, { elicit: async () => answer });
    expect(JSON.parse(said(asked))).toEqual(answer);
  });

  for (const protocol of some(['older', 'newer'] as const, 1))
    spec.thorough(
      'UPS-10 CTX-1',
      `of the ${protocol} protocol gives large results, which become handles for a model`,
      async () => {
        const workspace = createWorkspace();
        const upstream = await protocolServer(workspace, 'far', protocol, 'http');
        configureServers(workspace, { far: upstream.entry });
        const size = 5_000_000;
        const whole = await workspace.toolbox().call('far_large', { size }, { full: true });
        expect(said(whole)).toBe('0123456789'.repeat(size / 10));
        const client = await connectStdio(workspace, 'newer');
        const shown = await client.callTool({ name: 'far_large', arguments: { size } });
        expect(said(shown).length).toBeLessThan(20_000);
        expect(said(shown)).toContain('read_result');
        const small = await client.callTool({ name: 'far_large', arguments: { size: 9000 } });
        expect(said(small)).toBe('0123456789'.repeat(900));
      },
    );

  spec('UPS-21', 'that requires a login fails with the login command as hint', async () => {
    const workspace = createWorkspace();
    const { origin } = await listen((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    });
    configureServers(workspace, { far: { url: `${origin}/mcp` } });
    const toolbox = workspace.toolbox();
    for (const ref of ['mcp://far/echo', 'far_echo'])
      expect((await toolbox.call(ref, {})).error).toMatchObject({
        code: 'unavailable',
        hint: expect.stringContaining('wield mcp login far'),
      });
    // Other names are not found.
    expect((await toolbox.call('near_echo', {})).error?.code).toBe('not_found');
  });
});
