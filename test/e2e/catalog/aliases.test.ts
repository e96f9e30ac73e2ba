// Aliases: what a model sees of a tool, while rules, approvals and records are about the original.

import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { spec } from '../../support/spec.js';
import { createUpstreamWorkspace, remoteTool, type UpstreamWorkspace } from '../../support/upstream-workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const ALIAS =
  '[tools.hub_issue]\nname = "report"\ndescription = "Report a bug."\nhide = ["labels"]\n' +
  'fixed = { repo = "acme/site" }\n';

function createHub(config = ALIAS): UpstreamWorkspace {
  const workspace = createUpstreamWorkspace({ hub: { mode: 'changing' } });
  const properties = { repo: { type: 'string' }, title: { type: 'string' }, labels: { type: 'string' } };
  workspace.tools('hub', [
    remoteTool('issue', { inputSchema: { type: 'object', properties, required: ['repo', 'title'] } }),
    remoteTool('other'),
  ]);
  workspace.config(config);
  return workspace;
}

describe('an alias', () => {
  spec('RES-48', 'is all that a model sees of the tool, and the fixed values are set', async () => {
    const workspace = createHub();
    const client = await connectStdio(workspace, 'newer');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['report', 'hub_other', 'query_result', 'read_result']);
    expect(tools[0]).toMatchObject({
      description: 'Report a bug.',
      inputSchema: { properties: { title: { type: 'string' } }, required: ['title'] },
    });
    expect(JSON.stringify(tools)).not.toContain('hub_issue');
    const call = async (name: string, args: Record<string, unknown>) => {
      const { content, _meta } = await client.callTool({ name, arguments: args });
      const { code } = (_meta?.['wield/error'] ?? {}) as { code?: string };
      return { code, text: (content as { text: string }[])[0]!.text };
    };
    expect(await call('report', { title: 'Broken' })).toMatchObject({ code: undefined });
    expect(await call('report', { title: 'x', repo: 'other/place' })).toMatchObject({ code: 'invalid_input' });
    const hidden = await call('report', { title: 'x', labels: 'y' });
    expect(hidden.text).toBe('[invalid_input] unknown parameter "labels"\nhint: report takes title');
    for (const name of ['hub_issue', 'mcp://hub/issue'])
      await expect(call(name, { repo: 'a', title: 'b' })).rejects.toThrow('not_found');
    await expect(call('hub_issu', {})).rejects.not.toThrow('hub_issue');
    const { records } = json(await wield(workspace, ['audit', '--json']));
    expect(records[0]).toMatchObject({ tool: 'hub_issue' });
  });

  spec('RES-48', 'is not what a person or a program is shown', async () => {
    const workspace = createHub(`${ALIAS}[results]\nschemas = false\n`);
    const typed = { outputSchema: { type: 'object', properties: { n: { type: 'integer' } } } };
    workspace.tools('hub', [remoteTool('issue', typed), remoteTool('other', typed)]);
    const toolbox = workspace.toolbox();
    const shown = async (options: object) =>
      (await toolbox.list(options)).map(({ name, output }) => [name, output !== undefined]);
    expect(await shown(MODEL)).toEqual(
      expect.arrayContaining([
        ['report', false],
        ['hub_other', false],
      ]),
    );
    for (const kind of ['person', 'code'] as const)
      expect(await shown({ caller: { kind, door: 'test' } })).toEqual([
        ['hub_issue', true],
        ['hub_other', true],
      ]);
  });

  spec('RES-48', 'sends the fixed values to the server', async () => {
    const workspace = createHub();
    const toolbox = workspace.toolbox();
    const { plan } = await toolbox.plan('report', { title: 'Broken' }, MODEL);
    expect(plan.tool.name).toBe('hub_issue');
    expect(plan.input).toEqual({ title: 'Broken', repo: 'acme/site' });
    // A person uses the original.
    expect((await toolbox.plan('hub_issue', { repo: 'a', title: 'b' })).plan.input).toEqual({ repo: 'a', title: 'b' });
    expect((await wield(workspace, ['list', '--json'])).stdout).toContain('hub_issue');
  });

  spec('RES-48 POL-4', 'is judged as the original with the complete input', async () => {
    const code = async (rules: string) => {
      const toolbox = createHub(`${rules}\n${ALIAS}`).toolbox();
      return (await toolbox.call('report', { title: 'Broken' }, MODEL)).error?.code;
    };
    expect(await code('')).toBeUndefined();
    expect(await code('allowed-tools = "report"')).toBe('denied');
    expect(await code('allowed-tools = "hub_issue"')).toBeUndefined();
    expect(await code('allowed-tools = "* hub_issue(repo=acme/*,$deny)"')).toBe('denied');
    const denied = createHub(`allowed-tools = "* hub_issue($deny)"\n${ALIAS}`).toolbox();
    expect((await denied.list(MODEL)).map(({ name }) => name)).not.toContain('report');
  });

  spec('RES-48', 'is named in errors as the model called it', async () => {
    const errorOf = async (rule: string, input: object, caller: object = MODEL) => {
      const toolbox = createHub(`allowed-tools = "* ${rule}"\n${ALIAS}`).toolbox();
      return (await toolbox.call(caller === MODEL ? 'report' : 'hub_issue', input, caller)).error!;
    };
    const broken = { title: 'Broken' };
    const denied = await errorOf('hub_issue(repo=acme/*,$deny)', broken);
    expect(denied.message).toBe('report: hub_issue was not run: a rule denies it: hub_issue(repo=acme/*,$deny)');
    expect(denied.hint).toContain('wield explain hub_issue');
    expect((await errorOf('hub_issue($policy=ask)', broken)).message).toMatch(/^report: hub_issue needs approval/);
    // Parameters that the model cannot give are not named.
    expect(await errorOf('', {})).toMatchObject({ code: 'invalid_input', hint: 'report takes title' });
    const whole = { repo: 'acme/site', ...broken };
    expect((await errorOf('hub_issue(repo=acme/*,$deny)', whole, {})).message).toMatch(/^hub_issue was not run/);
  });

  spec('RES-48 SRV-9', 'is found, described and called in search mode', async () => {
    const toolbox = createHub(`mode = "search"\n${ALIAS}`).toolbox();
    const ask = async (name: string, input: object) => toolbox.call(name, input, MODEL);
    const found = textOf(await ask('search_tools', { queries: ['report a bug'] }));
    expect(found).toMatch(/^report\(\{ title: string \}\) — Report a bug\./);
    expect(found).not.toContain('hub_issue');
    expect((await ask('describe_tool', { name: 'report' })).structured).toMatchObject({ name: 'report' });
    expect((await ask('describe_tool', { name: 'hub_issue' })).error).toMatchObject({ code: 'not_found' });
    expect((await ask('call_tool', { name: 'report', input: { title: 'x' } })).ok).toBe(true);
    expect((await ask('call_tool', { name: 'hub_issue', input: {} })).error).toMatchObject({ code: 'not_found' });
    // The name of the original is not told.
    const denied = createHub(`allowed-tools = "* hub_issue($deny)"\nmode = "search"\n${ALIAS}`).toolbox();
    expect((await denied.call('describe_tool', { name: 'report' }, MODEL)).error?.message).toBe(
      'tool not found: report',
    );
  });

  spec('RES-48', 'applies to nested calls for a model too, and a project cannot set one', async () => {
    const workspace = createHub();
    const toolbox = workspace.toolbox({ offer: ['context'], trust: true });
    const piped = await toolbox.call(
      'context_pipe',
      { tool_name: 'hub_issue', tool_input: { repo: 'other/place', title: 'x' }, path: 'a' },
      MODEL,
    );
    expect(piped.ok).toBe(false);
    const other = createHub('');
    other.write('.agents/config.toml', ALIAS);
    expect((await other.toolbox({ trust: true }).list(MODEL)).map(({ name }) => name)).toContain('hub_issue');
  });
});
