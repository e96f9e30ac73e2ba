// Tools as commands of wield: groups, names, help, precedence and collisions.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield, wieldProcess } from '../../support/cli.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

function script(description: string, ...lines: string[]): string {
  return ['#!/bin/sh', `# @description ${description}`, ...lines.map((line) => `# ${line}`), 'cat', ''].join('\n');
}

function create(): Workspace {
  const workspace = createWorkspace();
  workspace.script(
    'membot_read',
    script('Read a note.', '@group membot', '@param *path string Path', '@param limit integer How many'),
  );
  workspace.script('membot_deepSearch', script('Search notes.', '@group membot', '@param *query string Words'));
  workspace.script('tree', script('Show all notes.', '@group membot'));
  workspace.script(
    'deploy_site',
    script('Publish the site.', '@param *branch string Branch', '@param dry boolean Only say it'),
  );
  workspace.script('secret', script('Do it quietly.', '@hidden'));
  return workspace;
}

describe('commands', () => {
  for (const [args, input] of [
    [['membot', 'read', 'a.md', '--limit', '5'], { path: 'a.md', limit: 5 }],
    [['membot', 'membot_read', 'a.md'], { path: 'a.md' }],
    [['membot_read', '--path', 'a.md'], { path: 'a.md' }],
    [['membot', 'deep-search', '-5'], { query: '-5' }],
    [['membot', 'deep-search', '--', '--odd'], { query: '--odd' }],
    [['membot', 'tree'], {}],
    [['membot', '--plain', 'read', 'a.md'], { path: 'a.md' }],
    [['membot', '--', 'read', '--odd'], { path: '--odd' }],
    [['tree'], {}],
    [['deploy-site', 'main', '--dry'], { branch: 'main', dry: true }],
    [['deploy_site', 'main', '--no-dry'], { branch: 'main', dry: false }],
    [['deploy_site', '--input', '{"branch":"x"}'], { branch: 'x' }],
    [['--plain', 'deploy_site', 'main'], { branch: 'main' }],
  ] as const) {
    spec('MOD-20 MOD-21', `wield ${args.join(' ')} calls with ${JSON.stringify(input)}`, async () => {
      const run = await wield(create(), args);
      expect([run.stderr, run.status, JSON.parse(run.stdout)]).toEqual(['', 0, input]);
    });
  }

  spec.thorough('MOD-20', 'has the flags, output and exit statuses of wield call', async () => {
    const workspace = create();
    workspace.script('fail', '#!/bin/sh\n# @description Fail.\n# @param n integer N\necho out\necho err >&2\nexit 4\n');
    const named = createWorkspace();
    named.write('in.json', '{"branch":"f"}');
    for (const args of [
      ['fail'],
      ['fail', '--n', 'many'],
      ['fail', '--m', '1'],
      ['fail', 'extra'],
      ['fail', '--n'],
      ['fail', '--input', '{oops'],
      ['fail', '--input', '{}', '--n', '1'],
      ['fail', '--cwd', '/x'],
      ['fail', '--timeout', 'soon'],
      ['deploy_site', 'main'],
      ['deploy_site', 'main', '--dry-run'],
      ['deploy_site', 'main', '--dry-run', '--json'],
    ]) {
      const called = await wield(workspace, ['call', ...args]);
      const commanded = await wield(workspace, args);
      const withoutCall = (text: string): string => text.replaceAll('wield call ', 'wield ').replaceAll(' call ', ' ');
      expect([args, commanded.status, commanded.stdout, withoutCall(commanded.stderr)]).toEqual([
        args,
        called.status,
        called.stdout,
        withoutCall(called.stderr),
      ]);
    }
    const asJson = json(await wield(workspace, ['fail', '--json']));
    expect(asJson).toMatchObject({
      ok: false,
      schema: 1,
      error: { code: 'tool_failed' },
      meta: { exitCode: 4 },
    });
    const fromStdin = await wield(workspace, ['deploy_site'], { stdin: '{"branch":"piped"}' });
    expect(JSON.parse(fromStdin.stdout)).toEqual({ branch: 'piped' });
  });

  spec('MOD-20', 'a namespaced name is a command, in its exact form and in kebab-case', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes', {
      'tools.json': declare([{ param: 'query' }], { tool: 'jk:find_all', required: ['query'] }),
    });
    for (const word of ['jk:find_all', 'jk:find-all']) {
      const run = await wield(workspace, [word, 'x']);
      expect([word, run.stderr, run.status, run.stdout]).toEqual([word, '', 0, '["x"]\n']);
    }
  });

  spec('MOD-20 CLI-3', 'a group alone, or with --help, shows its commands', async () => {
    const workspace = create();
    const alone = await wield(workspace, ['membot']);
    expect(alone).toEqual({
      status: 0,
      stderr: '',
      stdout: [
        'wield membot <command>',
        '',
        '  deep-search   Search notes.',
        '  read          Read a note.',
        '  tree          Show all notes.',
        '',
        'Run wield membot <command> --help for details.',
        '',
      ].join('\n'),
    });
    for (const args of [
      ['membot', '--help'],
      ['membot', '-h'],
      ['--help', 'membot'],
      ['help', 'membot'],
    ])
      expect(await wield(workspace, args)).toEqual(alone);
    expect(json(await wield(workspace, ['membot', '--json']))).toEqual({
      ok: true,
      schema: 1,
      group: 'membot',
      commands: [
        { command: 'deep-search', name: 'membot_deepSearch', description: 'Search notes.' },
        { command: 'read', name: 'membot_read', description: 'Read a note.' },
        { command: 'tree', name: 'tree', description: 'Show all notes.' },
      ],
    });
  });

  for (const [args, said] of [
    [['depoy-site'], 'did you mean wield deploy-site?'],
    [['membt'], 'did you mean wield membot?'],
    [['membot-read'], 'did you mean wield membot read?'],
    [['membot_raed'], 'did you mean wield membot_read?'],
    [['lst'], 'did you mean wield list?'],
    [['membot', 'raed'], 'did you mean wield membot read?'],
    [['membot', '--limit', '5'], 'unknown flag --limit'],
    [['secret'], 'secret is hidden; wield call secret calls it'],
  ] as const) {
    spec('MOD-20 CLI-1', `wield ${args.join(' ')} prints: ${said}`, async () => {
      const run = await wield(create(), args);
      expect([run.status, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toContain(said);
    });
  }

  spec('MOD-20', 'a file with a problem reports it as a command too', async () => {
    const workspace = createWorkspace();
    workspace.script('broken', '#!/bin/sh\n# no description\n');
    const run = await wield(workspace, ['broken']);
    expect(run.status).toBe(3);
    expect(run.stderr).toContain('broken is not a tool');
  });

  spec('MOD-20', 'an unlisted built-in tool is a command', async () => {
    const workspace = create();
    const run = await wield(workspace, ['workdir']);
    expect([run.status, run.stdout.trim()]).toEqual([0, workspace.dir]);
    expect((await wield(workspace, ['list'])).stdout).not.toContain('workdir');
  });

  spec('MOD-20 CLI-1', 'wield --help mentions that tools are commands', async () => {
    expect((await wieldProcess(create(), ['--help'])).stdout).toContain('Tools are commands too');
  });
});

describe('help', () => {
  spec('MOD-24', 'of a tool shows usage, parameters, an example and the origin', async () => {
    const workspace = create();
    const run = await wield(workspace, ['membot', 'read', '--help']);
    expect(run).toEqual({
      status: 0,
      stderr: '',
      stdout: [
        'Read a note.',
        '',
        '  wield membot read <path> [--limit INTEGER]',
        '',
        '  *path    string    Path',
        '   limit   integer   How many',
        '',
        'Example',
        '  wield membot read --path path',
        '',
        'from .agents/tools/membot_read',
        '',
      ].join('\n'),
    });
    for (const args of [
      ['membot', 'read', '-h'],
      ['membot', 'read', '--nonsense', '-h'],
      ['help', 'membot', 'read'],
    ])
      expect(await wield(workspace, args)).toEqual(run);
    expect(json(await wield(workspace, ['membot', 'read', '--help', '--json'])).help).toBe(run.stdout);
    expect((await wield(workspace, ['membot_read', '--help'])).stdout).toContain('  wield membot_read <path>');
    expect((await wield(workspace, ['call', 'membot_read', '--help'])).stdout).toContain(
      '  wield call membot_read <path>',
    );
    expect((await wield(workspace, ['show', 'membot_read'])).stdout).toContain('wield membot read --path path');
  });
});

describe('validation', () => {
  spec('MOD-23 RUN-15', 'refuses a number that cannot be passed on exactly', async () => {
    const run = await wield(create(), ['membot', 'read', '--limit', '12345678901234567890', '--path', 'x']);
    expect(run.stderr).toContain('--limit has the number 12345678901234567890, beyond 2^53');
  });

  for (const args of [
    [],
    ['--limit', 'many', '--path', 'x'],
    ['--limit', '1.5', '--path', 'x'],
    ['--path:=5'],
    ['--limit:=[]', '--path', 'x'],
  ]) {
    spec('MOD-23', `membot read ${args.join(' ')} fails as for a model`, async () => {
      const workspace = create();
      const run = json(await wield(workspace, ['membot', 'read', ...args, '--json']));
      const sent: Record<string, Record<string, unknown>> = {
        '': {},
        '--limit many': { limit: 'many', path: 'x' },
        '--limit 1.5': { limit: 1.5, path: 'x' },
        '--path:=5': { path: 5 },
        '--limit:=[]': { limit: [], path: 'x' },
      };
      const input = sent[args.join(' ').replace(' --path x', '')];
      const toolbox = workspace.toolbox({ trust: true });
      const { error } = await toolbox.call('membot_read', input, { caller: { kind: 'model', door: 'mcp' } });
      expect(error?.code).toBe('invalid_input');
      expect(run.error).toEqual(error);
    });
  }

  spec('MOD-23', 'an unknown parameter has the same message as for a model', async () => {
    const workspace = create();
    const run = json(await wield(workspace, ['membot', 'read', '--json', '--pth', 'x']));
    const toolbox = workspace.toolbox({ trust: true });
    const { error } = await toolbox.call(
      'membot_read',
      { path: 'x', pth: 'x' },
      { caller: { kind: 'model', door: 'mcp' } },
    );
    expect([run.error.code, run.error.message, run.error.data]).toEqual([error?.code, error?.message, error?.data]);
    expect(run.error.hint).toBe('did you mean --path? wield membot read --help shows all');
  });
});

describe('collisions', () => {
  spec('MOD-25', 'a verb takes precedence; a tool of its name is a problem and needs wield call', async () => {
    const workspace = create();
    const path = workspace.script('list', script('Mine.'));
    workspace.script('help', script('Mine too.'));
    const listed = await wield(workspace, ['list']);
    expect(listed.stdout).toContain('NAME');
    expect(listed.stderr).toContain('2 problems; wield doctor');
    expect((await wieldProcess(workspace, ['help'])).stdout).toContain('a tool runtime for AI agents');
    expect((await wield(workspace, ['call', 'list'])).stdout).toBe('{}');
    const { problems } = json(await wield(workspace, ['doctor', '--json']));
    expect(problems).toContainEqual({
      severity: 'error',
      path,
      message: 'has no command: "list" is a command of wield',
      hint: 'wield call list calls it; rename it to get a command',
    });
    expect(json(await wield(workspace, ['list', '--json'])).problems).toEqual(problems);
    expect((await wield(workspace, ['doctor'])).status).toBe(1);
  });

  spec('MOD-25', 'a group with the name of a verb is a problem; its tools can be called by name', async () => {
    const workspace = createWorkspace();
    workspace.script('search_web', script('Search the web.', '@group search', '@param *q string Words'));
    expect((await wield(workspace, ['search', 'web'])).stdout).toContain('search_web');
    expect((await wield(workspace, ['search_web', 'x'])).stdout).toBe('{"q":"x"}');
    const [problem] = json(await wield(workspace, ['doctor', '--json'])).problems;
    expect(problem.message).toBe('the group "search" has no command: the name is taken by a command of wield');
    expect((await wield(workspace, ['search_web', '--brr'])).stderr).toContain('wield call search_web --help');
  });

  for (const [name, typed, status] of [
    ['add', ['add', '--a', '1'], 2],
    ['add', ['add'], 2],
    ['add', ['--json', 'add', '1', '2'], 2],
    ['list', ['list', 'extra'], 2],
    ['show', ['show', 'nosuch'], 3],
    ['call', ['call', '--a', '1'], 2],
    ['verify', ['verify', '--path', 'x'], 2],
    ['remove_source', ['remove-source', '--a'], 2],
    ['add_item', ['add', 'item', '--count', '1'], 2],
  ] as const) {
    spec('MOD-25', `the error of wield ${typed.join(' ')} says how to call the tool ${name}`, async () => {
      const workspace = createWorkspace();
      const before = await wield(workspace, typed);
      expect(before.stderr + before.stdout).not.toContain('calls the tool');
      workspace.script(name, script('Mine.'));
      const after = await wield(workspace, typed);
      expect([before.status, after.status]).toEqual([status, status]);
      expect(after.stderr + after.stdout).toContain(`wield call ${name} calls the tool ${name}; `);
    });
  }

  spec('MOD-20 MOD-25', 'a command of two tools calls neither', async () => {
    const workspace = createWorkspace();
    const marks = (name: string): string =>
      `#!/bin/sh\n# @description D.\n# @group note\ntouch "${workspace.dir}/ran-${name}"\n`;
    for (const name of ['note_read', 'note-read', 'read']) workspace.script(name, marks(name));
    const run = await wield(workspace, ['note', 'read']);
    expect(run.status).toBe(4);
    expect(run.stderr).toContain('"note read" is the command of note-read and note_read and read');
    expect(run.stderr).toContain('wield call note-read');
    expect((await wield(workspace, ['note', 'note_read'])).status).toBe(0);
    expect(existsSync(join(workspace.dir, 'ran-note_read'))).toBe(true);
    workspace.script('a_b', script('One.'));
    workspace.script('aB', script('Two.'));
    const both = await wield(workspace, ['a-b']);
    expect(both.status).toBe(4);
    expect(both.stderr).toContain('"a-b" is the command of aB and a_b');
    expect((await wield(workspace, ['a_b'])).status).toBe(0);
    for (const name of ['read', 'note-read']) expect(existsSync(join(workspace.dir, `ran-${name}`))).toBe(false);
    const messages = json(await wield(workspace, ['doctor', '--json'])).problems.map(
      (one: { message: string }) => one.message,
    );
    expect(messages).toEqual([
      '"a-b" is the command of aB and a_b',
      '"note read" is the command of note-read and note_read and read',
    ]);
    expect((await wield(workspace, ['note'])).stdout).toMatch(/ {2}note-read .*\n {2}note_read .*\n {2}read /);
  });

  spec('MOD-20', 'a tool with the name of a group keeps its command, and the collision is a problem', async () => {
    const workspace = create();
    workspace.script('membot', script('Alone.', '@param *word string W'));
    expect((await wield(workspace, ['membot', 'read'])).stdout).toBe('{"word":"read"}');
    const { problems } = json(await wield(workspace, ['doctor', '--json']));
    expect(problems.map((one: { message: string }) => one.message)).toEqual([
      'the group "membot" has no command: the name is taken by the tool membot',
    ]);
  });

  spec('MOD-20', 'a tool with the name of its own group is a command of the group', async () => {
    const workspace = createWorkspace();
    workspace.script('note', script('All of it.', '@group note'));
    workspace.script('note_read', script('Read.', '@group note'));
    expect((await wield(workspace, ['note'])).stdout).toContain('  note   All of it.');
    expect((await wield(workspace, ['note', 'note'])).stdout).toBe('{}');
    expect((await wield(workspace, ['doctor'])).status).toBe(0);
  });
});
