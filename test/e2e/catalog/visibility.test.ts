// Tests of hidden tools, tags, skill-list and skill-describe.

import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { callTool, connectStdio } from '../../support/clients.js';
import { createSkillWorkspace, declare, writeSkill } from '../../support/commands.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name);

function withHidden(): Workspace {
  const workspace = createWorkspace();
  workspace.script('open', shellScript('echo open', '@tag api'));
  workspace.script('shut-script', shellScript('echo shut', '@hidden', '@tag api'));
  writeSkill(workspace, 'shut-skill', { header: 'metadata:\n  visibility: hidden\n  params: { x: string }' });
  return workspace;
}

describe('hidden tools', () => {
  const shut = ['shut-script', 'shut-skill'];

  spec('RES-20', 'are not listed, searched, offered or suggested, and not found by a model', async () => {
    const workspace = withHidden();
    const client = await connectStdio(workspace, 'newer', ['--trust', '--with', 'skills']);
    expect(JSON.stringify(await client.listTools())).not.toContain('shut');
    expect(client.getInstructions() ?? '').not.toContain('shut');
    for (const name of [...shut, 'shut-scrip']) {
      const answers = [await callTool(client, name), await callTool(client, 'skill-describe', { name })];
      for (const answer of answers) {
        expect(answer.isError).toBe(true);
        expect(JSON.stringify(answer)).toContain('not_found');
        expect(JSON.stringify(answer).replaceAll(name, '')).not.toContain('shut');
      }
    }
    const toolbox = workspace.toolbox();
    expect(names(await toolbox.list())).toEqual(['open']);
    expect(await toolbox.search('shut', 10)).toEqual([]);
    for (const args of [['list'], ['list', '--json'], ['search', 'shut-script']])
      expect((await wield(workspace, args)).stdout).not.toContain('shut');
    expect((await wield(workspace, ['call', 'shut-scrip'])).stderr).not.toContain('shut-script');
  });

  spec('RES-20', 'are not found through a tool that calls others on behalf of a model', async () => {
    const workspace = withHidden();
    const tools = [
      {
        name: 'forward',
        description: 'Calls what it is told to.',
        inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
        execute: async ({ name }: { name: string }, { toolbox }: { toolbox: { call: CallOther } }) => {
          const result = await toolbox.call(name, {});
          return result.error?.code ?? textOf(result);
        },
      },
    ] as const;
    const toolbox = workspace.toolbox({ tools, trust: true });
    for (const name of shut) {
      expect(textOf(await toolbox.call('forward', { name }, MODEL))).toBe('not_found');
      expect(textOf(await toolbox.call('forward', { name }))).not.toBe('not_found');
    }
    expect(textOf(await toolbox.call('forward', { name: 'open' }, MODEL))).toBe('open\n');
  });

  spec('CLI-7 RES-20', 'are shown and explained to a person, with why a model does not find them', async () => {
    const workspace = createWorkspace();
    workspace.script('secret', '#!/bin/sh\n# @description Hidden.\n# @hidden\necho x\n');
    await wield(workspace, ['trust', '--yes']);
    const { stdout } = await wield(workspace, ['show', 'secret']);
    expect(stdout).toMatch(/ runs +.*\.agents\/tools\/secret\n/);
    expect(stdout).toMatch(/ you +allow: /);
    expect(stdout).toMatch(/ a model +deny: models do not find it: it is hidden\n/);
    const explained = await wield(workspace, ['explain', 'secret', '--as', 'mcp', '--json']);
    expect(json(explained)).toMatchObject({
      verdict: 'deny',
      rule: null,
      reason: 'models do not find it: it is hidden',
    });
    expect((await wield(workspace, ['explain', 'nobody', '--as', 'mcp'])).status).toBe(3);
    const model = { caller: { kind: 'model', door: 'mcp' } as const };
    await expect(workspace.toolbox().explain('secret', {}, model)).rejects.toMatchObject({ code: 'not_found' });
  });

  spec('RES-20', 'are called by a person and by code, and shown by list --hidden', async () => {
    const workspace = withHidden();
    expect((await wield(workspace, ['call', 'shut-script'])).stdout).toBe('shut\n');
    expect((await wield(workspace, ['call', 'shut-skill'])).stdout).toBe('Text of shut-skill.\n');
    expect(textOf(await workspace.toolbox().call('shut-script', {}))).toBe('shut\n');
    for (const flag of ['--hidden', '--all']) {
      const { tools, skills } = json(await wield(workspace, ['list', flag, '--json']));
      expect(names(tools)).toEqual(['open', ...shut]);
      expect(names(skills)).toEqual(['shut-skill']);
    }
    expect((await wield(workspace, ['list', '--hidden'])).stdout).toMatch(/shut-script .*#api hidden/);
  });
});

spec('TOOL-5', 'built-in tools say which of them change nothing', async () => {
  const workspace = createWorkspace();
  workspace.write('.agents/skills/known/SKILL.md', '---\nname: known\ndescription: Known.\n---\n');
  const offer = [
    ...['skills', 'mcp', 'context', 'task', 'run_code', 'search_tools', 'describe_tool', 'call_tool', 'read_result'],
    ...['query_result', 'read_background', 'stop_background', 'workdir', 'capabilities_refresh', 'run_skill_script'],
  ];
  const known = workspace.toolbox({ offer, trust: true });
  const says: Record<string, string[]> = {};
  for (const { name, traits } of await known.list()) {
    const said = (['readOnly', 'destructive', 'idempotent', 'openWorld', 'terminal'] as const).filter(
      (key) => traits[key],
    );
    says[said.join(' ')] = [...(says[said.join(' ')] ?? []), name].sort();
  }
  expect(says).toEqual({
    '': [
      ...['call_tool', 'context_copy', 'context_delete', 'context_edit', 'context_pipe', 'context_query'],
      ...['context_restore', 'context_write', 'mcp_exec', 'run_code', 'run_skill_script', 'workdir'],
    ],
    idempotent: ['capabilities_refresh', 'stop_background'],
    'readOnly idempotent': [
      ...['context_exists', 'context_list', 'context_read', 'context_search', 'context_tree', 'context_versions'],
      ...['query_result', 'read_result'],
    ],
    readOnly: [
      ...['describe_tool', 'known', 'mcp_info', 'mcp_list_tools', 'mcp_search', 'read_background', 'read_skill'],
      ...['search_tools', 'skill-describe', 'skill-list'],
    ],
    terminal: ['complete_task', 'fail_task', 'wait_task'],
  });
});

describe('skill-list and skill-describe', () => {
  const call = async (workspace: Workspace, name: string, input: object, caller: 'model' | 'code') => {
    const toolbox = workspace.toolbox({ offer: ['skills'], trust: true });
    return toolbox.call(name, input, { caller: { kind: caller, door: 'test' } });
  };

  spec('RES-21', 'list by all tags, hidden tools only to callers that may see them', async () => {
    const workspace = withHidden();
    workspace.script('both', shellScript('true', '@tag api', '@tag Slow_Thing'));
    const list = async (input: object, caller: 'model' | 'code' = 'model') =>
      names(((await call(workspace, 'skill-list', input, caller)).structured as { tools: [] }).tools);
    const builtin = ['skill-describe', 'skill-list'];
    expect(await list({})).toEqual([...builtin, 'both', 'open']);
    expect(await list({ tags: ['API'] })).toEqual(['both', 'open']);
    expect(await list({ tags: ['api', 'slow-thing'] })).toEqual(['both']);
    expect(await list({ tags: ['api', 'other'] })).toEqual([]);
    expect(await list({ tags: ['meta-internal'] })).toEqual(builtin);
    expect(await list({ includeHidden: true })).toEqual([...builtin, 'both', 'open']);
    expect(await list({ includeHidden: true }, 'code')).toEqual([
      ...builtin,
      'both',
      'open',
      'shut-script',
      'shut-skill',
    ]);
  });

  spec('RES-21', 'describe a tool with its schema, tags and origin', async () => {
    const workspace = withHidden();
    workspace.script('both', shellScript('true', '@tag api', '@param *city string Where to'));
    const result = await call(workspace, 'skill-describe', { name: 'both' }, 'model');
    expect(result.structured).toMatchObject({
      name: 'both',
      description: 'Made by a test.',
      input: { required: ['city'] },
      tags: ['api'],
      origin: { format: 'script', uri: expect.stringMatching(/^file:.*both$/), owner: 'workspace' },
    });
    const hidden = await call(workspace, 'skill-describe', { name: 'shut-script' }, 'code');
    expect(hidden.structured).toMatchObject({ hidden: true });
  });

  spec('RES-21 POL-8', 'know nothing of a tool that is denied to the caller', async () => {
    const workspace = withHidden();
    workspace.script('other', shellScript('true'));
    workspace.config('[trust]\nrules = "other($policy=deny)"\n');
    for (const caller of ['model', 'code'] as const) {
      const described = await call(workspace, 'skill-describe', { name: 'other' }, caller);
      expect([caller, described.error?.code]).toEqual([caller, 'not_found']);
      expect(textOf(await call(workspace, 'skill-list', {}, caller))).not.toContain('other');
    }
  });

  spec('RES-21', 'are offered to a model only if configured, and have the tag meta-internal', async () => {
    const workspace = withHidden();
    const toolbox = workspace.toolbox({ trust: true });
    expect(names(await toolbox.list())).toEqual(['open']);
    for (const name of ['skill-list', 'skill-describe', 'read_skill', 'workdir']) {
      expect((await toolbox.call(name, {}, MODEL)).error?.code).toBe('not_found');
      expect((await toolbox.find(name)).traits.tags).toEqual(['meta-internal']);
    }
    expect(json(await wield(workspace, ['call', 'skill-list', '--json'])).ok).toBe(true);
  });
});

describe('tags', () => {
  spec('RES-30', 'are normalized in every format', async () => {
    const workspace = createSkillWorkspace();
    const written = ['  Zed__Tag!', 'API', 'api', 'a--b', '!!'];
    workspace.script('script', shellScript('true', ...written.map((tag) => `@tag ${tag}`)));
    writeSkill(workspace, 'skill', { header: `metadata:\n  tags: ${JSON.stringify(written)}` });
    const toolbox = workspace.toolbox({
      tools: [{ name: 'given', description: 'x', tags: written, execute: () => 1 }],
    });
    for (const name of ['script', 'skill', 'given'])
      expect((await toolbox.find(name)).traits.tags, name).toEqual(['zed-tag', 'api', 'a-b']);
  });

  spec('RES-30', 'filter listings by all tags and any format', async () => {
    const workspace = createSkillWorkspace();
    workspace.script('one', shellScript('true', '@tag api'));
    workspace.script('two', shellScript('true', '@tag api', '@tag slow'));
    workspace.skill('notes', { 'tools.json': declare([], { tool: 'note' }) });
    writeSkill(workspace, 'slow-notes', { header: 'metadata:\n  tags: [slow]' });
    const list = async (...args: string[]) => names(json(await wield(workspace, ['list', ...args, '--json'])).tools);
    expect(await list('--tag', 'api')).toEqual(['one', 'two']);
    expect(await list('--tag', 'api', '--tag', 'Slow')).toEqual(['two']);
    expect(await list('--tag=slow')).toEqual(['two', 'slow-notes']);
    expect(await list('--tag', 'slow', '--format', 'tools-json')).toEqual([]);
    expect(await list('--format', 'script')).toEqual(['one', 'two']);
    expect(await list('--format', 'skill', '--format', 'tools-json')).toEqual(['note', 'notes', 'slow-notes']);
    expect(await list('--format', 'skill', '--tag', 'slow')).toEqual(['slow-notes']);
    const run = await wield(workspace, ['list', '--tag', 'slow', '--format', 'tools-json']);
    expect(run).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^No matching tools\. wield list shows all/),
    });
    const unknown = await wield(workspace, ['list', '--tag', 'slwo']);
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining('did you mean --tag slow?')]);
    expect(await wield(workspace, ['list', '--tag', '!!'])).toMatchObject({ status: 2 });
    expect(await wield(workspace, ['list', '--tag'])).toMatchObject({ status: 2 });
  });

  spec('RES-31', 'that are reserved are removed with a problem, in every format', async () => {
    const workspace = createWorkspace();
    const script = workspace.script('script', shellScript('true', '@tag Meta_Internal', '@tag api'));
    const skill = writeSkill(workspace, 'skill', { header: 'metadata:\n  tags: [META_action, api, metal]' });
    const toolbox = workspace.toolbox({
      tools: [{ name: 'given', description: 'x', tags: ['meta-internal', 'api'], execute: () => 1 }],
    });
    for (const [name, tags] of [
      ['script', ['api']],
      ['skill', ['api', 'metal']],
      ['given', ['api']],
    ] as const) {
      expect((await toolbox.find(name)).traits.tags).toEqual(tags);
      expect((await toolbox.list()).find((tool) => tool.name === name)?.traits.tags).toEqual(tags);
      expect((await toolbox.plan(name, {})).plan.tool.traits.tags).toEqual(tags);
    }
    expect((await toolbox.catalog.problems()).map(({ severity, path, message }) => [severity, path, message])).toEqual([
      ['warning', 'given', expect.stringContaining('#meta-internal')],
      ['warning', script, expect.stringContaining('#meta-internal')],
      ['warning', skill, expect.stringContaining('#meta-action')],
    ]);
    expect(textOf(await toolbox.call('skill', {}))).toBe('Text of skill.\n');
    expect(names(json(await wield(workspace, ['list', '--tag', 'meta-internal', '--json'])).tools)).toEqual([
      'read_skill',
    ]);
    const { findings } = json(await wield(workspace, ['check', '--json']));
    expect(findings.map((finding: { level: string; message: string }) => finding.message)).toEqual([
      expect.stringContaining('#meta-action'),
      expect.stringContaining('#meta-internal'),
    ]);
  });

  spec('RES-31', 'that are reserved are removed from an index too', async () => {
    const workspace = createWorkspace();
    for (let index = 0; index < 20; index++)
      workspace.script(`tool${index}`, shellScript('true', '@tag meta-internal', '@tag api'));
    for (let round = 0; round < 2; round++) {
      const { tools } = json(await wield(workspace, ['list', '--tag', 'api', '--json']));
      expect(tools).toHaveLength(20);
      for (const tool of tools) expect(tool.tags).toEqual(['api']);
    }
  });
});

type CallOther = (ref: string, input: unknown) => Promise<Parameters<typeof textOf>[0] & { error?: { code: string } }>;
