// Module files: discovery, imports, and their tools in all doors.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../../support/modules.js';
import { spec } from '../../support/spec.js';

const NOTE = `import { defineTool } from "wield";
import { z } from "zod";

export const noteRead = defineTool({
  name: "note_read",
  description: "Read a note.",
  group: "note",
  inputSchema: z.object({ path: z.string().describe("Path"), limit: z.number().int().default(20) }),
  execute: async ({ path, limit }, context) => ({ path, limit, workdir: context.workdir }),
});
`;

const names = async (workspace: ModuleWorkspace): Promise<string[]> =>
  (await workspace.toolbox().list()).map((tool) => tool.name);
const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('finding', () => {
  spec.thorough('MOD-7', 'loads a TypeScript file in an empty directory, with wield and zod', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('note.tool.ts', NOTE);
    const [tool] = await workspace.toolbox().list();
    expect(tool).toMatchObject({
      name: 'note_read',
      description: 'Read a note.',
      traits: { group: 'note' },
    });
    expect(tool?.input.json).toMatchObject({
      properties: { path: { description: 'Path' }, limit: { default: 20 } },
      required: ['path'],
    });
    const run = await wield(workspace, ['call', 'note_read', '--path', 'a.md', '--json']);
    expect(json(run).structured).toEqual({ path: 'a.md', limit: 20, workdir: workspace.dir });
  });

  spec('MOD-7', 'loads every extension, and several definitions in one file', async () => {
    const workspace = createModuleWorkspace();
    for (const ending of ['ts', 'mts', 'js', 'mjs']) {
      workspace.module(`${ending}.tool.${ending}`, moduleText(`tool_${ending}`, `() => import.meta.url`));
    }
    workspace.module(
      'two.tool.ts',
      `const make = (name: string) => ({ name, description: 'D', execute: () => name });
export const one = make('one');
export const other = make('two');
export default one;
export const helper = 3;
`,
    );
    for (const other of ['plain.ts', 'x.tool.cjs', 'x.tool.test.ts', '.hidden.tool.ts', 'x.tool.tsx'])
      workspace.module(other, moduleText(`never_${other.replace(/\W/g, '_')}`, '() => 1'));
    expect((await names(workspace)).sort()).toEqual(['one', 'tool_js', 'tool_mjs', 'tool_mts', 'tool_ts', 'two']);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('two', {}))).toBe('two');
    expect(textOf(await toolbox.call('tool_mts', {}))).toMatch(/^file:.*\/mts.tool.mts$/);
  });

  spec('MOD-42', 'loads definitions in an exported array', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'all.tool.mjs',
      `const make = (name) => ({ name, description: 'D', execute: () => name });
export const first = make('first');
export default [first, make('second'), 'text'];
export const more = [make('third')];
export const numbers = [1, 2];
`,
    );
    expect((await names(workspace)).sort()).toEqual(['first', 'second', 'third']);
    const toolbox = workspace.toolbox();
    for (const name of ['first', 'second', 'third']) expect(textOf(await toolbox.call(name, {}))).toBe(name);
    workspace.module('bad.tool.mjs', "export default [{ name: 'bad', inputSchema: 3, execute() {} }];\n");
    expect((await wield(workspace, ['check'])).stdout).toContain('export "default[0]"');
  });

  spec('MOD-7', 'supports relative imports, packages, JSON and CommonJS', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('node_modules/pad/package.json', '{ "name": "pad", "exports": { "import": "./x.mjs" } }');
    workspace.write('node_modules/pad/x.mjs', 'export const pad = (text) => "[" + text + "]";');
    workspace.write('node_modules/old/package.json', '{ "name": "old", "main": "x.cjs" }');
    workspace.write('node_modules/old/x.cjs', 'exports.old = () => require("older").older;');
    workspace.write('node_modules/older/package.json', '{ "name": "older", "main": "x.js" }');
    workspace.write('node_modules/older/x.js', 'exports.older = "old";');
    workspace.write('lib/shape.ts', 'export interface Shape { x: number }\nexport enum Kind { Big = "big" }\n');
    workspace.write('lib/data.json', '{ "answer": 42 }');
    workspace.write('lib/late.mjs', 'export const late = "late";');
    workspace.module(
      'all.tool.ts',
      `import { basename } from 'node:path';
import fs from 'fs';
import { pad } from 'pad';
import { old } from 'old';
import { older } from 'older';
import data from '../../lib/data.json' with { type: 'json' };
import { Kind, Shape } from '../../lib/shape.js';
import { twice } from './helper';

class Box { constructor(private readonly shape: Shape) {} get x(): number { return this.shape.x; } }
namespace Inner { export const word = 'inner'; }

export const all = {
  name: 'all',
  description: 'D',
  execute: async () => {
    const { late } = await import('../../lib/late.mjs');
    const real = typeof fs.readFileSync;
    return [pad('x'), old(), old() === older, data.answer, Kind.Big, twice(new Box({ x: 2 }).x), Inner.word, late, real,
      basename(import.meta.filename)];
  },
};
`,
    );
    workspace.module('helper.ts', 'export const twice = (n: number): number => n * 2;');
    expect((await workspace.toolbox().call('all', {})).structured).toEqual([
      '[x]',
      'old',
      true,
      42,
      'big',
      4,
      'inner',
      'late',
      'function',
      'all.tool.ts',
    ]);
  });

  spec.thorough('MOD-7', "a project's own zod is used where it has one", async () => {
    const workspace = createModuleWorkspace();
    workspace.write('node_modules/zod/package.json', '{ "name": "zod", "main": "x.mjs" }');
    workspace.write('node_modules/zod/x.mjs', `export const z = "the project's own";`);
    workspace.module('which.tool.js', moduleText('which', '() => z', `import { z } from 'zod';`));
    expect(textOf(await workspace.toolbox().call('which', {}))).toBe("the project's own");
  });

  spec('MOD-14', 'reads a function with frontmatter: tags, visibility, role, params', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'send-mail.tool.ts',
      `export const frontmatter = {
  description: 'Send a mail.',
  metadata: {
    tags: ['API', 'Out Going'],
    visibility: 'hidden',
    role: 'action',
    params: { to: { type: 'string', description: 'Whom', required: true }, copies: { type: 'integer', default: 1 } },
  },
};
export function unrelated(): string { return 'no'; }
export function sendMail(input: { to: string; copies: number }): string { return \`\${input.to} x\${input.copies}\`; }
`,
    );
    workspace.module(
      'plain.tool.mjs',
      `export const frontmatter = { name: 'renamed', description: 'D' };\nexport function execute() { return 'ran'; }`,
    );
    const nothing = `{ name: 'nothing', description: 'D', metadata: { params: null } }`;
    workspace.module('no.tool.mjs', `export const frontmatter = ${nothing};\nexport default () => 'none';`);
    workspace.module('bare.tool.mjs', `export const frontmatter = { description: 'D' };`);
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['nothing', 'renamed']);
    expect((await toolbox.find('nothing')).input.json).toMatchObject({ type: 'object', properties: {} });
    const tool = await toolbox.find('send-mail');
    expect(tool.traits).toMatchObject({ tags: ['api', 'out-going'], hidden: true, role: 'action' });
    expect(tool.input.json).toMatchObject({ required: ['to'], properties: { to: { description: 'Whom' } } });
    expect(textOf(await toolbox.call('send-mail', { to: 'Ada' }))).toBe('Ada x1');
    expect((await toolbox.call('send-mail', {})).error?.code).toBe('invalid_input');
    expect((await toolbox.call('renamed', { more: 1 })).error?.code).toBe('invalid_input');
    expect(textOf(await toolbox.call('renamed', {}))).toBe('ran');
    expect(await toolbox.catalog.problems()).toMatchObject([
      { path: expect.stringContaining('bare.tool.mjs'), message: expect.stringContaining('no function') },
    ]);
  });

  spec('MOD-10', 'adds a typed tool with one file, for model, shell and help', async () => {
    const workspace = createModuleWorkspace();
    const before = filesBelow(workspace.dir);
    workspace.module('note.tool.ts', NOTE);
    expect(filesBelow(workspace.dir).filter((file) => !before.includes(file))).toEqual([
      join(workspace.dir, '.agents/tools/note.tool.ts'),
    ]);
    const client = await connectStdio(workspace, 'newer', []);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      { name: 'note_read', inputSchema: { required: ['path'] } },
      { name: 'query_result' },
      { name: 'read_result' },
    ]);
    const called = await client.callTool({ name: 'note_read', arguments: { path: 'a.md' } });
    expect(called.content).toMatchObject([{ text: expect.stringContaining('"limit":20') }]);
    const help = await wield(workspace, ['call', 'note_read', '--help']);
    expect(help.stdout).toContain('Path');
    expect((await wield(workspace, ['call', 'note_read', '--path', 'a.md', '--limit', '5'])).stdout).toContain(
      '"limit":5',
    );
    expect(filesBelow(workspace.dir)).toHaveLength(before.length + 1);
  });
});
