// Files of tasks that the configuration names.

import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createTasks, namesOf } from '../../support/tasks.js';

const MODEL = { kind: 'model', door: 'mcp', name: 'cursor' } as const;
const PACKAGE = JSON.stringify({
  name: 'site',
  scripts: {
    hello: 'printf "%s|" hi',
    'build:css': 'echo css',
    prebuild: 'echo pre',
    build: 'echo build',
    prepare: 'x',
  },
});

describe.concurrent('files of tasks', () => {
  spec('TSK-1', 'offers nothing without a configuration, and what the filters leave', async () => {
    const workspace = createTasks({ 'package.json': PACKAGE }, '');
    expect(await namesOf(workspace)).toEqual([]);
    expect((await workspace.toolbox().call('./package.json#npm-hello', {})).error?.code).toBe('not_found');
    workspace.write('.agents/config.toml', '[tasks]\nfrom = ["package.json"]\n');
    expect(await namesOf(workspace)).toEqual(['npm-build', 'npm-build-css', 'npm-hello']);
    const listed = json(await wield(workspace, ['list', '--json'])).tools;
    expect(listed).toMatchObject([{ format: 'package-json' }, {}, {}]);
    workspace.write('.agents/config.toml', '[tasks]\nfrom = ["package.json"]\ninclude = ["npm-build*", "hello"]\n');
    workspace.config('[tasks]\nexclude = ["build:*"]\n');
    expect(await namesOf(workspace)).toEqual(['npm-build', 'npm-hello']);
  });

  spec('TSK-1', 'sees a changed filter in an open toolbox, and a changed file', async () => {
    const workspace = createTasks(
      { 'package.json': PACKAGE },
      '[tasks]\nfrom = ["package.json"]\nexclude = ["hello"]\n',
    );
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['npm-build', 'npm-build-css']);
    workspace.write('.agents/config.toml', '[tasks]\nfrom = ["package.json"]\ninclude = ["hello", "other"]\n');
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['npm-hello']);
    workspace.write('package.json', JSON.stringify({ scripts: { other: 'true' } }));
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['npm-other']);
    expect((await toolbox.call('./package.json#npm-build', {})).error?.code).toBe('not_found');
  });

  spec(
    'TSK-1 TSK-2',
    'reports files that do not exist, are not of tasks, leave the workdir or have errors',
    async () => {
      const workspace = createTasks({ 'package.json': '{"scripts": {' }, '["package.json", "Makefile", "tasks.txt"]');
      const problems = await workspace.toolbox().catalog.problems();
      expect(problems.map(({ message }) => message).sort()).toEqual([
        expect.stringMatching(/^is in tasks.from, but does not exist/),
        expect.stringMatching(/^is in tasks.from, but is not a file of tasks/),
        expect.stringMatching(/^is not valid JSON: line 1/),
      ]);
      expect((await wield(workspace, ['list'])).stderr).toContain('3 problems; wield doctor');
      const outside = createTasks({ 'package.json': PACKAGE }, '["../package.json"]');
      const said = await wield(outside, ['doctor']);
      expect(said.stdout + said.stderr).toMatch(/must be a path in the workdir/);
    },
  );

  spec('TSK-3', 'maps names, and names both tasks of one name', async () => {
    const scripts = { 'lint:js': 'a', 'lint-js': 'b', ünï: 'c', '--x': 'd', ['a'.repeat(70)]: 'e' };
    const workspace = createTasks({ 'package.json': JSON.stringify({ scripts }) }, '["package.json"]');
    expect(await namesOf(workspace)).toEqual(['npm-lint-js', 'npm-n']);
    const problems = (await workspace.toolbox().catalog.problems()).map(({ message }) => message);
    expect(problems[0]).toBe('"lint-js" is left out: "lint:js" is named npm-lint-js too');
    expect(problems.slice(1)).toEqual([expect.stringContaining('"--x" is left out'), expect.stringContaining('aaa')]);
  });

  spec('TSK-3', 'shortens the directories of a name that is too long, and keeps names apart', async () => {
    const places = ['one', 'two'].map((name) => `${name}/packages/with-a-long-name/examples/tanstack-start/templates`);
    const files = Object.fromEntries(places.map((place) => [`${place}/Makefile`, 'test:\n\ttrue\nlint:\n\ttrue\n']));
    const workspace = createTasks(files, JSON.stringify(Object.keys(files)));
    const names = await namesOf(workspace);
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^make-[0-9a-f]{8}-.*templates-(?:test|lint)$/);
    expect(Math.max(...names.map(({ length }) => length))).toBeLessThanOrEqual(64);
    expect(await workspace.toolbox().catalog.problems()).toEqual([]);
  });

  spec('TSK-4 TSK-8', 'runs a script with exact arguments, in the directory of its file', async () => {
    const script = `node -e "console.log(JSON.stringify([process.cwd(), ...process.argv.slice(1)]))" --`;
    const text = JSON.stringify({ scripts: { show: script } });
    const workspace = createTasks(
      { 'package.json': text, 'web/package.json': text },
      '["package.json", "web/package.json"]',
    );
    const toolbox = workspace.toolbox();
    const args = ['--version', '$(id)', 'a b', "it's", ''];
    const said = await toolbox.call('npm-show', { args });
    expect(JSON.parse(textOf(said).trim().split('\n').at(-1)!)).toEqual([workspace.dir, ...args]);
    const below = await toolbox.call('npm-web-show', {});
    expect(JSON.parse(textOf(below).trim().split('\n').at(-1)!)).toEqual([join(workspace.dir, 'web')]);
    expect((await toolbox.call('npm-show', { args: 'x', other: 1 })).error?.code).toBe('invalid_input');
  });

  spec('TSK-5 POL-20 POL-7', 'needs trust for a model, and asks again when the file changed', async () => {
    const workspace = createTasks({ 'package.json': PACKAGE }, '["package.json"]');
    workspace.config('[trust]\nrules = "npm-hello"\n');
    const call = (trust: boolean): ReturnType<NodeToolbox['call']> =>
      workspace.toolbox({ trust }).call('npm-hello', {}, { caller: MODEL });
    expect((await call(false)).error?.code).toBe('needs_trust');
    const { error } = await call(true);
    expect(error?.code).toBe('needs_approval');
    expect((await wield(workspace, ['approvals', 'approve', String(error?.data?.id)])).status).toBe(0);
    workspace.write('package.json', PACKAGE.replace('hi', 'changed'));
    expect((await call(true)).error?.code).toBe('needs_approval');
    workspace.write('package.json', PACKAGE);
    expect(textOf(await call(true))).toContain('hi|');
  });

  spec('TSK-7', 'marks tasks that sound destructive, and runs long ones in the background', async () => {
    const names = [
      'clean',
      'cleanup:all',
      'db:reset',
      'deploy',
      'dev',
      'dev:web',
      'start',
      'test:watch',
      'build:dev',
      'redeployAll',
      'restart',
      'releasing',
      'test',
    ];
    const scripts = Object.fromEntries(names.map((name) => [name, 'true']));
    const workspace = createTasks({ 'package.json': JSON.stringify({ scripts }) }, '["package.json"]');
    const toolbox = workspace.toolbox({ trust: true });
    const tools = await toolbox.list();
    const marked = (mark: 'destructive' | 'background'): string[] =>
      tools.filter(({ traits }) => traits[mark] === true).map(({ name }) => name);
    expect(marked('destructive')).toEqual([
      'npm-clean',
      'npm-cleanup-all',
      'npm-db-reset',
      'npm-deploy',
      'npm-redeployAll',
      'npm-releasing',
    ]);
    expect(marked('background')).toEqual(['npm-dev', 'npm-dev-web', 'npm-start', 'npm-test-watch']);
    expect((await toolbox.call('npm-clean', {}, { caller: MODEL })).error?.code).toBe('needs_approval');
  });

  spec('TSK-8', 'runs scripts with the manager of the lock file', async () => {
    const scripts = { scripts: { build: 'x' } };
    const cases: [files: Record<string, string>, declared: string | undefined, argv: string[]][] = [
      [{}, undefined, ['npm', 'run', 'build', '--', '-a']],
      [{ 'package-lock.json': '' }, 'pnpm@9.0.0', ['npm', 'run', 'build', '--', '-a']],
      [{ 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n" }, undefined, ['pnpm', 'run', 'build', '-a']],
      [{ 'pnpm-lock.yaml': 'lockfileVersion: 5.4\n' }, undefined, ['pnpm', 'run', 'build', '-a']],
      [{ 'pnpm-lock.yaml': '' }, 'pnpm@7.0.0', ['pnpm', 'run', 'build', '-a']],
      [{ 'yarn.lock': '' }, undefined, ['yarn', 'run', 'build', '-a']],
      [{ 'bun.lock': '' }, undefined, ['bun', 'run', 'build', '-a']],
      [{ 'yarn.lock': '', 'package-lock.json': '' }, 'npm@10.1.0', ['npm', 'run', 'build', '--', '-a']],
      [{}, 'yarn@4.1.0', ['yarn', 'run', 'build', '-a']],
    ];
    for (const [files, packageManager, argv] of cases) {
      const text = JSON.stringify({ ...scripts, packageManager });
      const workspace = createTasks({ ...files, 'package.json': text }, '["package.json"]');
      expect(await workspace.plan('npm-build', { args: ['-a'] })).toEqual(argv);
    }
    const nested = createTasks(
      { 'pnpm-lock.yaml': '', 'apps/web/package.json': JSON.stringify(scripts) },
      '["apps/web/package.json"]',
    );
    expect(await nested.plan('npm-apps-web-build', {})).toEqual(['pnpm', 'run', 'build']);
  });

  spec(
    'TSK-4 TSK-6 TSK-8',
    'passes words only to pnpm, and options only if it is certainly not older than 7',
    async () => {
      const codesOf = async (files: Record<string, string>, packageManager?: string): Promise<unknown[]> => {
        const text = JSON.stringify({ scripts: { hello: 'echo' }, packageManager });
        const toolbox = createTasks({ ...files, 'package.json': text }, '["package.json"]').toolbox();
        const given = ['two words', '$(id)', '"', '`id`', '--help', '--x=$(id)'];
        return Promise.all(given.map(async (one) => (await toolbox.call('npm-hello', { args: [one] })).error?.code));
      };
      const bad = 'invalid_input';
      const lock = (version: string): Record<string, string> => ({ 'pnpm-lock.yaml': `lockfileVersion: ${version}\n` });
      expect(await codesOf(lock("'6.0'"))).toEqual([undefined, bad, bad, bad, undefined, bad]);
      for (const old of [lock('5.3'), { 'pnpm-lock.yaml': '' }])
        expect(await codesOf(old)).toEqual([undefined, bad, bad, bad, bad, bad]);
      expect(await codesOf({}, 'pnpm@6.35.1')).toEqual([undefined, bad, bad, bad, bad, bad]);
      expect(await codesOf({ 'yarn.lock': '' })).toEqual(Array(6).fill(undefined));
    },
  );

  spec('TSK-8 TSK-5', 'offers the scripts of workspaces, which run in their directories', async () => {
    const member = (name: string): string => JSON.stringify({ name, scripts: { test: 'pwd' } });
    const files = {
      'package.json': JSON.stringify({ workspaces: ['packages/*', './tools/cli/', '!packages/old', 'x/**'] }),
      'packages/web/package.json': member('@site/web'),
      'packages/old/package.json': member('old'),
      'packages/empty/readme': '',
      'tools/cli/package.json': member(''),
    };
    const workspace = createTasks(files, '["package.json"]');
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['npm-cli-test', 'npm-web-test']);
    expect(
      textOf(await toolbox.call('npm-web-test', {}))
        .trim()
        .split('\n')
        .at(-1),
    ).toBe(join(workspace.dir, 'packages/web'));
    const problems = (await toolbox.catalog.problems()).map(({ message }) => message);
    expect(problems).toEqual([expect.stringContaining('"x/**"')]);
    workspace.write('packages/broken/package.json', '{');
    expect((await toolbox.catalog.problems()).map(({ message }) => message)).toContainEqual(
      expect.stringContaining('packages/broken/package.json: is not valid JSON'),
    );
    const before = (await toolbox.find('npm-web-test')).origin.digest;
    workspace.write('packages/web/package.json', member('@site/web').replace('pwd', 'echo other'));
    workspace.write('packages/api/package.json', member('api'));
    expect((await toolbox.find('npm-web-test')).origin.digest).not.toBe(before);
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['npm-api-test', 'npm-cli-test', 'npm-web-test']);
    const pnpm = createTasks(
      {
        'package.json': '{}',
        'pnpm-lock.yaml': '',
        'pnpm-workspace.yaml': 'packages:\n  - "apps/*"\n',
        'apps/web/package.json': member('web'),
      },
      '["package.json"]',
    );
    expect(await pnpm.plan('npm-web-test', {})).toEqual(['pnpm', 'run', 'test']);
  });

  spec('TSK-2', 'runs nothing while it reads', async () => {
    const workspace = createTasks(
      { 'package.json': JSON.stringify({ scripts: { preinstall: 'touch ran', build: 'touch ran' } }) },
      '["package.json"]',
    );
    await namesOf(workspace);
    await wield(workspace, ['doctor']);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  spec('TSK-5 RES-46', 'does not follow links out of the workspace', async () => {
    const outside = createTasks({ 'package.json': PACKAGE, 'web/package.json': PACKAGE }, '');
    const workspace = createTasks({}, '["package.json", "linked/package.json", "own/package.json"]');
    symlinkSync(join(outside.dir, 'package.json'), join(workspace.dir, 'package.json'));
    symlinkSync(outside.dir, join(workspace.dir, 'linked'));
    workspace.write('own/package.json', JSON.stringify({ workspaces: ['packages/*', 'web'] }));
    symlinkSync(join(outside.dir, 'web'), join(workspace.dir, 'own/web'));
    expect(await namesOf(workspace)).toEqual([]);
    expect((await workspace.toolbox().catalog.problems()).map(({ message }) => message)).toEqual([
      expect.stringContaining('outside the workspace'),
      expect.stringContaining('outside the workspace'),
      expect.stringContaining('outside the workspace'),
    ]);
  });

  spec('TSK-2', 'doctor names what is left out, and why', async () => {
    const workspace = createTasks({ Makefile: '$(OUT):\n\ttrue\n' }, '["Makefile"]');
    const said = await wield(workspace, ['doctor']);
    expect(said.stdout + said.stderr).toContain('$(OUT): named by a variable, which only make can expand');
  });
});
