// Resources and prompts that module files export, through a toolbox and real clients.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { connectHttp, connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../../support/modules.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';

const NOTES = `
import { appendFileSync } from 'node:fs';
import { definePrompt, defineResource, defineTool } from 'wield';
import { text } from './text.js';
appendFileSync(import.meta.dirname + '/../../loads', 'x');

export const listed = defineResource({
  uri: 'notes://all', name: 'all', title: 'All notes', mimeType: 'text/plain', annotations: { priority: 1 },
  read: (uri: string, { workdir }: { workdir: string }) => text + ' from ' + uri + ' in ' + workdir,
});
export const bytes = defineResource({ uri: 'notes://bytes', name: 'bytes', read: () => new Uint8Array([1, 2, 255]) });
export const one = defineResource({
  uri: 'notes://{id}', name: 'one', description: 'One note.',
  read: (uri: string) => [{ uri, text: 'note ' + uri.slice(8).repeat(uri.endsWith('long') ? 2000 : 1) }, { uri: uri + '#2', text: 'more' }],
  complete: (variable: string, value: string) => ['tea', 'tennis', 'milk'].filter((id) => id.startsWith(value)),
});
export const review = definePrompt({
  name: 'review', title: 'Review', description: 'Review a file.',
  arguments: [{ name: 'file', required: true }, { name: 'tone' }],
  get: async ({ file, tone = 'kind' }: Record<string, string>, { toolbox }: any) =>
    'Review ' + file + ', be ' + tone + ': ' + (await toolbox.call('length', { of: file })).structured,
  complete: () => ['a.ts'],
});
export const length = defineTool({
  name: 'length', description: 'Count.', inputSchema: { type: 'object', properties: { of: { type: 'string' } } },
  execute: ({ of }: { of: string }) => of.length,
});
`;

function createNotes(options = {}): ModuleWorkspace {
  const workspace = createModuleWorkspace(options);
  workspace.module('notes.tool.ts', NOTES);
  workspace.module('text.ts', `export const text: string = 'tea';`);
  return workspace;
}

const loads = ({ dir }: ModuleWorkspace): number =>
  existsSync(join(dir, 'loads')) ? readFileSync(join(dir, 'loads'), 'utf8').length : 0;

describe('resources and prompts of module files', () => {
  for (const [version, connect] of some(
    [
      ['older', connectStdio],
      ['newer', connectHttp],
    ] as const,
    1,
  )) {
    spec('MOD-33', `are listed, read, completed and made: ${version}`, async () => {
      const workspace = createNotes();
      const client = await connect(workspace, version);
      const { resources } = await client.listResources();
      expect(resources).toEqual(
        expect.arrayContaining([
          { uri: 'notes://all', name: 'all', title: 'All notes', mimeType: 'text/plain', annotations: { priority: 1 } },
          { uri: 'notes://bytes', name: 'bytes' },
        ]),
      );
      expect(resources).toHaveLength(2);
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates).toEqual([{ uriTemplate: 'notes://{id}', name: 'one', description: 'One note.' }]);
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toEqual(['tools', 'capabilities', 'review']);
      expect(prompts[2]).toEqual({
        name: 'review',
        title: 'Review',
        description: 'Review a file.',
        arguments: [{ name: 'file', required: true }, { name: 'tone' }],
      });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('length');

      expect((await client.readResource({ uri: 'notes://all' })).contents).toEqual([
        { uri: 'notes://all', mimeType: 'text/plain', text: `tea from notes://all in ${workspace.dir}` },
      ]);
      expect((await client.readResource({ uri: 'notes://bytes' })).contents).toEqual([
        { uri: 'notes://bytes', blob: Buffer.from([1, 2, 255]).toString('base64') },
      ]);
      expect((await client.readResource({ uri: 'notes://tea' })).contents).toEqual([
        { uri: 'notes://tea', text: 'note tea' },
        { uri: 'notes://tea#2', text: 'more' },
      ]);
      await expect(client.readResource({ uri: 'other://tea' })).rejects.toThrow(/not found/);
      const made = await client.getPrompt({ name: 'review', arguments: { file: 'a.ts' } });
      expect(made.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Review a.ts, be kind: 4' } }]);
      await expect(client.getPrompt({ name: 'review', arguments: {} })).rejects.toThrow(/missing required parameter/);
      const complete = async (ref: Parameters<typeof client.complete>[0]['ref'], value: string): Promise<string[]> =>
        (await client.complete({ ref, argument: { name: 'id', value } })).completion.values;
      expect(await complete({ type: 'ref/resource', uri: 'notes://{id}' }, 'te')).toEqual(['tea', 'tennis']);
      expect(await complete({ type: 'ref/prompt', name: 'review' }, '')).toEqual(['a.ts']);
    });
  }

  spec.thorough('MOD-33 MOD-8', 'are listed without loading the module, until it changes', async () => {
    const workspace = createNotes();
    const listed = async (): Promise<number> =>
      (await workspace.toolbox().catalog.resources.list()).length +
      (await workspace.toolbox().catalog.prompts.list()).length;
    expect(await listed()).toBe(6);
    // Enough entries for an index on disk.
    for (let at = 0; at < 20; at++) workspace.module(`m${at}.tool.mjs`, 'export const frontmatter = {};');
    expect(await listed()).toBe(6);
    expect(await listed()).toBe(6);
    expect(loads(workspace)).toBe(1);
    workspace.module('text.ts', `export const text: string = 'coffee';`);
    expect((await workspace.toolbox().catalog.resources.read('notes://all')).content[0]).toMatchObject({
      resource: { text: expect.stringContaining('coffee from notes://all') },
    });
  });

  spec.thorough('MOD-33 POL-20 RSC-1', 'are under the same trust, rules, limits and log as tools', async () => {
    const workspace = createNotes({ trusted: false });
    const model = { caller: { kind: 'model', door: 'mcp' } } as const;
    const { resources, prompts } = workspace.toolbox().catalog;
    expect(await resources.list(model)).toEqual([]);
    expect((await resources.read('notes://all', model)).error?.code).toBe('not_found');
    expect(loads(workspace)).toBe(0);
    workspace.trust();
    expect((await workspace.toolbox().catalog.resources.read('notes://all', model)).ok).toBe(true);
    // Known from before, but not trusted any more.
    expect((await wield(workspace, ['trust', '--revoke'])).status).toBe(0);
    expect(await resources.list(model)).toEqual([]);
    expect((await resources.read('notes://all', model)).error?.code).toBe('needs_trust');
    expect((await prompts.get('review', { file: 'a' }, model)).error?.code).toBe('needs_trust');
    workspace.trust();
    workspace.config(
      '[trust]\nrules = ["resource:notes://tea($policy=deny)", "prompt:review($policy=deny)"]\n[limits]\noutput = "2KB"\n',
    );
    const ruled = workspace.toolbox().catalog;
    const codeOf = async (uri: string): Promise<unknown> => (await ruled.resources.read(uri, model)).error?.code;
    expect(await codeOf('notes://milk')).toBeUndefined();
    // However it is spelled.
    for (const uri of ['notes://tea', 'notes://t%65a', 'NOTES://tea'])
      expect(await codeOf(uri), uri).not.toBeUndefined();
    expect((await ruled.prompts.list(model)).map(({ name }) => name)).toEqual(['tools', 'capabilities']);
    expect((await ruled.prompts.get('review', { file: 'a' }, model)).error?.code).toBe('denied');
    expect((await ruled.resources.read('notes://long', model)).error?.code).toBe('too_large');
    const log = await wield(workspace, ['audit', '--json']);
    expect(log.stdout).toContain('resource:notes://milk');
  });

  spec.thorough('MOD-33', 'change with the file, which clients are told', async () => {
    const workspace = createNotes();
    const client = await connectStdio(workspace, 'older');
    let told = 0;
    client.setNotificationHandler('notifications/prompts/list_changed', () => void told++);
    expect((await client.listPrompts()).prompts).toHaveLength(3);
    const more = `export const more = { name: 'more', description: 'More.', get: () => 'more' };\n`;
    appendFileSync(join(workspace.dir, '.agents/tools/notes.tool.ts'), more);
    await until(() => told > 0, 'the client is told');
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('more');
  });

  spec('MOD-33', 'are problems if they are invalid, reserved, defined twice, or watch', async () => {
    const workspace = createModuleWorkspace();
    const resource = (uri: string, more = ''): string => `{ uri: '${uri}', name: 'n', read: () => 'x'${more} }`;
    const prompt = (name: string): string => `{ name: '${name}', description: 'D', get: () => 'x' }`;
    workspace.module(
      'bad.tool.mjs',
      `${moduleText('fine', '() => 1')}
export const skill = ${resource('skill://x/SKILL.md')};
export const server = ${resource('MCP://x/file:///y')};
export const relative = ${resource('notes/x')};
export const own = ${prompt('tools')};
export const spaced = ${prompt('a b')};
export const first = ${resource('notes://1')};
export const second = ${resource('notes://1')};
export const watched = ${resource('notes://2', ', watch: () => () => {}')};
export const settings = { name: 'x', get: 1 };`,
    );
    const survey = await workspace.toolbox().catalog.survey();
    expect(survey.tools.map(({ name }) => name)).toEqual(['fine']);
    expect(survey.problems.map(({ message }) => message)).toEqual([
      'export "own": "tools" is reserved',
      'export "relative": a resource: "uri" must be a URI',
      'has two resources "notes://1"',
      'export "server": "MCP://x/file:///y" is reserved',
      'export "skill": "skill://x/SKILL.md" is reserved',
      'export "spaced": a prompt: "name" must be at most 128 letters, digits, _, - and .',
      'export "watched": watch is never called in a module file',
    ]);
    expect((await workspace.toolbox().catalog.resources.list()).map(({ uri }) => uri)).toEqual([
      'notes://1',
      'notes://2',
    ]);
  });
});
