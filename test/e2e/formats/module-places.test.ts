// Modules on the search path, addressing one of several definitions, and checks for authors.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { registerTool } from '../../../src/helpers.js';
import { createToolbox, type ToolDefinition, textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createModuleWorkspace, hostsOf, moduleText } from '../../support/modules.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

/** A module with tools of these names, each of which answers with its own and `word`. */
const several = (names: readonly string[], word = 'ran'): string =>
  names.map((name) => moduleText(name, `() => '${name} ${word}'`).replace('const tool', `const ${name}`)).join('\n');

describe('a typed definition', () => {
  spec('MOD-16', 'can be registered in every toolbox, and is a tool like any other', async () => {
    const inputSchema = z.object({ path: z.string(), limit: z.number().int().default(20) });
    const outputSchema = z.object({ path: z.string(), limit: z.number() });
    const noteRead = {
      name: 'note_read',
      description: 'Read a note.',
      group: 'note',
      tags: ['Notes'],
      inputSchema,
      outputSchema,
      execute: async ({ path, limit }) => ({ path, limit }),
    } satisfies ToolDefinition<typeof inputSchema, typeof outputSchema>;
    for (const toolbox of [createToolbox({ tools: [] }), createWorkspace().toolbox()]) {
      registerTool(toolbox, noteRead);
      expect(await toolbox.find('note_read')).toMatchObject({
        traits: { group: 'note', tags: ['notes'] },
        origin: { owner: 'program', digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
        input: { json: { required: ['path'] } },
        output: { json: { required: ['path', 'limit'] } },
      });
      expect((await toolbox.call('note_read', { path: 'a.md' })).structured).toEqual({
        path: 'a.md',
        limit: 20,
      });
      expect((await toolbox.call('note_read', { path: 3, limit: 'x' })).error?.code).toBe('invalid_input');
      expect(() => registerTool(toolbox, noteRead)).toThrow(expect.objectContaining({ code: 'conflict' }));
      expect(() => registerTool(toolbox, { ...noteRead, name: 'a b' })).toThrow(
        expect.objectContaining({ code: 'invalid_definition' }),
      );
    }
  });
});

describe('a module on the search path', () => {
  spec('MOD-17', 'is found in each directory; the first of a name wins', async () => {
    const workspace = createModuleWorkspace();
    const own = join(workspace.home, '.agents/skills');
    mkdirSync(own, { recursive: true });
    const places = ['.agents/skills', 'skills', 'tools', '.agents/tools'];
    for (const [index, place] of places.entries())
      workspace.write(`${place}/m${index}.tool.mjs`, several([`only_${index}`, 'shared'], place));
    writeFileSync(join(own, 'mine.tool.ts'), several(['mine', 'shared'], 'home'));
    workspace.write('lib/more.tool.mjs', several(['more']));
    workspace.config('paths = ["...", "lib"]\n');
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name }) => name).sort()).toEqual([
      'mine',
      'more',
      'only_0',
      'only_1',
      'only_2',
      'only_3',
      'shared',
    ]);
    for (const [index, place] of places.entries())
      expect(textOf(await toolbox.call(`only_${index}`, {}, MODEL))).toBe(`only_${index} ${place}`);
    expect(textOf(await toolbox.call('mine', {}, MODEL))).toBe('mine home');
    expect(textOf(await toolbox.call('shared', {}))).toBe('shared .agents/skills');
    expect((await toolbox.catalog.survey()).shadowed.map(({ tool }) => tool.name)).toEqual(Array(4).fill('shared'));
    const client = await connectStdio(workspace, 'newer', []);
    const answer = await client.callTool({ name: 'only_2', arguments: {} });
    expect(answer.content).toEqual([{ type: 'text', text: 'only_2 tools' }]);
  });

  spec('MOD-17 POL-20', 'is not loaded while the workspace is not trusted', async () => {
    const workspace = createModuleWorkspace({ trusted: false });
    for (const place of ['.agents/skills', 'skills', 'tools'])
      workspace.write(`${place}/${place.replace(/\W/g, '')}.tool.mjs`, several(['a']));
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name }) => name).sort()).toEqual(['agentsskills', 'skills', 'tools']);
    expect((await toolbox.call('tools', {}, MODEL)).error?.code).toBe('needs_trust');
    expect(hostsOf(workspace)).toEqual([]);
  });

  spec.thorough('MOD-17 RES-2', 'addresses one of several definitions by #name, from code and in a shell', async () => {
    const workspace = createModuleWorkspace();
    const names = ['note_read', 'note_write'];
    const file = workspace.write('tools/note.tool.mjs', several(names));
    const elsewhere = workspace.write('far/away/note.tool.ts', several(names, 'far away'));
    const toolbox = workspace.toolbox();
    for (const ref of [file, pathToFileURL(file).href, './tools/note.tool.mjs', 'tools/note.tool.mjs']) {
      for (const name of names) expect(textOf(await toolbox.call(`${ref}#${name}`, {}))).toBe(`${name} ran`);
      expect((await toolbox.call(ref, {})).error).toMatchObject({
        code: 'ambiguous',
        hint: `use one of ${ref}#note_read, ${ref}#note_write`,
      });
      expect((await toolbox.call(`${ref}#gone`, {})).error).toMatchObject({
        code: 'not_found',
        hint: `it has note_read, note_write; write ${ref}#note_read`,
      });
      // For a model a path is another way to write the name.
      expect(textOf(await toolbox.call(`${ref}#note_read`, {}, MODEL))).toBe('note_read ran');
    }
    expect(textOf(await toolbox.call(`${elsewhere}#note_read`, {}))).toBe('note_read far away');
    expect((await toolbox.call(`${elsewhere}#note_read`, {}, MODEL)).error?.code).toBe('not_found');
    for (const [cwd, ref] of [
      [workspace.dir, './tools/note.tool.mjs#note_write'],
      [join(workspace.dir, 'tools'), './note.tool.mjs#note_write'],
    ] as const)
      expect((await wield(workspace, ['call', ref], { cwd })).stdout).toBe('note_write ran\n');
    expect((await wield(workspace, ['show', './tools/note.tool.mjs#note_read'])).stdout).toContain('note_read');
    const many = await wield(workspace, ['call', './tools/note.tool.mjs', '--json']);
    expect(json(many).error.code).toBe('ambiguous');
  });
});

describe('an author', () => {
  spec.thorough('MOD-9 MOD-17', 'sees load errors of a trusted module', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('good.tool.mjs', several(['one', 'two']));
    workspace.module('torn.tool.ts', 'export const x = {');
    workspace.module('empty.tool.mjs', 'export const x = 1;');
    workspace.write('tools/thrown.tool.mjs', `\nthrow new Error('no luck');\n`);
    const run = await wield(workspace, ['check', '--json']);
    const { checked, findings } = json(run);
    expect([run.status, checked]).toEqual([1, 4]);
    expect(findings.map((finding: { path: string; message: string }) => [finding.path, finding.message])).toEqual([
      ['.agents/tools/empty.tool.mjs', 'exports no tool'],
      ['.agents/tools/torn.tool.ts', expect.stringMatching(/torn\.tool\.ts:1: SyntaxError/)],
      ['tools/thrown.tool.mjs', expect.stringMatching(/thrown\.tool\.mjs:2: Error: no luck/)],
    ]);
    expect(json(await wield(workspace, ['check', 'tools', '--json'])).errors).toBe(1);
  });

  spec('MOD-9 POL-20', 'sees that a module of an untrusted workspace was not loaded', async () => {
    const workspace = createModuleWorkspace({ trusted: false });
    const mark = join(workspace.home, 'mark');
    workspace.module('good.tool.mjs', `import { writeFileSync } from 'node:fs';\nwriteFileSync('${mark}', '');\n`);
    workspace.module('no name.tool.mjs', several(['a']));
    const run = await wield(workspace, ['check', '--json']);
    expect(run.status).toBe(1);
    expect(json(run).findings).toMatchObject([
      {
        level: 'warning',
        path: '.agents/tools/good.tool.mjs',
        message: expect.stringContaining('not trusted'),
      },
      { level: 'error', path: '.agents/tools/no name.tool.mjs', message: 'the file name is not a tool name' },
    ]);
    expect(hostsOf(workspace)).toEqual([]);
  });
});
