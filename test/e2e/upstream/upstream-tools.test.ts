// Tests of upstream tools in other tools: context.mcp and the four mcp_* tools.

import { describe, expect } from 'vitest';
import { type Caller, defineTool, type ToolContext } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectAsking, connectStdio } from '../../support/clients.js';
import { moduleText } from '../../support/modules.js';
import { spec } from '../../support/spec.js';
import { configureServers, countedServer } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };
const NAMES = ['ask', 'die', 'echo', 'environment', 'fails', 'parts', 'slow', 'typed', 'wipe'];
const DENY_ECHO = 'allowed-tools = ["*", "office_echo($deny)"]\n';

function createOffice(rules = ''): Workspace {
  const workspace = createWorkspace();
  configureServers(workspace, { office: countedServer(workspace, 'office').entry });
  if (rules !== '') workspace.config(rules);
  return workspace;
}

const reach = async (input: unknown, { mcp }: ToolContext) => {
  const { server, tool, args } = input as { server: string; tool: string; args: object };
  if (mcp === null) return { reached: false };
  const { content, error } = await mcp.call(server, tool, args);
  return {
    names: (await mcp.list()).map(({ server: of, name }) => `${of}/${name}`).sort(),
    said: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    ...(error === undefined ? {} : { code: error.code }),
  };
};

const REACH = defineTool({
  name: 'reach',
  description: 'Reach a tool of a server.',
  inputSchema: { type: 'object', additionalProperties: true },
  execute: reach,
});

const MODULE = moduleText('reach', String(reach));

describe('context.mcp', () => {
  for (const kind of ['a function', 'a module in the tool host'] as const) {
    const open = (workspace: Workspace) => {
      if (kind === 'a function') return workspace.toolbox({ tools: [REACH], trust: true });
      workspace.write('.agents/tools/reach.tool.mjs', MODULE);
      return workspace.toolbox({ trust: true });
    };

    spec.thorough('MOD-5 UPS-6', `${kind} lists the tools of servers and calls them`, async () => {
      const toolbox = open(createOffice());
      const { structured, error } = await toolbox.call('reach', {
        server: 'office',
        tool: 'echo',
        args: { text: 'hello' },
      });
      expect(error).toBeUndefined();
      expect(structured).toEqual({ names: NAMES.map((name) => `office/${name}`), said: 'hello' });
      const missing = await toolbox.call('reach', { server: 'office', tool: 'nothing', args: {} });
      expect(missing.structured).toMatchObject({ code: 'not_found' });
    });

    spec('MOD-5 UPS-6', `${kind} has the permissions of its caller`, async () => {
      const toolbox = open(createOffice(DENY_ECHO));
      const call = async (tool: string) =>
        (await toolbox.call('reach', { server: 'office', tool, args: {} }, { caller: MODEL })).structured;
      expect(await call('echo')).toEqual({
        names: NAMES.filter((name) => name !== 'echo').map((name) => `office/${name}`),
        said: '',
        code: 'denied',
      });
      expect(await call('wipe')).toMatchObject({ code: 'needs_approval' });
    });
  }
});

describe('the four tools', () => {
  spec.thorough('UPS-6', 'are offered only if requested', async () => {
    const workspace = createOffice();
    const namesWith = async (args: readonly string[]) => {
      const client = await connectStdio(workspace, 'newer', args);
      return (await client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('mcp_'));
    };
    const all = ['mcp_exec', 'mcp_info', 'mcp_list_tools', 'mcp_search'];
    expect(await namesWith(['--trust'])).toEqual([]);
    expect(await namesWith(['--trust', '--with', 'mcp'])).toEqual(all);
    workspace.config('[builtin]\noffer = ["mcp"]\n');
    expect(await namesWith(['--trust'])).toEqual(all);
    const toolbox = createOffice().toolbox();
    const refused = await toolbox.call('mcp_list_tools', {}, { caller: MODEL });
    expect(refused.error?.code).toBe('not_found');
  });

  spec('UPS-6', 'list, search, describe and call upstream tools', async () => {
    const toolbox = createOffice().toolbox({ offer: ['mcp'] });
    const call = async (name: string, input: object) => toolbox.call(name, input, { caller: MODEL });
    const listed = (await call('mcp_list_tools', {})).structured as { tools: { tool: string }[] };
    expect(listed.tools.map(({ tool }) => tool).sort()).toEqual(NAMES);
    expect(listed.tools.find(({ tool }) => tool === 'echo')).toEqual({
      server: 'office',
      tool: 'echo',
      name: 'office_echo',
      description: 'Say it again.',
    });
    const found = (await call('mcp_search', { query: 'say again', limit: 1 })).structured;
    expect(found).toMatchObject({ tools: [{ server: 'office', tool: 'echo' }] });
    const info = (await call('mcp_info', { server: 'office', tool: 'typed' })).structured;
    expect(info).toMatchObject({
      name: 'office_typed',
      description: 'Declare what it returns.',
      input: { properties: { valid: { type: 'boolean' } } },
      output: { required: ['count'] },
    });
    const said = await call('mcp_exec', { server: 'office', tool: 'echo', args: { text: 'hello' } });
    expect(said.content).toEqual([{ type: 'text', text: 'hello' }]);
    const parts = await call('mcp_exec', { server: 'office', tool: 'parts' });
    const direct = await call('office_parts', {});
    expect(parts.content).toEqual(direct.content);
    expect(parts.structured).toEqual(direct.structured);
    for (const [server, tool, near] of [
      ['office', 'ecko', 'echo'],
      ['offise', 'echo', 'office'],
    ]) {
      const { error } = await call('mcp_exec', { server, tool });
      expect([error?.code, error?.hint]).toEqual(['not_found', expect.stringContaining(near!)]);
    }
    const failed = await call('mcp_exec', { server: 'office', tool: 'fails' });
    const failedDirect = await call('office_fails', {});
    expect(failed.error).toEqual(failedDirect.error);
    expect(failed.content).toEqual(failedDirect.content);
  });

  spec('UPS-6 POL-8', 'neither list nor call denied tools', async () => {
    const toolbox = createOffice(DENY_ECHO).toolbox({ offer: ['mcp'] });
    const answers = [];
    for (const [name, input] of [
      ['mcp_list_tools', {}],
      ['mcp_list_tools', { server: 'office' }],
      ['mcp_search', { query: 'say it again', limit: 100 }],
      ['mcp_info', { server: 'office', tool: 'ech' }],
      ['mcp_exec', { server: 'office', tool: 'ech' }],
    ] as const)
      answers.push(await toolbox.call(name, input, { caller: MODEL }));
    const said = JSON.stringify(answers);
    expect(said).toContain('office_typed');
    expect(said).not.toMatch(/office_echo|Say it again|"echo"|did you mean echo/);
    for (const name of ['mcp_info', 'mcp_exec']) {
      const { error } = await toolbox.call(name, { server: 'office', tool: 'echo' }, { caller: MODEL });
      expect(error?.code).toBe('not_found');
    }
  });

  spec('UPS-6 POL-5', 'ask before a destructive tool runs, like a direct call', async () => {
    const workspace = createOffice('[builtin]\noffer = ["mcp"]\n');
    const { error } = await workspace.toolbox().call('mcp_exec', { server: 'office', tool: 'wipe' }, { caller: MODEL });
    expect(error).toMatchObject({ code: 'needs_approval', message: expect.stringContaining('office_wipe') });
    for (const protocol of ['older', 'newer'] as const) {
      const asked: string[] = [];
      const client = await connectAsking(workspace, protocol, 'stdio', (message) => {
        asked.push(message);
        return { action: 'accept', content: { decision: 'run it once' } };
      });
      const result = await client.callTool({
        name: 'mcp_exec',
        arguments: { server: 'office', tool: 'wipe' },
      });
      expect(result.content).toEqual([{ type: 'text', text: 'gone' }]);
      expect(asked).toHaveLength(1);
      expect(asked[0]).toContain('office_wipe');
    }
  });

  spec('UPS-6', 'are callable by a person without being offered', async () => {
    const workspace = createOffice();
    const run = await wield(workspace, [
      'call',
      'mcp_exec',
      '--json',
      '--input',
      '{"server":"office","tool":"echo","args":{"text":"hi"}}',
    ]);
    expect(json(run).content).toEqual([{ type: 'text', text: 'hi' }]);
  });
});
