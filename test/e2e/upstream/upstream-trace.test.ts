// Trace context reaches upstream servers.

import { describe, expect } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { connectHttp, connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { spec } from '../../support/spec.js';
import { COMBINATIONS, configureServers, protocolServer, said } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const TRACE = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'vendor=1',
  baggage: 'user=ada',
};

describe.concurrent('trace context', () => {
  for (const [serverVersion, serverWire, version, wire] of some(COMBINATIONS, 1))
    spec('UPS-72', `reaches a server: ${serverVersion} ${serverWire} from ${version} ${wire}`, async () => {
      const workspace = createWorkspace();
      const server = await protocolServer(workspace, 'far', serverVersion, serverWire);
      configureServers(workspace, { far: server.entry });
      const client = await (wire === 'stdio' ? connectStdio : connectHttp)(workspace, version);
      const metaOf = async (_meta: object) =>
        JSON.parse(said(await client.callTool({ name: 'far_meta', arguments: {}, _meta } as never)));
      expect(await metaOf(TRACE)).toMatchObject(TRACE);
      const invalid = await metaOf({ traceparent: 'nonsense', tracestate: 'a=1', baggage: 'b=2' });
      expect(Object.keys(invalid).filter((key) => key in TRACE)).toEqual([]);
      const partly = await metaOf({ ...TRACE, tracestate: 'x'.repeat(600), baggage: 'a\nb' });
      expect(Object.keys(partly).filter((key) => key in TRACE)).toEqual(['traceparent']);
    });

  spec('UPS-72', 'reaches a server through a tool that calls it', async () => {
    const workspace = createWorkspace();
    const server = await protocolServer(workspace, 'far', 'newer', 'stdio');
    configureServers(workspace, { far: server.entry });
    const outer = defineTool({
      name: 'outer',
      description: 'Calls the server.',
      inputSchema: { type: 'object', properties: {} },
      execute: async (_input, { toolbox }) => ({ inner: await toolbox.call('far_meta', {}) }),
    });
    const toolbox = workspace.toolbox({ tools: [outer] });
    await toolbox.list();
    const { structured } = await toolbox.call('outer', {}, { trace: TRACE });
    expect(JSON.stringify(structured)).toContain(TRACE.traceparent);
  });
});
