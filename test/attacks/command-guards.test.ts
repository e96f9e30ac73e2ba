// Attacks on the guards of declared commands: deny patterns, wrappers, variables and files that are read along.

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare, type SkillWorkspace } from '../support/commands.js';
import { patience } from '../support/patience.js';
import { finding } from '../support/spec.js';

/** A tool over `victim`, which leaves a mark and prints its arguments. */
function createVictim(args: Parameters<typeof declare>[0], more: Parameters<typeof declare>[1] = {}, files = {}) {
  const workspace = createSkillWorkspace();
  const mark = join(workspace.dir, 'ran');
  workspace.program('victim', `#!/bin/sh\n: > '${mark}'\nprintf '%s\\n' "$@"\n`);
  const declared = declare(args, { binary: 'victim', subcommand: 'push', ...more });
  const directory = workspace.skill('own', { 'tools.json': declared, ...files });
  return { workspace, directory, ran: () => existsSync(mark) };
}

const BRANCH = { param: 'branch', denyPattern: '^(main|release/.+)$' };
const CURRENT = { script: 'current-branch', args: ['$workingDir'] };
const ALLOW_SCRIPTS = '[skills]\nallow-scripts = true\n';

describe('a denied value', () => {
  const spellings: [string, unknown][] = [
    ['itself', 'main'],
    ['a pattern', 'release/1.0'],
    ['blanks around it', ' main\t'],
    ['a line end', 'main\n'],
    ['a later line', 'x\nmain'],
    ['one of several words', 'feature main'],
    ['a zero-width character', 'ma\u200bin'],
    ['a bidirectional control', '\u202emain'],
    ['full-width letters', '\uff4d\uff41\uff49\uff4e'],
    ['quotes', '"main"'],
    ['an element of an array', ['ok', 'main']],
    ['the default', undefined],
  ];
  for (const [how, value] of spellings) {
    finding('002-56 TJS-26', `is refused as ${how}, before anything starts`, async () => {
      const mapping = value === undefined ? { ...BRANCH, absentDefault: 'main' } : BRANCH;
      const { workspace, ran } = createVictim([mapping], { properties: { branch: {} } });
      const input = value === undefined ? {} : { branch: value };
      const result = await workspace.toolbox().call('run', input);
      expect(result.error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('must not be') });
      const plan = await wield(workspace, ['call', 'run', '--input', JSON.stringify(input), '--dry-run', '--json']);
      expect(json(plan).error.code).toBe('invalid_input');
      expect(ran()).toBe(false);
    });
  }

  for (const kind of ['flag', 'stdin', 'tempfile', 'envvar', 'workingdir']) {
    finding('002-56 TJS-26', `is refused as ${kind}`, async () => {
      const { workspace, ran } = createVictim([{ ...BRANCH, kind }]);
      mkdirSync(join(workspace.dir, 'main'));
      expect((await workspace.toolbox().call('run', { branch: 'main' })).error?.code).toBe('invalid_input');
      expect(ran()).toBe(false);
    });
  }

  finding('002-56 TJS-26', 'is refused as the output of a resolver, and if a resolver would hide it', async () => {
    for (const [value, script] of [
      ['x', 'echo main'],
      ['main', 'echo x'],
    ]) {
      const mapping = { ...BRANCH, resolveCommand: { script: 'to', args: ['$param'] } };
      const { workspace, ran } = createVictim([mapping], {}, { 'scripts/to.sh': `${script}\n` });
      workspace.config(ALLOW_SCRIPTS);
      expect((await workspace.toolbox().call('run', { branch: value })).error?.code).toBe('invalid_input');
      expect(ran()).toBe(false);
    }
  });

  finding('002-56 TJS-26 TJS-29', 'that takes too long to match is refused', async () => {
    const { workspace, ran } = createVictim([{ param: 'branch', denyPattern: '^(?=(a+)+$)b' }]);
    const started = Date.now();
    const { error } = await workspace.toolbox().call('run', { branch: 'a'.repeat(50_000) });
    expect(error?.code).toBe('too_large');
    expect(Date.now() - started).toBeLessThan(patience(60_000));
    expect(ran()).toBe(false);
  });

  finding('002-56 TJS-26', 'lets others through', async () => {
    const { workspace } = createVictim([BRANCH]);
    for (const branch of ['feature/main-menu', 'mains', 'release'])
      expect(textOf(await workspace.toolbox().call('run', { branch }))).toBe(`push\n${branch}\n`);
  });
});

describe('a deny command', () => {
  const guarded = (script: string, more: object = {}) => {
    const repo = { param: 'repo', kind: 'workingdir', optional: true, denyPattern: '^main$' };
    const mapping = { ...repo, denyResolveCommand: CURRENT, denyAlwaysResolve: true, ...more };
    return createVictim([mapping], {}, { 'scripts/current-branch.sh': script });
  };

  finding('002-56 TJS-26', 'gets the directory of the command and decides', async () => {
    const { workspace, ran } = guarded('cat "$1/HEAD"\n');
    workspace.config(ALLOW_SCRIPTS);
    workspace.write('a/HEAD', 'main\n');
    workspace.write('b/HEAD', 'topic\n');
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('run', { repo: 'a' })).error?.message).toContain('repo must not be "main"');
    expect(ran()).toBe(false);
    expect((await toolbox.call('run', { repo: 'b' })).ok).toBe(true);
  });

  const failures: [string, string, string][] = [
    ['fails', 'exit 1\n', ALLOW_SCRIPTS],
    ['returns nothing', 'true\n', ALLOW_SCRIPTS],
    ['is a script while scripts are off', 'echo topic\n', ''],
  ];
  for (const [how, script, config] of failures) {
    finding('002-56 TJS-26', `that ${how} stops the command`, async () => {
      const { workspace, ran } = guarded(script);
      workspace.config(config);
      const { error } = await workspace.toolbox().call('run', {});
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('could not check') });
      expect(ran()).toBe(false);
    });
  }

  finding(
    '002-56 TJS-26',
    'is asked when the parameter is missing or blank, and cannot be replaced by a value',
    async () => {
      for (const input of [{}, { branch: '' }, { branch: ' ' }, { branch: null }]) {
        const mapping = {
          ...BRANCH,
          optional: true,
          denyResolveCommand: { script: 'current-branch', args: ['$param'] },
        };
        const { workspace, ran } = createVictim([mapping], {}, { 'scripts/current-branch.sh': 'echo main\n' });
        workspace.config(ALLOW_SCRIPTS);
        expect((await workspace.toolbox().call('run', input)).error?.code).toBe('invalid_input');
        expect(ran()).toBe(false);
      }
    },
  );

  finding('002-56 TJS-26', 'that changed after approval is not run', async () => {
    const { workspace, directory } = guarded('echo topic\n');
    workspace.config(ALLOW_SCRIPTS);
    const toolbox = workspace.toolbox();
    const before = (await toolbox.plan('run', {})).plan.tool.origin.digest;
    writeFileSync(join(directory, 'scripts/current-branch.sh'), 'echo other\n');
    expect((await workspace.toolbox().plan('run', {})).plan.tool.origin.digest).not.toBe(before);
  });

  const broken: [object, string][] = [
    [{ denyPattern: '(' }, 'is not a regular expression'],
    [{ denyPattern: '(?i)main' }, 'is not a regular expression'],
    [{ denyPattern: undefined }, 'without "denyPattern"'],
    [{ denyResolveCommand: undefined }, 'there is no denyResolveCommand'],
    [{ denyResolveCommand: { script: '../x', args: [] } }, 'is not the name of a file'],
    [{ denyResolveCommand: { binary: 'git', subcommand: 'branch', args: [] } }, 'is not in the allowlist'],
    [{ denyPatern: 'main' }, 'unknown key'],
  ];
  for (const [more, message] of broken) {
    finding('002-56 TJS-26', `${JSON.stringify(more)} rejects the descriptor`, async () => {
      const toolbox = guarded('', more).workspace.toolbox();
      expect((await toolbox.catalog.problems())[0]?.message).toContain(message);
      expect((await toolbox.call('run', {})).error?.code).toBe('not_found');
    });
  }
});

describe('a wrapper', () => {
  finding('002-56 TJS-27', 'starts the command with fixed arguments, and is shown in the plan', async () => {
    const { workspace } = createVictim([{ param: 'a' }], { execution: { binaryWrapper: ['env', 'GIT_EDITOR=true'] } });
    expect(textOf(await workspace.toolbox().call('run', { a: 'x; id' }))).toBe('push\nx; id\n');
    const { plan } = json(await wield(workspace, ['call', 'run', '--a', 'x', '--dry-run', '--json']));
    expect(plan.argv).toEqual(['env', 'GIT_EDITOR=true', 'victim', 'push', 'x']);
    expect(plan.binary).toMatch(/^\/.*\/env$/);
    expect((await wield(workspace, ['check'])).stdout).toContain('env starts the command');
  });

  finding('002-56 TJS-27', 'does not find programs of the checkout', async () => {
    const { workspace, ran } = createVictim([], { execution: { binaryWrapper: ['env', 'A=b'] } });
    workspace.write('bin/victim', '#!/bin/sh\necho from the checkout\n', 0o755);
    workspace.write('bin/env', '#!/bin/sh\necho from the checkout\n', 0o755);
    symlinkSync(join(workspace.dir, 'bin'), join(workspace.home, 'linked'));
    for (const first of [join(workspace.dir, 'bin'), join(workspace.home, 'linked')]) {
      const env = { ...workspace.env, PATH: `${first}:${workspace.env.PATH}` };
      expect(textOf(await workspace.toolbox({ env }).call('run', {}))).toBe('push\n');
    }
    expect(ran()).toBe(true);
  });

  finding('002-56 TJS-27 TJS-15', 'does not widen the allowlist', async () => {
    const workspace = createSkillWorkspace();
    const declared = declare([], { subcommand: 'rm', allowlist: { args: ['ls'] } });
    const [execution] = declared.execution;
    workspace.skill('own', { 'tools.json': { ...declared, execution: [{ ...execution, binaryWrapper: ['env'] }] } });
    expect((await workspace.toolbox().catalog.problems())[0]?.message).toContain('"rm" is not in allowlist');
  });

  for (const wrapper of [
    [],
    [''],
    ['./evil'],
    ['/bin/sh', '-c'],
    ['../x'],
    ['-x'],
    ['a b'],
    ['env', ''],
    ['env', '\0'],
    'env',
    [1],
  ]) {
    finding('002-56 TJS-27', `${JSON.stringify(wrapper)} rejects the descriptor`, async () => {
      const { workspace } = createVictim([], { execution: { binaryWrapper: wrapper } });
      expect((await workspace.toolbox().call('run', {})).error?.code).toBe('not_found');
    });
  }
});

describe('a variable', () => {
  const variable = (envVar: string | undefined, param = 'original_content') =>
    createVictim([{ param, kind: 'envvar', ...(envVar === undefined ? {} : { envVar }) }]);

  finding('002-56 TJS-25', 'is passed to the process and nowhere else', async () => {
    const { workspace } = variable('CHAI_ORIGINAL_CONTENT');
    workspace.program('victim', '#!/bin/sh\nprintf "%s|%s" "$CHAI_ORIGINAL_CONTENT" "$*"\n');
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('run', { original_content: '`a` · $b\n--x' }))).toBe('`a` · $b\n--x|push');
    expect(textOf(await toolbox.call('run', {}))).toBe('|push');
    expect((await toolbox.call('run', { original_content: 'a\0b' })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('run', { original_content: 'x'.repeat(100_000) })).error?.code).toBe('too_large');
  });

  for (const name of [
    ...[
      'PATH',
      'path',
      'LD_PRELOAD',
      'DYLD_INSERT_LIBRARIES',
      'NODE_OPTIONS',
      'BASH_ENV',
      'ENV',
      'PYTHONPATH',
      'PERL5OPT',
    ],
    ...['GIT_SSH_COMMAND', 'GIT_EDITOR', 'EDITOR', 'PAGER', 'HOME', 'SHELL', 'IFS', 'RUBYOPT', 'JAVA_TOOL_OPTIONS'],
    ...['HTTPS_PROXY', 'https_proxy', 'WIELD_CALL', 'BASH_FUNC_ls%%', 'A=B', '1A', 'LESSOPEN', 'CARGO_HOME'],
  ]) {
    finding('002-56 TJS-25', `${name} cannot be set by a parameter`, async () => {
      const toolbox = variable(name).workspace.toolbox();
      expect((await toolbox.catalog.problems())[0]?.message).toContain('cannot be set by a parameter');
      expect((await toolbox.call('run', { original_content: 'x' })).error?.code).toBe('not_found');
    });
  }
});

describe('a file that is read along', () => {
  const reading = (more: object = {}): SkillWorkspace =>
    createVictim([{ param: 'path', readPath: true }], {
      execution: { sideRead: { pathParam: 'path', filename: 'AGENTS.md', ...more } },
    }).workspace;

  finding('D4 002-56 TJS-28', 'is appended below its label', async () => {
    const workspace = reading({ label: 'Project Instructions' });
    workspace.write('sub/AGENTS.md', '# Rules\n\n');
    workspace.write('empty/AGENTS.md', ' \n');
    const toolbox = workspace.toolbox();
    const shown = textOf(await toolbox.call('run', { path: 'sub' }));
    expect(shown).toBe(
      `push\n${workspace.dir}/sub\n\n--- Project Instructions (BOF) ---\n\n# Rules\n\n--- Project Instructions (EOF) ---\n`,
    );
    for (const path of ['.', 'empty', 'sub/AGENTS.md'])
      expect(textOf(await toolbox.call('run', { path }))).not.toContain('BOF');
  });

  finding('D4 TJS-28', 'is appended once in a session, if the author wants that', async () => {
    const workspace = reading({ oncePerSession: true });
    workspace.write('AGENTS.md', 'Rules\n');
    const toolbox = workspace.toolbox();
    const call = async (path: string, session?: string) =>
      textOf(await toolbox.call('run', { path }, { caller: { kind: 'code', door: 'test', session } }));
    expect(await call('.', 'one')).toContain('Rules');
    for (const path of ['.', './', './sub/..', workspace.dir]) {
      mkdirSync(join(workspace.dir, 'sub'), { recursive: true });
      expect(await call(path, 'one')).not.toContain('Rules');
    }
    expect(await call('.', 'two')).toContain('Rules');
    expect(await call('.')).toContain('Rules');
    expect(await call('.')).toContain('Rules');
  });

  finding('D4 TJS-28', 'is never outside the workdir, nor anything but a file', async () => {
    const workspace = reading();
    const secret = join(workspace.home, 'secret');
    writeFileSync(secret, 'SECRET');
    mkdirSync(join(workspace.dir, 'a'));
    mkdirSync(join(workspace.dir, 'b/AGENTS.md'), { recursive: true });
    symlinkSync(secret, join(workspace.dir, 'a/AGENTS.md'));
    symlinkSync('/dev/zero', join(workspace.dir, 'AGENTS.md'));
    const toolbox = workspace.toolbox();
    for (const path of ['a', 'b', '.']) expect(textOf(await toolbox.call('run', { path }))).not.toMatch(/SECRET|BOF/);
    workspace.write('c/AGENTS.md', 'x'.repeat(70_000));
    const long = await toolbox.call('run', { path: 'c' }, { full: true });
    expect(textOf(long)).toContain('[truncated: the file is larger than 64 KiB]');
  });

  for (const filename of ['../secret', 'a/b', 'a\\b', '..', '.', '/etc/passwd', 'a\0b']) {
    finding('D4 TJS-28', `${JSON.stringify(filename)} rejects the descriptor`, async () => {
      expect((await reading({ filename }).toolbox().call('run', { path: '.' })).error?.code).toBe('not_found');
    });
  }
});
