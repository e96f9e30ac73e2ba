// Reading resources around rules and filters: by other spellings of a URI, and through the door of another tool.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import type { DoorOptions } from '../../src/core/toolbox.js';
import { createToolbox, defineTool, textOf } from '../../src/index.js';
import { createModuleWorkspace } from '../support/modules.js';
import { patience } from '../support/patience.js';
import { finding, spec } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const SERVER = fileURLToPath(new URL('../support/offers-server.mjs', import.meta.url));
const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

const OFFERS = {
  tools: [{ name: 'link', inputSchema: { type: 'object' } }],
  resources: [{ uri: 'file:///etc/listed', name: 'listed' }],
  templates: [{ uriTemplate: 'file:///{+path}', name: 'file' }],
};

// The URI at the server, and spellings of it in what a model asks for.
const SPELLINGS = [
  'mcp://far/file:///etc/secret',
  'mcp://f%61r/file:///etc/secret',
  'mcp://%66%61%72/file:///etc/secret',
  'mcp://far/file:///tmp/../etc/secret',
  'mcp://far/file:///./etc//secret',
  'mcp://far/file:///%65tc/secret',
  'mcp://far/file:///tmp/%2e%2e/etc/secret',
  'mcp://far/file:///tmp%252f..%252fetc/secret',
  'mcp://far/FILE:///etc/secret',
  'mcp://far/file:/etc/secret',
  'mcp://far/file:///etc\\secret',
];

/** A workspace with several servers, by name. */
function createServers(servers: Readonly<Record<string, { readonly entry?: object; readonly offers: object }>>) {
  const workspace = createWorkspace();
  const entries = Object.entries(servers).map(([name, { entry, offers }]) => {
    const file = join(workspace.home, `${name}.json`);
    writeFileSync(file, JSON.stringify(offers));
    const args = [SERVER, join(workspace.home, `${name}.starts`), file];
    return [name, { command: process.execPath, args, ...entry }];
  });
  configureServers(workspace, Object.fromEntries(entries));
  return workspace;
}

function createFar(entry: object = {}, offers: object = OFFERS) {
  const workspace = createWorkspace();
  const file = join(workspace.home, 'offers.json');
  writeFileSync(file, JSON.stringify(offers));
  const command = { command: process.execPath, args: [SERVER, join(workspace.home, 'far.starts'), file] };
  configureServers(workspace, { far: { ...command, ...entry } });
  return workspace;
}

async function read(workspace: Workspace, uris: readonly string[]) {
  const toolbox = workspace.toolbox();
  const found: [string, string | undefined][] = [];
  for (const uri of uris) found.push([uri, (await toolbox.catalog.resources.read(uri, MODEL)).error?.code]);
  return found;
}

const all = (uris: readonly string[], code: string | undefined) => uris.map((uri) => [uri, code]);

describe('a resource of a server', () => {
  for (const [what, offers] of Object.entries({
    'that a template covers': OFFERS,
    'that is not listed': { tools: OFFERS.tools, resources: OFFERS.resources },
  })) {
    spec('RSC-1', `${what} is denied in every spelling of its URI`, async () => {
      const workspace = createFar({}, offers);
      expect(await read(workspace, ['mcp://far/file:///home/a', ...SPELLINGS.slice(0, 1)])).toEqual(
        all(['mcp://far/file:///home/a', ...SPELLINGS.slice(0, 1)], undefined),
      );
      workspace.config('[trust]\nrules = ["resource:mcp://far/file:///etc/*($deny)"]\n');
      expect(await read(workspace, SPELLINGS)).toEqual(all(SPELLINGS, 'denied'));
      expect(await read(workspace, ['mcp://far/file:///home/a'])).toEqual([['mcp://far/file:///home/a', undefined]]);
    });
  }

  spec('RSC-1', 'of a server that keeps its names is denied by both names', async () => {
    const workspace = createFar({ prefix: false });
    const uris = ['file:///etc/secret', 'file:///tmp/../etc/secret', ...SPELLINGS.slice(0, 6)];
    for (const rule of ['resource:file:///etc/*', 'resource:mcp://far/file:///etc/*']) {
      workspace.config(`[trust]\nrules = ["${rule}($deny)"]\n`);
      expect(await read(workspace, uris)).toEqual(all(uris, 'denied'));
    }
    const { resources } = workspace.toolbox().catalog;
    expect((await resources.list(MODEL)).map(({ uri }) => uri)).not.toContain('file:///etc/listed');
  });

  spec('RSC-1 UPS-2', 'that the filter of the entry leaves out cannot be read by its URI', async () => {
    const uris = [...SPELLINGS, 'mcp://far/file:///etc/listed'];
    const allowing = createFar({ allow: ['link'] });
    expect(await read(allowing, uris)).toEqual(all(uris, 'not_found'));
    const denying = createFar({ deny: ['resource:file:///etc/*', 'file:///etc/*'] });
    expect(await read(denying, uris)).toEqual(all(uris, 'not_found'));
    expect(await read(denying, ['mcp://far/file:///home/a'])).toEqual([['mcp://far/file:///home/a', undefined]]);
  });
});

spec('RSC-1 MOD-33', 'a resource of a module file is denied in every spelling of its URI', async () => {
  const workspace = createModuleWorkspace();
  workspace.module(
    'notes.tool.ts',
    `import { defineResource } from 'wield';
export const note = defineResource({ uri: 'notes:///{+path}', name: 'note', read: (uri: string) => uri });`,
  );
  const uris = ['notes:///secret/1', 'notes:///open/../secret/1', 'notes:///%73ecret/1', 'notes:///./secret//1'];
  expect(await read(workspace, uris)).toEqual(all(uris, undefined));
  workspace.config('[trust]\nrules = ["resource:notes:///secret/*($deny)"]\n');
  expect(await read(workspace, uris)).toEqual(all(uris, 'denied'));
  expect(await read(workspace, ['notes:///open/1'])).toEqual([['notes:///open/1', undefined]]);
});

describe('a server that lists what others have', () => {
  const TOOL = { description: 'D', inputSchema: { type: 'object' } };

  spec('RSC-8', 'is not asked for the URIs of other servers, of servers that keep theirs, or of skills', async () => {
    const uris = ['mcp://far/notes://one', 'mcp://gone/notes://one', 'skill://own/SKILL.md', 'context://own.md'];
    const workspace = createServers({
      near: { entry: { prefix: false }, offers: { templates: [{ uriTemplate: 'file:///{path}', name: 'file' }] } },
      far: { entry: { disabled: true }, offers: { resources: [{ uri: 'notes://one', name: 'one' }] } },
      evil: { offers: { resources: [...uris, 'file:///kept'].map((uri) => ({ uri, name: 'x' })) } },
      keeping: { entry: { prefix: false }, offers: { resources: uris.map((uri) => ({ uri, name: 'x' })) } },
    });
    expect(await read(workspace, [...uris, 'file:///kept'])).toEqual([
      ...all(uris, 'not_found'),
      ['file:///kept', undefined],
    ]);
    const { resources } = workspace.toolbox().catalog;
    expect((await resources.list(MODEL)).map(({ uri }) => uri)).not.toContain('skill://own/SKILL.md');
    expect((await resources.read('file:///kept', MODEL)).content).toMatchObject([
      { resource: { uri: 'file:///kept' } },
    ]);
  });

  spec('UPS-25', 'has no tool or prompt with the prefix of another server', async () => {
    const workspace = createServers({
      git: {
        offers: {
          tools: [
            { ...TOOL, name: 'hub_close' },
            { ...TOOL, name: 'hub_new' },
            { ...TOOL, name: 'log' },
          ],
          prompts: [{ name: 'hub_ask' }],
        },
      },
      git_hub: { offers: { tools: [{ ...TOOL, name: 'close' }], prompts: [{ name: 'ask' }] } },
      kept: { entry: { prefix: false }, offers: { tools: [{ ...TOOL, name: 'git_hub_other' }] } },
    });
    // A server of the checkout with the prefix of one of the user.
    const { mcpServers } = JSON.parse(readFileSync(join(workspace.home, '.agents', 'mcp.json'), 'utf8'));
    writeFileSync(
      join(workspace.dir, '.mcp.json'),
      JSON.stringify({ mcpServers: { 'git-hub': mcpServers.git, 'git:hub': mcpServers.git } }),
    );
    const toolbox = workspace.toolbox({ trust: true });
    const tools = (await toolbox.list(MODEL)).filter(({ origin }) => origin.server);
    expect(tools.map(({ name, origin }) => [name, origin.server])).toEqual([
      ['git-hub_hub_close', 'git-hub'],
      ['git-hub_hub_new', 'git-hub'],
      ['git-hub_log', 'git-hub'],
      ['git_hub_close', 'git_hub'],
      ['git_log', 'git'],
      ['kept_git_hub_other', 'kept'],
    ]);
    expect((await toolbox.find('git_hub_close')).origin.server).toBe('git_hub');
    for (const name of ['git_hub_new', 'git_hub_log', 'git_hub_other', 'mcp://git/hub_new'])
      expect([name, (await toolbox.call(name, {}, MODEL)).error?.code]).toEqual([name, 'not_found']);
    const prompts = await toolbox.catalog.prompts.list(MODEL);
    expect(prompts.filter(({ name }) => name.startsWith('git_')).map(({ tool }) => tool.origin.server)).toEqual([
      'git_hub',
    ]);
  });

  finding('B23 RSC-8', 'templates with many expressions take no time', async () => {
    const templates = ['x:{+a}{+b}{+c}{+d}!', 'x:{a}{b}{c}{d}{e}!', 'x:{?a}{?b}{?c}{?d}!', 'x:{/a*}{/b*}{/c*}{/d*}!'];
    for (let at = 0; at < 300; at++) templates.push(`x:${'{a}b'.repeat(60)}${at}!`);
    const offers = { templates: templates.map((uriTemplate) => ({ uriTemplate, name: 'x' })) };
    const workspace = createServers({ far: { offers } });
    const toolbox = workspace.toolbox();
    await toolbox.list(MODEL);
    const began = process.cpuUsage();
    for (const uri of ['a', '?a', '/a', 'bbbbbbbbbbbbb'].map((text) => `x:${text.repeat(300)}`))
      await toolbox.catalog.resources.read(`mcp://far/${uri}`, MODEL);
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(patience(500));
  });

  finding('B13 UPS-4', 'and sends messages all the time leaves others their turns', async () => {
    const workspace = createServers({ far: { offers: { tools: [{ ...TOOL, name: 'talk' }], logs: 1500 } } });
    let inTurn = 0;
    let most = 0;
    let total = 0;
    const onLog = (): void => {
      if (inTurn++ === 0)
        setImmediate(() => {
          inTurn = 0;
        });
      most = Math.max(most, inTurn);
      total++;
    };
    await workspace.toolbox().call('far_talk', {}, { ...MODEL, onLog, logLevel: 'info' } as DoorOptions);
    expect([total > 1000, most < 250]).toEqual([true, true]);
  });
});

spec('SRV-9 POL-3', 'a tool of a program named call_tool is called itself', async () => {
  const inputSchema = { type: 'object', properties: { name: { type: 'string' } } } as const;
  const own = (name: string) => defineTool({ name, description: 'D', inputSchema, execute: () => `own ${name}` });
  const toolbox = createToolbox({ tools: [own('call_tool'), own('other')] });
  expect(textOf(await toolbox.call('call_tool', { name: 'other' }, MODEL))).toBe('own call_tool');
});

describe('a document or skill of wield', () => {
  spec('RSC-5 POL-3', 'is not read as a resource against the rules of the tool that reads it', async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: D.\n---\nText.\n');
    const create = () => workspace.toolbox({ trust: true, offer: ['context'] });
    for (const path of ['secret/a', 'open/a']) await create().call('context_write', { path, content: 'kept' });
    const documents = ['context://secret/a', 'context://./secret//a', 'context://secret/%2E/a', 'context://%73ecret/a'];
    const uris = [...documents, 'context://open/a', 'skill://notes/SKILL.md'];
    const codes = async () => {
      const { resources } = create().catalog;
      return Promise.all(uris.map(async (uri) => (await resources.read(uri, MODEL)).error?.code));
    };
    const none = undefined;
    expect(await codes()).toEqual([none, none, none, none, none, none]);
    for (const [rule, expected] of [
      ['context_read(path=secret/*,$deny)', ['denied', 'denied', 'denied', 'denied', none, none]],
      ['context_read(path=secret/*,$policy=ask)', ['denied', 'denied', 'denied', 'denied', none, none]],
      ['context_*($deny)', ['denied', 'denied', 'denied', 'denied', 'denied', none]],
      ['resource:context://secret/*($deny)', ['denied', 'denied', 'denied', 'denied', none, none]],
      ['read_skill(skill_name=notes,$deny)', [none, none, none, none, none, 'denied']],
    ] as const) {
      workspace.config(`[trust]\nrules = [${JSON.stringify(rule)}]\n`);
      expect([rule, await codes()]).toEqual([rule, expected]);
    }
  });

  spec('POL-4 CTX-12', 'a rule on a path matches other spellings of it', async () => {
    const workspace = createWorkspace();
    workspace.config('[builtin]\noffer = ["context"]\n[trust]\nrules = ["context_*(path=secret/*,$deny)"]\n');
    const toolbox = workspace.toolbox();
    for (const path of ['secret/a', './secret/a', 'secret//a', 'secret/./a', 'open/../secret/a'])
      for (const [tool, input] of [
        ['context_read', { path }],
        ['context_write', { path, content: 'x' }],
      ] as const)
        expect([tool, path, (await toolbox.call(tool, input, MODEL)).error?.code]).toEqual([tool, path, 'denied']);
  });
});
