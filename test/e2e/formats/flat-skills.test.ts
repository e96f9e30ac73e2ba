// Skills in single files: Markdown with frontmatter, and modules that export it, by path and by search path.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { findAuthority } from '../../../src/helpers.js';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { createModuleWorkspace } from '../../support/modules.js';
import { finding, spec } from '../../support/spec.js';

const skill = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nText of ${name}.\n`;
const PLAIN = `export const frontmatter = { name: 'plain', description: 'Plain.', metadata: { params: { who: { type: 'string' } } } };
export default ({ who }) => 'Hello, ' + who;
`;

describe('a skill in a file', () => {
  finding('001-22 SKL-7', 'is found by path and on the search path', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('skills/flat.md', skill('flat', 'metadata:\n  params: { city: string }\n'));
    workspace.write('tools/plain.js', PLAIN);
    workspace.write('elsewhere/far.md', skill('far'));
    workspace.write('elsewhere/far.mjs', PLAIN);
    const toolbox = workspace.toolbox();
    for (const ref of ['flat', './skills/flat.md', join(workspace.dir, 'skills/flat.md'), 'skills/flat.md#flat'])
      expect([ref, textOf(await toolbox.call(ref, {}))]).toEqual([ref, 'Text of flat.\n']);
    for (const ref of ['plain', './tools/plain.js', './elsewhere/far.mjs'])
      expect([ref, textOf(await toolbox.call(ref, { who: 'Ada' }))]).toEqual([ref, 'Hello, Ada']);
    expect(textOf(await toolbox.call('./elsewhere/far.md', {}))).toBe('Text of far.\n');
    expect((await toolbox.call('far', {})).error?.code).toBe('not_found');
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(expect.arrayContaining(['flat', 'plain']));
    expect(textOf(await toolbox.call('read_skill', { skill_name: 'flat' }))).toContain('Text of flat.');
    expect((await wield(workspace, ['call', './skills/flat.md'])).stdout).toBe('Text of flat.\n');
  });

  finding('001-12', 'with a name of more than 64 characters is tried as a file', async () => {
    const workspace = createModuleWorkspace();
    const long = `${'a'.repeat(62)}.md`;
    workspace.write(long, skill('long'));
    workspace.write('b'.repeat(65), '#!/bin/sh\n# @description Too long.\n', 0o755);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call(long, {}))).toBe('Text of long.\n');
    expect((await toolbox.call('b'.repeat(65), {})).error).toMatchObject({
      message: expect.stringContaining('the file name is not a tool name'),
    });
    expect((await toolbox.call('c'.repeat(65), {})).error?.code).toBe('invalid_ref');
  });

  spec('SKL-7', 'is not listed without a name or a description, and check says why', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('skills/noname.md', '---\ndescription: A skill.\nmetadata: {}\n---\nText.\n');
    workspace.write('skills/bare.md', '---\nname: bare\n---\nText.\n');
    const { stdout } = await wield(workspace, ['check']);
    expect(stdout).toMatch(/noname\.md\n +warning +not listed as a skill: it has no name\n +hint +add name: /);
    expect(stdout).toMatch(/bare\.md\n +warning +not listed as a skill: it has no description/);
  });

  spec('SKL-7', 'is not any other file, and nothing is imported to find out', async () => {
    const workspace = createModuleWorkspace();
    const mark = join(workspace.home, 'imported');
    const effect = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(mark)}, '');\n`;
    workspace.write(
      'tools/build.js',
      `${effect}export const tool = { name: 'build', description: 'x', execute() {} };\n`,
    );
    workspace.write('tools/README.md', skill('readme'));
    workspace.write('skills/notes.md', '# Notes\n\nname: notes\n');
    workspace.write('skills/page.md', '---\ntitle: Page\ndescription: Of a site.\n---\n');
    const toolbox = workspace.toolbox();
    expect(await toolbox.list()).toEqual([]);
    expect(await toolbox.catalog.problems()).toEqual([]);
    for (const ref of ['build', 'readme', 'notes', 'page'])
      expect([ref, (await toolbox.call(ref, {})).error?.code]).toEqual([ref, 'not_found']);
    expect(() => writeFileSync(mark, '', { flag: 'wx' })).not.toThrow();
    // A model cannot have it loaded by its path either.
    const model = { caller: { kind: 'model', door: 'test' } } as const;
    workspace.write(
      'tools/other.js',
      `${effect.replace("''", "'x'")}export const tool = { name: 'other', execute() {} };\n`,
    );
    expect((await toolbox.call('./tools/other.js', {}, model)).error?.code).toBe('not_found');
  });

  spec('SKL-7 RES-16 RES-44', 'is listed and called under the same main skill, with code too', async () => {
    const workspace = createModuleWorkspace();
    const code = (name: string) =>
      `---\nname: ${name}\ndescription: Runs.\nmetadata:\n  delegate:\n    code: export default () => 'RAN'\n---\n`;
    const rules = "metadata:\n  trust:\n    rules: ['flat-*($deny)', 'inner($deny)', 'outer($deny)']\n";
    workspace.write('skills/SKILL.md', `---\nname: outer\ndescription: Main.\n${rules}---\nText.\n`);
    workspace.write('skills/flat.md', code('flat-code'));
    workspace.write('skills/inner/SKILL.md', code('inner'));
    workspace.write('skills/free.md', code('free'));
    const model = { caller: { kind: 'model', door: 'test' } } as const;
    const toolbox = workspace.toolbox({ trust: true });
    const listed = (await toolbox.list(model)).map(({ name }) => name);
    const called = async (name: string) => (await toolbox.call(name, {}, model)).error?.code ?? 'ok';
    for (const name of ['flat-code', 'inner', 'free'])
      expect([name, listed.includes(name) ? 'ok' : 'denied']).toEqual([name, await called(name)]);
    expect([await called('flat-code'), await called('free')]).toEqual(['denied', 'ok']);
  });

  spec('SKL-7 RES-16 SKL-4', 'has its own permissions, and is governed by the main skill beside it', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('skills/SKILL.md', skill('main'));
    workspace.write('skills/flat.md', skill('flat', 'allowed-tools: nothing\nmetadata:\n  delegate: leaf\n'));
    workspace.write('skills/leaf.md', skill('leaf'));
    const toolbox = workspace.toolbox();
    expect((await findAuthority(toolbox, 'flat'))?.name).toBe('main');
    expect((await toolbox.call('flat', {})).error?.code).toBe('denied');
    expect((await toolbox.catalog.cascade('leaf')).permissions).toEqual([]);
  });
});
