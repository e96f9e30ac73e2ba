// Tool files as botholomew writes them, and its names for tools, parameters and the context.

import { describe, expect } from 'vitest';
import { z } from 'zod';
import { getToolsByGroup } from '../../../src/helpers.js';
import { defineTool, LinePatchSchema, textOf } from '../../../src/index.js';
import { createTestToolbox } from '../../../src/testing.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createModuleWorkspace } from '../../support/modules.js';
import { finding, spec } from '../../support/spec.js';

// The file of the seed, as it is.
const COMPLETE = `import { z } from "zod";
import type { ToolDefinition } from "../tool.ts";

const inputSchema = z.object({
  summary: z.string().describe("Summary of work done"),
});

const outputSchema = z.object({
  message: z.string(),
  is_error: z.boolean(),
});

export const completeTaskTool = {
  name: "finish_task",
  description:
    "Mark the current task as complete with a summary of what was accomplished.",
  group: "task",
  terminal: true,
  inputSchema,
  outputSchema,
  execute: async (input, ctx) => ({
    message: \`Task completed: \${input.summary} in \${ctx.projectDir === ctx.workdir}\`,
    is_error: false,
  }),
} satisfies ToolDefinition<typeof inputSchema, typeof outputSchema>;
`;

describe('a tool file of botholomew', () => {
  finding('004-5 004-16 MOD-32', 'is called by its path', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('src/tools/task/complete.ts', COMPLETE);
    const run = await wield(workspace, ['call', './src/tools/task/complete.ts', '--summary', 'done', '--json']);
    expect(json(run)).toMatchObject({ structured: { message: 'Task completed: done in true', is_error: false } });
    // A one-line re-export makes it a tool of the directory.
    workspace.module('finish.tool.ts', "export * from '../../src/tools/task/complete.ts';\n");
    expect((await wield(workspace, ['task', 'finish-task', '--summary', 'x'])).stdout).toContain('Task completed: x');
    const untrusted = createModuleWorkspace({ trusted: false });
    untrusted.write('src/complete.ts', COMPLETE);
    const refused = await wield(untrusted, ['call', './src/complete.ts', '--summary', 'done']);
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringContaining('wield trust')]);
    untrusted.write('src/empty.ts', 'export const x = 1;\n');
    untrusted.trust();
    expect((await wield(untrusted, ['call', './src/empty.ts'])).stderr).toContain('exports no tool');
  });

  spec('MOD-39', 'that uses Bun fails with a hint to the modules of Node', async () => {
    const workspace = createModuleWorkspace();
    const read = `${COMPLETE.replace('execute: async (input, ctx) => ({', 'execute: async (input, ctx) => (Bun.file("x"), {')}`;
    workspace.write('src/tools/task/complete.ts', read);
    const run = await wield(workspace, ['call', './src/tools/task/complete.ts', '--summary', 'done', '--json']);
    expect(json(run).error.hint).toContain('tools run in Node; use its modules');
    for (const module of ['bun', 'bun:sqlite']) {
      workspace.write('src/db.ts', `import '${module}';\n${COMPLETE}`);
      expect((await wield(workspace, ['call', './src/db.ts', '--summary', 'x'])).stderr).toContain(
        `${module} is a module of Bun, and tools run in Node`,
      );
    }
  });

  spec('MOD-40', 'that reads what is not in the context fails with a hint to what is', async () => {
    const workspace = createModuleWorkspace();
    const reads = {
      conn: 'ctx.conn.query("x")',
      path: '(({ dbPath }) => dbPath)(ctx)',
      mcpx: 'ctx.mcpxClient?.listTools()',
      copy: '({ ...ctx }).conn ?? "none"',
    };
    const tools = Object.entries(reads).map(
      ([name, read]) =>
        `export const ${name} = { name: '${name}', description: 'x', inputSchema: { type: 'object' }, execute: (input, ctx) => ${read} };\n`,
    );
    workspace.module('reads.tool.mjs', tools.join(''));
    const run = async (name: string) => (await wield(workspace, ['call', name])).stderr;
    expect(await run('conn')).toContain('hint  use ctx.store');
    expect(await run('path')).toContain('hint  use ctx.withStore');
    expect(await run('mcpx')).toContain('hint  use ctx.mcp,');
    expect((await wield(workspace, ['call', 'copy'])).stdout).toBe('none\n');
  });

  finding('004-6 MOD-32', 'is found in a directory of its group', async () => {
    const workspace = createModuleWorkspace();
    const tool = (name: string, group = ''): string =>
      `export const t = { name: '${name}', description: 'x', ${group} inputSchema: { type: 'object' }, execute: () => '${name}' };\n`;
    workspace.module('task/one.tool.ts', tool('one'));
    workspace.module('task/two.tool.ts', tool('two', "group: 'other',"));
    workspace.module('task/deep/three.tool.ts', tool('three'));
    workspace.module('node_modules/four.tool.ts', tool('four'));
    const toolbox = workspace.toolbox();
    const groups = (await toolbox.list()).map(({ name, traits }) => [name, traits.group]);
    expect(groups).toEqual([
      ['one', 'task'],
      ['two', 'other'],
    ]);
    workspace.module('task/five.tool.ts', tool('five'));
    workspace.module('note/six.tool.ts', tool('six'));
    for (const name of ['one', 'five', 'six']) expect(textOf(await toolbox.call(name, {}))).toBe(name);
    expect((await toolbox.call('./.agents/tools/task/one.tool.ts', {}, MODEL)).ok).toBe(true);
    expect((await wield(workspace, ['task', 'one'])).stdout).toBe('one\n');
  });

  finding('004-40 HLP-9 CLI-26', 'is listed by its group', async () => {
    const workspace = createModuleWorkspace();
    const tool = (name: string, group: string): string =>
      `export const t = { name: '${name}', description: 'x', group: '${group}', inputSchema: { type: 'object' }, execute: () => 1 };\n`;
    workspace.module('a.tool.ts', tool('a', 'task'));
    workspace.module('b.tool.ts', tool('b', 'file'));
    const named = (await getToolsByGroup(workspace.toolbox(), 'task')).map(({ name }) => name);
    expect(named).toEqual(['a']);
    const listed = json(await wield(workspace, ['list', '--group', 'task', '--json']));
    expect(listed.tools.map(({ name }: { name: string }) => name)).toEqual(['a']);
    for (const [group, hint] of [
      ['taks', 'did you mean --group task?'],
      ['nope', 'use task, file'],
    ] as const) {
      const unknown = await wield(workspace, ['list', '--group', group]);
      expect([unknown.status, unknown.stdout]).toEqual([2, '']);
      expect(unknown.stderr).toBe(`error  unknown group "${group}"\n  hint  ${hint}\n`);
    }
  });
});

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

describe('names of botholomew', () => {
  finding('004-22 004-59 004-68 CTX-51', 'membot_* are the context tools', async () => {
    const workspace = createModuleWorkspace();
    const toolbox = workspace.toolbox({ offer: ['context'] });
    const document = JSON.stringify([{ n: 1 }, { n: 2 }]);
    const written = await toolbox.call('membot_write', { path: 'inbox.json', content: document }, MODEL);
    expect(written.structured).toMatchObject({ path: 'inbox.json' });
    const query = { logical_path: 'inbox.json', expression: '$sum(n)', output_logical_path: 'sum.json' };
    expect((await toolbox.call('membot_query', query, MODEL)).structured).toMatchObject({ path: 'sum.json' });
    expect(textOf(await toolbox.call('context_read', { logical_path: 'sum.json' }, MODEL))).toBe('3');
    const limited = { ...query, output_logical_path: 'other.json', max_input_bytes: 5 };
    expect((await toolbox.call('membot_query', limited, MODEL)).error?.code).toBe('too_large');
    // Both names at once are a mistake, and unknown parameters stay errors.
    const both = { path: 'inbox.json', logical_path: 'sum.json' };
    expect((await toolbox.call('membot_read', both, MODEL)).error?.code).toBe('invalid_input');
    expect((await toolbox.list(MODEL)).some(({ name }) => name.startsWith('membot_'))).toBe(false);
    // Rules are about the tool, whatever it is called.
    workspace.config('[trust]\nrules = "context_write($deny)"\n');
    expect((await toolbox.call('membot_write', { path: 'x', content: '' }, MODEL)).error?.code).toBe('denied');
    // Without an offer a model finds none of them.
    expect((await workspace.toolbox().call('membot_read', { path: 'x' }, MODEL)).error?.code).toBe('not_found');
  });

  finding('004-32 004-59 CTX-51', '`wield membot` is `wield context`, unless a tool has that name', async () => {
    const workspace = createModuleWorkspace();
    const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`).join('\n');
    await wield(workspace, ['membot', 'write', 'notes/meeting.md', '--content', lines]);
    const read = await wield(workspace, ['membot', 'read', 'notes/meeting.md', '--offset', '10', '--limit', '20']);
    expect(read.stdout.trim().split('\n')).toEqual(lines.split('\n').slice(9, 29));
    expect((await wield(workspace, ['membot', 'tree', 'notes', '--max-depth', '3'])).stdout).toContain('meeting.md');
    // 004-59: its names of parameters are flags too.
    for (const flag of ['--logical-path', '--logical_path']) {
      const named = await wield(workspace, ['membot', 'read', flag, 'notes/meeting.md', '--limit', '1']);
      expect(named.stdout.trim()).toBe('line 1');
    }
    await wield(workspace, ['context', 'write', 'n.json', '--content', '[1,2]']);
    const args = ['--logical-path=n.json', '--expression', '$sum($)', '--output-logical-path', 'sum.json'];
    expect((await wield(workspace, ['membot', 'query', ...args])).stdout).toContain('wrote sum.json');
    expect((await wield(workspace, ['membot', 'read', '--help'])).stdout).not.toContain('logical');
    expect((await wield(workspace, ['--help'])).stdout).not.toContain('membot');
    workspace.script('membot', '#!/bin/sh\n# @description Own.\necho own\n');
    expect((await wield(workspace, ['membot'])).stdout).toBe('own\n');
  });

  finding('004-43 CTX-11', 'LinePatchSchema works inside a Zod schema and a JSON Schema', async () => {
    const inputSchema = z.object({ patches: z.array(LinePatchSchema).min(1) });
    const edit = defineTool({
      name: 'edit',
      description: 'Edit.',
      inputSchema,
      execute: ({ patches }) => patches.map(({ start_line, content }) => `${start_line}:${content}`).join(),
    });
    const patch = { start_line: 1, end_line: 0, content: 'a' };
    const toolbox = createTestToolbox([edit]);
    expect(textOf(await toolbox.call('edit', { patches: [patch] }))).toBe('1:a');
    expect((await toolbox.call('edit', { patches: [{ ...patch, start_line: 0 }] })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('edit' as string, { patches: [{ ...patch, more: 1 }] })).error?.code).toBe(
      'invalid_input',
    );
    const [tool] = await toolbox.list();
    const items = (tool!.input.json.properties as { patches: { items: object } }).patches.items;
    expect(items).toMatchObject({ ...JSON.parse(JSON.stringify(LinePatchSchema)), properties: expect.anything() });
    expect(JSON.stringify(items)).toContain('First line to replace');
  });
});

finding('D15 MOD-13', 'a failure keeps what else the tool returned', async () => {
  const workspace = createModuleWorkspace();
  workspace.module(
    'fail.tool.mjs',
    `export const fail = { name: 'fail', description: 'x', inputSchema: { type: 'object' }, execute: () => ({
  is_error: true, error_type: 'path_conflict', message: 'taken', next_action_hint: 'read it', path: 'a.md', versions: [1, 2],
}) };\n`,
  );
  const result = await workspace.toolbox().call('fail', {});
  expect(result).toMatchObject({
    ok: false,
    error: { code: 'path_conflict', message: 'taken', hint: 'read it' },
    structured: { is_error: true, path: 'a.md', versions: [1, 2] },
  });
  const own = defineTool({
    name: 'own',
    description: 'x',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    execute: (input: { bad?: boolean }) => (input.bad ? { n: 'text' } : { is_error: true, message: 'no', left: 3 }),
  });
  const toolbox = createTestToolbox([own]);
  expect((await toolbox.call('own', {})).structured).toEqual({ is_error: true, message: 'no', left: 3 });
  // Output that does not match its schema is still withheld (MOD-12).
  expect(await toolbox.call('own', { bad: true })).not.toHaveProperty('structured');
});

finding.thorough(
  'D15 MOD-13',
  'a failure over MCP has it as structured content, unless the output schema forbids that',
  async () => {
    const workspace = createModuleWorkspace();
    const tool = (name: string, output: string): string =>
      `export const ${name} = { name: '${name}', description: 'x', inputSchema: { type: 'object' }, ${output} execute: () => ({
  is_error: true, error_type: 'path_conflict', message: 'taken', next_action_hint: 'read it', versions: [1, 2],
}) };\n`;
    const schema = (required: string): string => `outputSchema: { type: 'object', required: ['${required}'] },`;
    workspace.module(
      'free.tool.mjs',
      tool('free', '') + tool('fits', schema('versions')) + tool('other', schema('path')),
    );
    for (const protocol of ['older', 'newer'] as const) {
      const client = await connectStdio(workspace, protocol, []);
      await client.listTools();
      const call = (name: string) => client.callTool({ name, arguments: {} });
      for (const name of ['free', 'fits']) {
        const { isError, structuredContent, content, _meta } = await call(name);
        expect([isError, structuredContent]).toMatchObject([true, { is_error: true, versions: [1, 2] }]);
        expect(JSON.stringify(content)).toContain('[path_conflict] taken');
        expect(_meta).not.toHaveProperty(['wield/structured']);
      }
      // Clients of the older version validate it even with `isError`.
      const other = await call('other');
      expect(other).not.toHaveProperty('structuredContent');
      expect(other).toMatchObject({ isError: true, _meta: { 'wield/structured': { versions: [1, 2] } } });
    }
  },
);

finding('N13 POL-20', 'the group command of a module that is not trusted says so', async () => {
  const workspace = createModuleWorkspace({ trusted: false });
  const tool = (name: string): string =>
    `{ name: '${name}', description: 'x', group: 'note', inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }, execute: ({ path }) => path }`;
  workspace.module('note.tool.mjs', `export const a = ${tool('note_read')};\nexport const b = ${tool('other')};\n`);
  for (const args of [
    ['note', 'read', 'x'],
    ['note', 'read', '--path', 'x'],
    ['call', 'note', 'x'],
  ]) {
    const run = await wield(workspace, args);
    expect([args, run.status, run.stderr]).toEqual([args, 5, expect.stringContaining('run: wield trust')]);
    expect(run.stderr).not.toContain('unknown parameter');
  }
  const other = await wield(workspace, ['other', 'x']);
  expect([other.status, other.stderr]).toEqual([5, expect.stringContaining('were not loaded')]);
  workspace.trust();
  expect((await wield(workspace, ['note', 'read', 'x'])).stdout).toBe('x\n');
});
