// wield tokens: what the tools cost a model.

import { expect } from 'vitest';
import { toAnthropicTools } from '../../../src/adapters/anthropic/index.js';
import { estimateTokens } from '../../../src/core/text.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

function createTools() {
  const workspace = createWorkspace();
  workspace.script('small', shellScript('echo'));
  workspace.script('large', `#!/bin/sh\n# @description ${'Words about it. '.repeat(200)}\necho\n`);
  workspace.config('[profiles.few]\ntools = "small"\n');
  return workspace;
}

spec('CLI-27', 'counts what each adapter sends, biggest first', async () => {
  const workspace = createTools();
  const counted = json(await wield(workspace, ['tokens', '--json']));
  const client = await connectStdio(workspace, 'newer', []);
  const { tools } = await client.listTools();
  const expected = tools
    .map((tool) => ({
      name: tool.name,
      server: tool.name === 'small' || tool.name === 'large' ? 'local' : null,
      tokens: estimateTokens(JSON.stringify(tool)),
    }))
    .sort((a, b) => b.tokens - a.tokens);
  expect(counted).toMatchObject({
    ok: true,
    adapter: 'mcp',
    total: expected.reduce((sum, tool) => sum + tool.tokens, 0),
    tools: expected,
  });
  expect(counted.tools[0].name).toBe('large');
  const sent = await toAnthropicTools(workspace.toolbox());
  const { tools: anthropic } = json(await wield(workspace, ['tokens', '--adapter', 'anthropic', '--json']));
  for (const tool of sent)
    expect(anthropic).toContainEqual(
      expect.objectContaining({ name: tool.name, tokens: estimateTokens(JSON.stringify(tool)) }),
    );
  for (const adapter of ['openai', 'ollama'])
    expect(json(await wield(workspace, ['tokens', '--adapter', adapter, '--json'])).tools).toHaveLength(4);
});

spec('CLI-27 POL-24 SRV-9', 'counts a profile and a mode, and fails above --max', async () => {
  const workspace = createTools();
  const total = async (...args: string[]) => json(await wield(workspace, ['tokens', '--json', ...args])).total;
  const all = await total();
  expect(await total('--profile', 'few')).toBeLessThan(all);
  expect(await total('--mode', 'search')).toBeLessThanOrEqual(600);
  const over = await wield(workspace, ['tokens', '--max', String(all - 1)]);
  expect(over).toMatchObject({ status: 1, stderr: expect.stringContaining(`more than ${all - 1}`) });
  expect(over.stdout).toMatch(/ {2}TOOL +SERVER +TOKENS\n {2}large +local +[\d,]+\n/);
  expect((await wield(workspace, ['tokens', '--max', String(all)])).status).toBe(0);
  expect(json(await wield(workspace, ['tokens', '--json', '--max', '1']))).toMatchObject({ ok: false });
  expect((await wield(workspace, ['tokens', '--max', 'few'])).status).toBe(2);
  expect((await wield(workspace, ['tokens', '--adapter', 'other'])).status).toBe(2);
});
