// `wield new` and `wield remove`: tools that work, their tests, and undo.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { createInstallWorkspace, DETECT } from '../../support/install.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const run = async (workspace: Workspace, ...args: readonly string[]) =>
  json(await wield(workspace, [...args, '--json']));

const DOCUMENT = {
  openapi: '3.0.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.example' }],
  paths: {
    '/pets': { get: { operationId: 'listPets', responses: {} }, post: { operationId: 'addPet', responses: {} } },
  },
};

spec.thorough('CLI-28', 'creates tools that work, each with a test that passes', async () => {
  const workspace = createWorkspace();
  for (const kind of ['bash', 'python', 'node', 'ts', 'tools-json']) {
    const name = `greet-${kind}`;
    const made = await run(workspace, 'new', name, ...(kind === 'bash' ? [] : [`--${kind}`]));
    expect(made).toMatchObject({ ok: true, trusted: true });
    expect(made.created.at(-1)).toBe(`.agents/tests/${name}.sh`);
  }
  workspace.write('pets.json', JSON.stringify(DOCUMENT));
  await run(workspace, 'new', 'pets', '--openapi', 'pets.json');
  const { tools, problems } = await run(workspace, 'list');
  expect(problems).toEqual([]);
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['greet-bash', 'greet-node', 'greet-python', 'greet-tools-json', 'greet-ts', 'list_pets']),
  );
  workspace.write('bin/wield', `#!/bin/sh\nexec '${process.execPath}' '${binary()}' "$@"\n`, 0o755);
  const env = { ...workspace.env, PATH: `${join(workspace.dir, 'bin')}:${workspace.env.PATH}` };
  const test = (name: string): string =>
    execFileSync('sh', [`.agents/tests/${name}.sh`], { cwd: workspace.dir, env, encoding: 'utf8' });
  for (const name of ['greet-bash', 'greet-python', 'greet-node', 'greet-ts', 'greet-tools-json', 'pets'])
    expect(test(name)).toBe(`${name}: ok\n`);
  // A test that cannot fail would be none.
  writeFileSync(
    join(workspace.dir, '.agents/tools/greet-bash'),
    '#!/bin/sh\n# @description x\n# @param text string x\necho no\n',
  );
  expect(() => test('greet-bash')).toThrow(/got no/);
});

spec('CLI-28 CLI-32', 'creates a tool that has the given name, and does nothing else yet', async () => {
  const workspace = createWorkspace();
  for (const kind of ['bash', 'tools-json']) {
    const name = `backup-${kind}`;
    await run(workspace, 'new', name, `--${kind}`);
    expect(await wield(workspace, ['call', name, '--text', 'photos'])).toMatchObject({ stdout: `${name}: photos\n` });
    const { tools } = await run(workspace, 'list');
    expect(tools).toContainEqual(
      expect.objectContaining({ name, description: expect.stringContaining(`${name}: write here`), readOnly: null }),
    );
  }
  expect((await wield(workspace, ['check'])).stdout).toContain('no problems');
  const text = readFileSync(join(workspace.dir, '.agents/tools/backup-bash'), 'utf8');
  expect(text).not.toMatch(/greet|hello, /i);
});

spec('CLI-32', 'marks a tool whose name says that it destroys something', async () => {
  const workspace = createWorkspace();
  const made = await wield(workspace, ['new', 'delete-old', '--python']);
  expect(made.stdout).toContain('asks     before a model calls it: "delete" may be destructive');
  await run(workspace, 'new', 'dropTables', '--ts');
  await run(workspace, 'new', 'backup');
  const { tools } = await run(workspace, 'list');
  const marks = tools.map(({ name, destructive }: { name: string; destructive: boolean | null }) => [
    name,
    destructive,
  ]);
  expect(Object.fromEntries(marks)).toEqual({ backup: null, 'delete-old': true, dropTables: true });
  expect((await run(workspace, 'explain', 'delete-old', '--as', 'mcp')).verdict).toBe('ask');
});

spec('CLI-28 RES-40', 'creates tools in the workspace from a directory below it', async () => {
  const workspace = createWorkspace();
  await run(workspace, 'new', 'first');
  workspace.write('src/deep/note.txt', '');
  const cwd = join(workspace.dir, 'src/deep');
  const { stdout } = await wield(workspace, ['new', 'second'], { cwd });
  expect(stdout).toContain('created  ../../.agents/tools/second\n');
  expect(stdout).toContain('Test     sh ../../.agents/tests/second.sh\n');
  expect(existsSync(join(cwd, '.agents'))).toBe(false);
  expect(json(await wield(workspace, ['new', 'third', '--json', '--cwd', cwd]))).toMatchObject({ workdir: cwd });
  expect((await run(workspace, 'trust', '--list')).workspaces).toHaveLength(2);
});

spec('CLI-28', 'changes nothing that exists, and refuses names and flags that do not fit', async () => {
  const workspace = createWorkspace();
  await run(workspace, 'new', 'greet');
  const file = join(workspace.dir, '.agents/tools/greet');
  expect(statSync(file).mode & 0o777).toBe(0o755);
  writeFileSync(file, 'mine');
  expect((await run(workspace, 'new', 'greet')).error.code).toBe('conflict');
  expect(readFileSync(file, 'utf8')).toBe('mine');
  // Its test exists already: nothing of the new one is left.
  expect((await run(workspace, 'new', 'greet', '--ts')).error.code).toBe('conflict');
  expect(existsSync(`${file}.tool.ts`)).toBe(false);
  for (const args of [['../x'], ['a:b'], [], ['x', '--ts', '--node']])
    expect((await run(workspace, 'new', ...args)).error.code).toBe('usage');
  expect((await run(workspace, 'new', 'x', '--openapi', 'none.json')).error.code).toBe('not_found');
  workspace.write('bad.json', '{}');
  expect((await run(workspace, 'new', 'x', '--openapi', 'bad.json')).error.code).toBe('invalid_definition');
  expect(existsSync(join(workspace.dir, '.agents/tests/x.sh'))).toBe(false);
});

spec('CLI-28 RES-3', 'refuses a name by which another tool would be called', async () => {
  const workspace = createWorkspace();
  await run(workspace, 'new', 'notes', '--tools-json');
  rmSync(join(workspace.dir, '.agents/tests'), { recursive: true });
  const descriptor = join(workspace.dir, '.agents/skills/notes/tools.json');
  writeFileSync(descriptor, readFileSync(descriptor, 'utf8').replaceAll('"notes"', '"find-note"'));
  await run(workspace, 'new', 'script');
  rmSync(join(workspace.dir, '.agents/tests'), { recursive: true });
  const files = readdirSync(join(workspace.dir, '.agents'), { recursive: true });
  for (const [name, message] of [
    ['call_tool', '"call_tool" is the name of a built-in tool, which would be called instead'],
    ['workdir', expect.stringContaining('a built-in tool')],
    ['read_skill --ts', expect.stringContaining('a built-in tool')],
    ['find-note', expect.stringContaining('a tool in .agents/skills/notes,')],
    ['script --ts', expect.stringContaining('a tool in .agents/tools,')],
    ['workdir --dry-run', expect.stringContaining('a built-in tool')],
  ] as const)
    expect((await run(workspace, 'new', ...name.split(' '))).error).toMatchObject({ code: 'conflict', message });
  expect(readdirSync(join(workspace.dir, '.agents'), { recursive: true })).toEqual(files);
  // Those that give way to a script, and your own.
  mkdirSync(join(workspace.home, '.agents/tools'), { recursive: true });
  const own = '#!/bin/sh\n# @description D\necho own\n';
  writeFileSync(join(workspace.home, '.agents/tools/mine'), own, { mode: 0o755 });
  for (const name of ['complete_task', 'mine']) {
    expect(await run(workspace, 'new', name)).toMatchObject({ ok: true });
    expect((await wield(workspace, ['call', name, '--text', 'x'])).stdout).toBe(`${name}: x\n`);
  }
});

spec('CLI-5', 'init proposes no call that runs another tool', async () => {
  const workspace = createWorkspace();
  await run(workspace, 'new', 'hello', '--tools-json');
  const { stdout } = await wield(workspace, ['init']);
  expect(stdout).toContain('exists   hello                  a tool in .agents/skills/hello\n');
  expect(stdout).toContain('Try      wield list\n');
  expect(existsSync(join(workspace.dir, '.agents/tools'))).toBe(false);
  const other = createWorkspace();
  await wield(other, ['init']);
  expect((await wield(other, ['init'])).stdout).toContain('Try      wield call hello --name Ada\n');
  other.script('hello', '#!/bin/sh\n# @description D\necho own\n');
  expect((await wield(other, ['init'])).stdout).toContain('Try      wield list\n');
});

spec('CLI-29', 'removes a tool with its test, and brings it back unchanged', async () => {
  const workspace = createWorkspace();
  for (const kind of ['bash', 'ts', 'tools-json']) await run(workspace, 'new', `greet-${kind}`, `--${kind}`);
  workspace.write('pets.json', JSON.stringify(DOCUMENT));
  await run(workspace, 'new', 'pets', '--openapi', 'pets.json');
  const names = async () => (await run(workspace, 'list')).tools.map(({ name }: { name: string }) => name);
  const before = await names();
  const script = join(workspace.dir, '.agents/tools/greet-bash');
  const [text, mode] = [readFileSync(script, 'utf8'), statSync(script).mode];
  expect((await run(workspace, 'remove', 'greet-bash', '--dry-run')).removed).toHaveLength(2);
  expect(existsSync(script)).toBe(true);
  for (const name of ['greet-bash', 'greet-ts', 'greet-tools-json', 'pets'])
    expect((await run(workspace, 'remove', name)).removed).toHaveLength(2);
  expect(await names()).toEqual([]);
  expect(existsSync(join(workspace.dir, '.agents/tests/greet-bash.sh'))).toBe(false);
  expect((await run(workspace, 'remove', '--undo')).name).toBe('pets');
  expect((await run(workspace, 'remove', '--undo', 'greet-bash')).restored).toHaveLength(2);
  for (const name of ['greet-tools-json', 'greet-ts']) await run(workspace, 'remove', '--undo', name);
  expect(await names()).toEqual(before);
  expect([readFileSync(script, 'utf8'), statSync(script).mode]).toEqual([text, mode]);
  expect((await run(workspace, 'list')).trusted ?? true).toBe(true);
  expect((await run(workspace, 'remove', '--undo')).error.code).toBe('not_found');
  await run(workspace, 'remove', 'greet-bash');
  writeFileSync(script, 'another');
  expect((await run(workspace, 'remove', '--undo')).error.code).toBe('conflict');
  expect(readFileSync(script, 'utf8')).toBe('another');
});

spec.thorough('CLI-29', 'refuses what is not a file of the user, and removes a source by its name', async () => {
  const workspace = createInstallWorkspace();
  workspace.write('pets.json', JSON.stringify(DOCUMENT));
  await run(workspace, 'new', 'pets', '--openapi', 'pets.json');
  expect((await run(workspace, 'remove', 'list_pets')).error).toMatchObject({
    code: 'conflict',
    hint: expect.stringContaining('wield remove pets'),
  });
  expect((await run(workspace, 'remove', 'nothing')).error.code).toBe('not_found');
  expect((await run(workspace, 'remove')).error.code).toBe('usage');
  await workspace.json('add', workspace.source('team', DETECT), '--yes');
  expect((await workspace.fail('remove', 'detect')).hint).toContain('wield uninstall tool:detect');
  expect(await workspace.json('remove', 'team', '--yes')).toMatchObject({ sources: ['team'] });
});
