// Results in the protocol: structured output in both protocol versions, and errors.

import { describe, expect } from 'vitest';
import { connectOlderSdk, connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { serveHere } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const returning = (type: string, output: string): string =>
  `#!/bin/sh\n# @description Return.\n# @returns ${type} It\ncat <<'EOF'\n${output}\nEOF\n`;

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('object', returning('object', '{"a":1}'));
  workspace.script('list', returning('array', '[1,2]'));
  workspace.script('number', returning('number', '7'));
  workspace.script('wrong', returning('object', 'no JSON at all'));
  workspace.script('plain', '#!/bin/sh\n# @description Print JSON.\necho \'{"a":1}\'\n');
  workspace.script('fails', `${returning('object', '{"a":1}')}exit 4\n`);
  return workspace;
}

for (const protocol of ['older', 'newer'] as const satisfies readonly ProtocolVersion[]) {
  describe(`structured output, ${protocol} protocol version`, () => {
    spec.thorough('SRV-3', 'sends an object as structured content that matches the output schema', async () => {
      const client = await connectStdio(createTools(), protocol);
      const { tools } = await client.listTools();
      expect(tools.find((tool) => tool.name === 'object')?.outputSchema).toMatchObject({ type: 'object' });
      const result = await client.callTool({ name: 'object', arguments: {} });
      expect(result.structuredContent).toEqual({ a: 1 });
      expect(result.content).toEqual([{ type: 'text', text: '{"a":1}\n' }]);
    });

    spec.thorough('SRV-3', 'sends other values in the form of the protocol version', async () => {
      const client = await connectStdio(createTools(), protocol);
      await client.listTools();
      for (const [name, value] of [
        ['list', [1, 2]],
        ['number', 7],
      ] as const) {
        const result = await client.callTool({ name, arguments: {} });
        expect(result.isError ?? false).toBe(false);
        // Older clients accept only objects.
        const expected = protocol === 'newer' ? value : { result: value };
        expect(result.structuredContent).toEqual(expected);
      }
    });

    spec('SRV-3', 'sends only text without an output schema', async () => {
      const client = await connectStdio(createTools(), protocol);
      const result = await client.callTool({ name: 'plain', arguments: {} });
      expect(result.content).toEqual([{ type: 'text', text: '{"a":1}\n' }]);
      expect(result.structuredContent).toBeUndefined();
    });

    spec.thorough('SRV-3', 'sends errors in text and _meta, never in structured content', async () => {
      const client = await connectStdio(createTools(), protocol);
      await client.listTools();
      for (const [name, code] of [
        ['fails', 'tool_failed'],
        ['wrong', 'invalid_output'],
      ] as const) {
        const result = await client.callTool({ name, arguments: {} });
        expect(result.isError).toBe(true);
        expect(result.structuredContent).toBeUndefined();
        expect(result._meta?.['wield/error']).toMatchObject({ code, hint: expect.any(String) });
        const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
        expect(text).toContain(`[${code}]`);
        expect(text).toContain('hint: ');
      }
    });
  });
}

describe('validating clients', () => {
  spec.thorough('SRV-3', 'the first generation of the SDK accepts every result', async () => {
    const client = await connectOlderSdk(createTools());
    await client.listTools();
    expect((await client.callTool({ name: 'object', arguments: {} })).structuredContent).toEqual({ a: 1 });
    expect((await client.callTool({ name: 'list', arguments: {} })).isError ?? false).toBe(false);
    expect((await client.callTool({ name: 'fails', arguments: {} })).isError).toBe(true);
    expect((await client.callTool({ name: 'wrong', arguments: {} })).isError).toBe(true);
  });

  spec('SRV-3', '_meta reports repaired input and truncated output', async () => {
    const workspace = createWorkspace();
    workspace.config('[limits]\noutput = "1K"\n');
    workspace.script('count', '#!/bin/sh\n# @description Count.\n# @param *n integer N\necho "$WIELD_PARAM_N"\n');
    workspace.script('flood', '#!/bin/sh\n# @description Flood.\nyes | head -c 100000\n');
    const server = serveHere(workspace);
    await server.initialize();
    const repaired = await server.request(1, 'tools/call', { name: 'count', arguments: { n: '3' } });
    expect(repaired.result.content).toEqual([{ type: 'text', text: '3\n' }]);
    expect(repaired.result._meta['wield/repaired']).toEqual([{ path: '/n', repair: 'text parsed as JSON' }]);
    const cut = await server.request(2, 'tools/call', { name: 'flood', arguments: {} });
    expect(cut.result._meta['wield/truncated']).toMatchObject({ limitBytes: 1024 });
  });

  spec('SRV-3', '__proto__ and similar names are ordinary unknown tools, parameters and paths (A51)', async () => {
    const server = serveHere(createTools());
    await server.initialize();
    for (const name of ['__proto__', 'constructor', 'toString', '', '../greet', 'a'.repeat(1000)]) {
      const { error } = await server.request(`call ${name}`, 'tools/call', { name, arguments: {} });
      expect(error.code, name).toBe(-32602);
      if (error.data) expect(['not_found', 'invalid_ref']).toContain(error.data['wield/error'].code);
    }
    server.send(
      '{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"plain","arguments":{"__proto__":1}}}',
    );
    const answer = await server.receive(({ id }) => id === 'p');
    expect(answer.error ?? answer.result.isError).toBeTruthy();
    const paths = serveHere(createTools(), { args: ['--trust', '--with', 'context'] });
    await paths.initialize();
    for (const path of ['__proto__', '__proto__/polluted', 'constructor/prototype']) {
      const read = { name: 'context_read', arguments: { path } };
      const { result } = await paths.request(`read ${path}`, 'tools/call', read);
      expect(result._meta['wield/error'].code, path).toBe('not_found');
    }
  });
});
