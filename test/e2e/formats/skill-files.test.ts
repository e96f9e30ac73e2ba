// The files of a skill: what a model reads of them, page by page, and what it cannot reach.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'mcp' } } as const;
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

function createSkill(
  files: Readonly<Record<string, string | Uint8Array>>,
  text = 'Read references/style.md.',
): Workspace {
  const workspace = createWorkspace();
  workspace.write('.agents/skills/notes/SKILL.md', `---\nname: notes\ndescription: Take notes.\n---\n${text}\n`);
  for (const [path, content] of Object.entries(files)) workspace.write(`.agents/skills/notes/${path}`, content);
  return workspace;
}

const reader = (workspace: Workspace) => {
  const toolbox = workspace.toolbox();
  return (input: object = {}) => toolbox.call('read_skill', { skill_name: 'notes', ...input }, MODEL);
};

describe('the files of a skill', () => {
  spec('SKL-9 SKL-2', 'are named with its directory, and read by their path', async () => {
    const workspace = createSkill({
      'references/style.md': 'Short sentences.',
      'references/deep/more.md': 'More.',
      'assets/logo.png': PNG,
      'assets/latin.txt': Buffer.from('caf\xe9', 'latin1'),
      'assets/form.pdf': '%PDF-1.7 …',
      'node_modules/x/index.js': 'x',
    });
    const directory = join(workspace.dir, '.agents/skills/notes');
    const read = reader(workspace);
    const text = textOf(await read());
    expect(text).toContain(`Directory of the skill: ${directory}\n`);
    for (const path of ['references/style.md', 'references/deep/more.md', 'assets/logo.png'])
      expect(text).toContain(`  ${path} (`);
    expect(text).not.toContain('node_modules');
    for (const file of [
      'references/style.md',
      './references/style.md',
      'references/deep/../style.md',
      'references\\style.md',
      `${directory}/references/style.md`,
    ])
      expect([file, textOf(await read({ file }))]).toEqual([file, 'Short sentences.']);
    expect((await read({ file: 'assets/logo.png' })).content).toEqual([
      { type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' },
    ]);
    expect(textOf(await read({ file: 'assets/latin.txt' }))).toBe('café');
    expect(textOf(await read({ file: 'assets/form.pdf' }))).toContain(`at ${directory}/assets/form.pdf`);
    expect(textOf(await read({ file: 'references/' }))).toMatch(/deep\/more\.md .*\n {2}references\/style\.md/);
    expect((await read({ file: 'style.md' })).error).toMatchObject({
      code: 'not_found',
      hint: 'did you mean references/style.md?',
    });
  });

  spec('SKL-9 RES-46', 'do not lead out of it, by a path or a link, in a trusted workspace neither', async () => {
    const workspace = createSkill({ 'references/style.md': 'x' });
    const directory = join(workspace.dir, '.agents/skills/notes');
    const secret = workspace.write('secret.txt', 'SECRET');
    workspace.write('.agents/skills/notes-2/SKILL.md', '---\nname: notes-2\ndescription: D.\n---\nSECRET\n');
    symlinkSync(secret, join(directory, 'link.txt'));
    symlinkSync(workspace.dir, join(directory, 'all'));
    symlinkSync('style.md', join(directory, 'references/same.md'));
    for (const trust of [false, true]) {
      const toolbox = workspace.toolbox({ trust });
      const read = (input: object) => toolbox.call('read_skill', { skill_name: 'notes', ...input }, MODEL);
      for (const file of [
        '../../../secret.txt',
        'references/../../../../secret.txt',
        '../notes-2/SKILL.md',
        secret,
        '/etc/passwd',
        'link.txt',
        'all/secret.txt',
        'all',
        'a\0b',
        '..',
      ]) {
        const result = await read({ file });
        expect([file, result.ok, JSON.stringify(result).includes('SECRET')]).toEqual([file, false, false]);
        // A path is refused as such; only links are opened.
        if (!/^(?:link|all)/.test(file)) expect(result.error?.message, file).toContain('is not inside the skill');
        const uri = `skill://notes/${encodeURIComponent(file)}`;
        expect([uri, (await toolbox.catalog.resources.read(uri, MODEL)).ok]).toEqual([uri, false]);
      }
      const text = textOf(await read({}));
      expect([text.includes('link.txt'), text.includes('secret.txt'), text.includes('references/same.md')]).toEqual([
        false,
        false,
        true,
      ]);
      expect(textOf(await read({ file: 'references/same.md' }))).toBe('x');
    }
  });

  spec('SKL-9', 'of a large skill are listed up to a limit, and read up to a limit', async () => {
    const workspace = createSkill({ 'big.txt': 'x'.repeat(4 * 1024 * 1024 + 1) });
    const directory = join(workspace.dir, '.agents/skills/notes/many');
    mkdirSync(directory);
    for (let at = 0; at < 600; at++) writeFileSync(join(directory, `${at}.md`), '');
    const read = reader(workspace);
    const text = textOf(await read());
    expect(text.match(/many\//g)!.length).toBeLessThanOrEqual(512);
    expect(text).toContain('… and more');
    expect((await read({ file: 'big.txt' })).error).toMatchObject({
      code: 'too_large',
      hint: expect.stringContaining('big.txt'),
    });
  });
});

describe('a long skill', () => {
  spec('SKL-10', 'is returned whole up to 100,000 characters, as a tool too', async () => {
    const body = `# Start\n${'word '.repeat(19_500)}END`;
    const workspace = createSkill({ 'long.md': body }, body);
    const toolbox = workspace.toolbox();
    for (const input of [{ skill_name: 'notes' }, { skill_name: 'notes', file: 'long.md' }]) {
      const result = await toolbox.call('read_skill', input, MODEL);
      expect([textOf(result).includes(body), result.meta.handle]).toEqual([true, undefined]);
    }
    expect(textOf(await toolbox.call('notes', {}, MODEL))).toContain('END');
  });

  spec('SKL-10', 'beyond that has pages, cut at headings outside code', async () => {
    const chapter = (at: number) =>
      `## Chapter ${at}\n\`\`\`sh\n# a comment\n\`\`\`\n${`line of ${at}\n`.repeat(3000)}`;
    const body = Array.from({ length: 10 }, (_, at) => chapter(at)).join('');
    const workspace = createSkill({ 'flat.txt': 'y'.repeat(250_000) }, body);
    const read = reader(workspace);
    const first = await read();
    const [, count] = /\[page 1 of (\d+); the others:/.exec(textOf(first))!;
    expect(textOf(first)).toMatch(/read_skill \{"skill_name":"notes","page":2\} begins at: ## Chapter \d/);
    const pages: string[] = [];
    for (let page = 1; page <= Number(count); page++) {
      const [part] = (await read({ page })).content;
      pages.push((part as { text: string }).text);
    }
    expect(pages.join('')).toContain(body);
    expect(pages.slice(1).every((page) => page.startsWith('## Chapter'))).toBe(true);
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(100_000);
    expect((await read({ page: 99 })).error?.code).toBe('invalid_input');
    expect(((await read({ file: 'flat.txt', page: 3 })).content[0] as { text: string }).text).toHaveLength(50_000);
  });
});
