// The everyday verbs: help, init, list, show, doctor, and how the workdir is found.

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { ALIASES } from '../../../src/cli/aliases.js';
import { VERBS as VERB_TABLE } from '../../../src/cli/verbs.js';
import { json, wield, wieldProcess } from '../../support/cli.js';
import { isRoot, NOT_ROOT } from '../../support/machine.js';
import { finding, spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const VERBS = [
  ...['init', 'list', 'show', 'call', 'search', 'serve', 'check', 'doctor', 'explain', 'trust', 'approvals', 'audit'],
  ...['add', 'install', 'uninstall', 'remove', 'upgrade', 'connect', 'completions', 'version'],
];
const HELLO = '#!/bin/sh\n# @description Say hello.\necho hello\n';
describe('help', () => {
  spec('CLI-1', 'wield alone shows five commands for newcomers and how to start', async () => {
    const workspace = createWorkspace();
    const alone = await wieldProcess(workspace, []);
    expect(alone).toMatchObject({ status: 0, stderr: '' });
    const commands = alone.stdout.split('\n').filter((line) => /^ {2}[a-z]+ {2,}\S/.test(line));
    expect(commands.map((line) => line.trim().split(' ')[0])).toEqual(['init', 'list', 'call', 'serve', 'doctor']);
    expect(alone.stdout.split('\n').length).toBeLessThan(25);
  });

  finding('N19 CLI-1', 'wield --help lists every verb once, by task, one line each', async () => {
    const workspace = createWorkspace();
    const help = await wieldProcess(workspace, ['--help']);
    expect(help).toMatchObject({ status: 0, stderr: '' });
    for (const args of [['-h'], ['help']]) expect(await wieldProcess(workspace, args)).toEqual(help);
    const lines = help.stdout.split('\n');
    expect(lines.filter((line) => /^[A-Z]/.test(line))).toEqual([
      'Make tools',
      'Use tools',
      'Connect agents and servers',
      'Govern calls',
      'Install from sources',
      'Tools are commands too: wield hello --name Ada, wield <group> <command>.',
    ]);
    const listed = lines.flatMap((line) => /^ {2}([a-z-]+) {2,}\S/.exec(line)?.[1] ?? []);
    expect(listed.toSorted()).toEqual([...VERB_TABLE.map(({ name }) => name), 'context'].toSorted());
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  spec('CLI-2', 'earlier words are aliases with the same help', async () => {
    const workspace = createWorkspace();
    for (const { word, command, arguments: first = [] } of ALIASES) {
      if (!first.some((one) => Object.hasOwn(VERB_TABLE.find(({ name }) => name === command)!.modes, one.slice(2))))
        continue;
      const { status, stdout } = await wield(workspace, [word, '--help']);
      expect([word, status, stdout]).toEqual([word, 0, (await wield(workspace, [command, ...first, '--help'])).stdout]);
    }
  });

  finding('N19', 'wield -v prints the version', async () => {
    const workspace = createWorkspace();
    expect(await wieldProcess(workspace, ['-v'])).toEqual(await wieldProcess(workspace, ['--version']));
  });

  spec('CLI-3', '--version and --help print JSON too', async () => {
    const workspace = createWorkspace();
    const { stdout } = await wield(workspace, ['version', '--json']);
    for (const args of [['--version'], ['-v']]) {
      expect(await wield(workspace, [...args, '--json'])).toEqual({ status: 0, stdout, stderr: '' });
      expect(await wield(workspace, ['--json', ...args])).toEqual({ status: 0, stdout, stderr: '' });
    }
    const { stdout: help } = await wield(workspace, ['--help']);
    for (const args of [
      ['--help', '--json'],
      ['--json', '-h'],
      ['help', '--json'],
      ['--json', 'help'],
    ]) {
      expect(json(await wield(workspace, args))).toEqual({ ok: true, schema: 1, help });
    }
    expect((await wield(workspace, ['--help', '--nonsense'])).status).toBe(2);
  });

  const MODES = VERB_TABLE.flatMap(({ name, modes }) => Object.keys(modes).map((mode) => `${name} --${mode}`));
  for (const verb of [...VERBS, ...MODES]) {
    spec('CLI-1 CLI-2', `wield ${verb} --help shows an example and does nothing`, async () => {
      const workspace = createWorkspace();
      const { status, stdout, stderr } = await wield(workspace, [...verb.split(' '), '--help']);
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/\nExamples?\n {2}\S/);
      expect(stdout).toContain(`wield ${verb}`);
      expect((await wield(workspace, [...verb.split(' '), '-h'])).stdout).toBe(stdout);
      expect(json(await wield(workspace, [...verb.split(' '), '--help', '--json']))).toEqual({
        ok: true,
        schema: 1,
        help: stdout,
      });
      expect(existsSync(join(workspace.dir, '.agents'))).toBe(false);
    });
  }

  for (const [wrong, right] of [
    ['lst', 'wield list'],
    ['cal', 'wield call'],
    ['docter', 'wield doctor'],
  ]) {
    spec('CLI-1', `wield ${wrong} suggests ${right}`, async () => {
      const run = await wield(createWorkspace(), [wrong!]);
      expect([run.status, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toContain(`did you mean ${right}`);
    });
  }

  for (const [args, suggestion] of [
    [['list', '--hiden'], '--hidden'],
    [['--jsn', 'list'], '--json'],
    [['--hlep'], '--help'],
    [['call', '--imput', '{}', 'x'], '--input'],
  ] as const) {
    spec('CLI-1', `wield ${args.join(' ')} suggests ${suggestion}`, async () => {
      const run = await wield(createWorkspace(), args);
      expect(run.status).toBe(2);
      expect(run.stderr).toContain(`did you mean ${suggestion}`);
    });
  }

  for (const args of [
    ['list', 'extra'],
    ['show'],
    ['call'],
    ['--cwd'],
    ['--json'],
    ['list', '--all=maybe'],
    ['xyzzy'],
  ]) {
    spec('CLI-1 ERR-3', `wield ${args.join(' ')} is a usage error with a hint`, async () => {
      const { status, stderr, stdout } = await wield(createWorkspace(), args);
      expect(status).toBe(2);
      if (args[0] === '--json') expect(JSON.parse(stdout).error.hint).toBeTruthy();
      else expect(stderr).toMatch(/^error {2}.+\n {2}hint {2}.+\n$/);
    });
  }
});

describe('init', () => {
  spec('CLI-5', 'creates a tool and a commented policy file, trusts them, and prints next steps', async () => {
    const workspace = createWorkspace();
    const { status, stdout } = await wield(workspace, ['init']);
    expect(status).toBe(0);
    expect(stdout).toContain('wield call hello --name Ada');
    const hello = join(workspace.dir, '.agents/tools/hello');
    expect(statSync(hello).mode & 0o777).toBe(0o755);
    expect(readFileSync(join(workspace.dir, '.agents/config.toml'), 'utf8')).toMatch(/^#/);
    expect((await wield(workspace, ['call', 'hello', '--name', 'Ada'])).stdout).toBe('Hello, Ada!\n');
    expect((await wield(workspace, ['doctor'])).status).toBe(0);
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);
  });

  spec('CLI-38', 'new files name their schema, that of the project if it depends on wield', async () => {
    const readNew = async (workspace: ReturnType<typeof createWorkspace>): Promise<[string, string]> => {
      await wield(workspace, ['init']);
      await wield(workspace, ['new', 'repeat', '--tools-json']);
      const read = (path: string): string => readFileSync(join(workspace.dir, path), 'utf8');
      expect((await wield(workspace, ['call', 'repeat', '--text', 'a'])).stdout).toBe('repeat: a\n');
      expect((await wield(workspace, ['check'])).status).toBe(0);
      const { $schema } = JSON.parse(read('.agents/skills/repeat/tools.json')) as { $schema: string };
      return [read('.agents/config.toml').split('\n')[0]!, $schema];
    };
    const address = /^(?:#:schema )?https:\/\/unpkg\.com\/wield@\d+\.\d+\.\d+\/schemas\/(?:config|tools)\.json$/;
    for (const line of await readNew(createWorkspace())) expect(line).toMatch(address);
    const workspace = createWorkspace();
    for (const name of ['config', 'tools']) workspace.write(`node_modules/wield/schemas/${name}.json`, '{}');
    expect(await readNew(workspace)).toEqual([
      '#:schema ../node_modules/wield/schemas/config.json',
      '../../../node_modules/wield/schemas/tools.json',
    ]);
  });

  spec('CLI-5', 'overwrites nothing, and does not trust existing files', async () => {
    const workspace = createWorkspace();
    const path = workspace.script('hello', HELLO);
    const run = await wield(workspace, ['init']);
    expect(run.stdout).toContain('wield trust');
    expect(readFileSync(path, 'utf8')).toBe(HELLO);
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(false);
    const again = json(await wield(workspace, ['init', '--json']));
    expect(again).toEqual({ ok: true, schema: 1, workdir: workspace.dir, created: [], trusted: false });
  });

  spec('CLI-5', 'keeps a trusted workspace trusted', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', HELLO);
    await wield(workspace, ['trust', '--yes']);
    const created = ['.agents/config.toml'];
    expect(json(await wield(workspace, ['init', '--json']))).toMatchObject({ created, trusted: true });
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);
  });
});

describe('list, show, doctor', () => {
  spec(
    'CLI-6',
    'list shows name, description, format, group, tags and marks, and counts problems on stderr',
    async () => {
      const workspace = createWorkspace();
      workspace.script(
        'shown',
        '#!/bin/sh\n# @description First line.\n# second\n# @group ops\n# @tag Big\n# @destructive\n',
      );
      workspace.script('secret', '#!/bin/sh\n# @description S\n# @hidden\n');
      workspace.script('broken', '#!/bin/sh\n');
      const { stdout, stderr, status } = await wield(workspace, ['list']);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^ {2}shown {3}script {3}First line\. {3}ops #big destructive untrusted$/m);
      expect(stdout).not.toContain('secret');
      expect(stderr).toContain('1 problem; wield doctor');
      expect((await wield(workspace, ['list', '--hidden'])).stdout).toMatch(/secret .*hidden/);
      const document = json(await wield(workspace, ['list', '--json']));
      expect(document).toMatchObject({
        ok: true,
        schema: 1,
        tools: [
          {
            name: 'shown',
            description: 'First line.\nsecond',
            format: 'script',
            group: 'ops',
            tags: ['big'],
            untrusted: true,
          },
        ],
        problems: [
          {
            path: expect.stringContaining('broken'),
            message: 'missing @description',
            hint: expect.any(String),
          },
        ],
      });
    },
  );

  spec('CLI-6', 'list joins the lines of the first sentence', async () => {
    const workspace = createWorkspace();
    workspace.script('wrapped', '#!/bin/sh\n# @description A sentence that\n# goes on.\n# Another one.\n');
    workspace.script('pick', '#!/bin/sh\n# @description Does one of\n# - this\n# - that\n');
    const { stdout } = await wield(workspace, ['list']);
    expect(stdout).toMatch(/^ {2}wrapped +script +A sentence that goes on\. +untrusted$/m);
    expect(stdout).toMatch(/^ {2}pick +script +Does one of +untrusted$/m);
  });

  spec('CLI-6', 'list in an empty directory suggests wield init', async () => {
    const run = await wield(createWorkspace(), ['list']);
    expect([run.status, run.stdout]).toEqual([0, 'No tools yet. Create one: wield init\n']);
  });

  spec('CLI-7', 'show prints all details of a tool, as text and as JSON', async () => {
    const workspace = createWorkspace();
    const path = workspace.script(
      'full',
      '#!/bin/sh\n# @description Do it.\n# @param *name string Whom\n# @returns integer N\n# @example {"name":"Ada Lovelace"}\necho 1\n',
    );
    const document = json(await wield(workspace, ['show', 'full', '--json']));
    expect(document).toMatchObject({
      ok: true,
      schema: 1,
      name: 'full',
      description: 'Do it.',
      input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      output: { type: 'integer' },
      action: { kind: 'process', file: path },
      origin: { format: 'script', uri: `file://${path}`, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      traits: { examples: [{ name: 'Ada Lovelace' }] },
      verdict: { verdict: 'allow' },
    });
    const { stdout } = await wield(workspace, ['show', 'full']);
    for (const text of ['Do it.', '*name', path, document.origin.digest, 'Whom', "--name 'Ada Lovelace'"]) {
      expect(stdout).toContain(text);
    }
    expect(stdout).toMatch(/you +allow/);
    expect(stdout).toMatch(/a model +deny: the workspace is not trusted/);
  });

  spec('CLI-14', 'doctor exits 1 with problems and 0 without', async () => {
    const workspace = createWorkspace();
    workspace.script('one', HELLO);
    const fine = await wield(workspace, ['doctor', '--json']);
    expect([fine.status, json(fine)]).toMatchObject([0, { ok: true, schema: 1, problems: [] }]);
    workspace.script('two', '#!/no/such/interpreter\n# @description D\n');
    chmodSync(workspace.script('three', HELLO), 0o600);
    const ill = await wield(workspace, ['doctor', '--json']);
    expect(ill.status).toBe(1);
    expect(json(ill)).toMatchObject({ ok: true, schema: 1 });
    for (const problem of json(ill).problems) {
      expect(problem).toMatchObject({
        path: expect.any(String),
        message: expect.any(String),
        hint: expect.any(String),
      });
    }
    writeFileSync(join(workspace.env.WIELD_HOME!, 'trust.json'), '{"x', { mode: 0o600 });
    const text = await wield(workspace, ['doctor']);
    expect(text.stdout).toMatch(/problem {2}~\/\.wield\/trust\.json +is not a valid trust file; move it away/);
    expect(text.stdout).toContain('/no/such/interpreter');
    expect(text.stdout).toContain('chmod +x');
  });
});

describe('the workdir', () => {
  spec('RES-40', 'is the nearest parent directory with .agents, else the current one; --cwd overrides it', async () => {
    const workspace = createWorkspace();
    workspace.script('where', '#!/bin/sh\n# @description D\npwd\n');
    const deep = join(workspace.dir, 'a/b/c');
    mkdirSync(deep, { recursive: true });
    const where = async (cwd: string, ...flags: string[]) =>
      (await wield(workspace, [...flags, 'call', 'where'], { cwd })).stdout.trim();
    expect(await where(deep)).toBe(workspace.dir);
    expect(await where('/', '--cwd', workspace.dir)).toBe(workspace.dir);
    expect(json(await wield(workspace, ['list', '--json', '--cwd', deep])).tools).toEqual([]);
    workspace.write('a/.agents/tools/where', '#!/bin/sh\n# @description D\npwd\n', 0o755);
    expect(await where(deep)).toBe(join(workspace.dir, 'a'));
  });

  spec('RES-40', 'is never home or a parent of it, also through a link', async () => {
    const workspace = createWorkspace();
    const above = join(workspace.home, '..');
    for (const place of [above, workspace.home]) {
      mkdirSync(join(place, '.agents/tools'), { recursive: true });
      writeFileSync(join(place, '.agents/tools/trap'), '#!/bin/sh\n# @description D\npwd\n', { mode: 0o755 });
    }
    const inHome = join(workspace.home, 'x/y');
    mkdirSync(inHome, { recursive: true });
    symlinkSync(workspace.home, join(above, 'link'));
    for (const [cwd, HOME] of [
      [inHome, workspace.home],
      [inHome, join(above, 'link')],
      [workspace.dir, workspace.home],
    ] as const) {
      // The person's own script is there everywhere; it tells which workdir was found.
      expect((await wield(workspace, ['call', 'trap'], { cwd, env: { HOME } })).stdout.trim()).toBe(cwd);
    }
  });

  specIf(isRoot, NOT_ROOT, 'RES-40', 'passes over a directory of someone else', async () => {
    const workspace = createWorkspace();
    workspace.script('mine', HELLO);
    workspace.write('theirs/.agents/tools/trap', HELLO, 0o755);
    for (const path of ['theirs', 'theirs/.agents']) chownSync(join(workspace.dir, path), 12345, 12345);
    const { tools } = json(await wield(workspace, ['list', '--json'], { cwd: join(workspace.dir, 'theirs') }));
    expect(tools.map((tool: { name: string }) => tool.name)).toEqual(['mine']);
  });
});
