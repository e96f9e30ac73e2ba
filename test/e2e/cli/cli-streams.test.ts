// Output streams: JSON documents, colour, exit statuses, debug output.

import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { SAMPLED, sample } from '../../support/effort.js';
import { hasPty, NO_PTY } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ESCAPE = '\u001b';
const HELLO = '#!/bin/sh\n# @description Say hello.\n# @param name string N\necho hello\n';

function create(): Workspace {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  workspace.script('broken', '#!/bin/sh\n');
  return workspace;
}

describe('documents', () => {
  const commands: [string[], boolean][] = [
    [['list'], true],
    [['list', '--all'], true],
    [['show', 'hello'], true],
    [['show', 'nobody'], false],
    [['call', 'hello', '--name', 'x'], true],
    [['call', 'hello', '--name', 'x', '--dry-run'], true],
    [['call', 'nobody'], false],
    [['call', 'broken'], false],
    [['call', 'no such name'], false],
    [['doctor'], true],
    [['init'], true],
    [['version'], true],
    [['nonsense'], false],
    [['list', '--nonsense'], false],
    [['call'], false],
    [[], false],
  ];
  for (const [args, ok] of commands) {
    spec('CLI-3', `wield ${[...args, '--json'].join(' ')} prints exactly one document`, async () => {
      for (const argv of [
        [...args, '--json'],
        ['--json', ...args],
      ]) {
        const run = await wield(create(), argv);
        expect(run.stdout).toMatch(/^\{.*\}\n$/);
        expect(json(run)).toMatchObject({ ok, schema: 1 });
        if (!ok) {
          expect(run.status).not.toBe(0);
          expect(json(run).error).toMatchObject({
            code: expect.stringMatching(/^[a-z_]+$/),
            message: expect.stringMatching(/./),
            hint: expect.stringMatching(/./),
          });
        }
      }
    });
  }

  spec('CLI-3', 'without --json, errors and notes go to stderr and data to stdout', async () => {
    const workspace = create();
    for (const args of [['call', 'nobody'], ['show', 'nobody'], ['nonsense']]) {
      const run = await wield(workspace, args);
      expect(run.stdout).toBe('');
      expect(run.stderr).toMatch(/^error {2}/);
    }
    expect((await wield(workspace, ['list'])).stdout).not.toContain('problem');
  });
});

describe('exit statuses', () => {
  const header = (tags = '') => `#!/bin/sh\n# @description D\n${tags}`;
  const cases: [string, string, string[], number, string][] = [
    ['a tool that fails', `${header()}exit 9\n`, [], 1, 'tool_failed'],
    ['a missing interpreter', '#!/no/such/thing\n# @description D\n', [], 1, 'exec_failed'],
    ['output that breaks its word', `${header('# @returns integer N\n')}echo many\n`, [], 1, 'invalid_output'],
    ['input that does not fit', `${header('# @param *a int\n')}`, [], 2, 'invalid_input'],
    ['a time limit', `${header('# @timeout 300ms\n')}sleep 600\n`, [], 6, 'timeout'],
    ['a variable that is not granted', header('# @env SOME_TOKEN\n'), [], 8, 'unavailable'],
    ['a sandbox that is not defined', header('# @sandbox unknown\n'), [], 8, 'unavailable'],
  ];
  for (const [what, text, args, status, code] of cases) {
    spec('ERR-4 ERR-3', `${what} is ${code}, status ${status}`, async () => {
      const workspace = createWorkspace();
      workspace.script('one', text);
      const run = await wield(workspace, ['call', 'one', ...args, '--json']);
      expect(json(run).error).toMatchObject({ code, hint: expect.stringMatching(/./) });
      expect(run.status).toBe(status);
      expect((await wield(workspace, ['call', 'one', ...args])).status).toBe(status);
    });
  }

  spec(
    'ERR-4',
    'invalid names, missing tools, path escapes and invalid configurations have their own status',
    async () => {
      const workspace = create();
      const status = async (...args: string[]) => {
        const run = await wield(workspace, [...args, '--json']);
        return [run.status, json(run).error?.code];
      };
      expect(await status('call', 'hello', '--name', 'x')).toEqual([0, undefined]);
      expect(await status('call', 'a b')).toEqual([2, 'invalid_ref']);
      expect(await status('call', 'workdir', '--path', '/')).toEqual([2, 'path_escape']);
      expect(await status('call', 'helo')).toEqual([3, 'not_found']);
      workspace.config('this is = not toml = at all');
      expect(await status('call', 'hello', '--name', 'x')).toEqual([5, 'denied']);
    },
  );

  spec('RES-64', 'a script with an extension is named with what makes it a tool', async () => {
    const workspace = createWorkspace();
    workspace.script('backup.sh', '#!/bin/sh\n# backs up a directory\ntar c "$1"\n');
    const { stderr } = await wield(workspace, ['call', 'backup']);
    const rename = 'rename it to "backup", and write # @description below its first line';
    expect(stderr).toContain(`.agents/tools/backup.sh is not a tool: ${rename}`);
    const model = { caller: { kind: 'model', door: 'mcp' } as const };
    expect((await workspace.toolbox().call('backup', {}, model)).error?.hint).not.toContain('backup.sh');
  });

  spec('ERR-3 RES-11', 'a missing tool suggests the nearest, or lists the searched directories', async () => {
    const workspace = create();
    expect((await wield(workspace, ['call', 'helo'])).stderr).toContain('did you mean hello?');
    expect((await wield(workspace, ['call', 'xyzzy'])).stderr).toMatch(
      /searched \.agents\/skills, .*, \.agents\/tools, /,
    );
  });
});

describe('debug', () => {
  for (const [how, args, env] of [
    ['--verbose', ['--verbose'], {}],
    ['WIELD_LOG=debug', [], { WIELD_LOG: 'debug' }],
    ['OCTOMIND_LOG=debug', [], { OCTOMIND_LOG: 'debug' }],
  ] as const) {
    spec('CLI-12', `${how} prints ignored files and spawned processes to stderr`, async () => {
      const workspace = create();
      workspace.script('.hidden', HELLO);
      workspace.script('folder/inner', HELLO);
      const list = await wield(workspace, ['list', '--json', ...args], { env });
      expect(list.stderr).toMatch(/debug {2}.*\.hidden: ignored/);
      expect(list.stderr).toMatch(/debug {2}.*folder: ignored/);
      expect(json(list).ok).toBe(true);
      const call = await wield(workspace, ['call', 'hello', '--name', 'x', ...args], { env });
      expect(call.stderr).toMatch(/debug {2}spawned .*hello/);
      expect(call.stdout).toBe('hello\n');
      expect((await wield(workspace, ['list'])).stderr).not.toContain('debug');
    });
  }
});

describe('colour', () => {
  // A pseudo-terminal around the binary; its output has what a person would see.
  const onTerminal = (workspace: Workspace, command: string, env: Record<string, string> = {}): string => {
    const line = `'${process.execPath}' '${binary()}' ${command}`;
    return execFileSync('script', ['-qec', line, '/dev/null'], {
      cwd: workspace.dir,
      env: { ...workspace.env, TERM: 'xterm-256color', ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  };

  spec('CLI-4', 'plain text if the output is not a terminal', async () => {
    const workspace = create();
    for (const args of [
      [],
      ['list'],
      ['show', 'hello'],
      ['doctor'],
      ['call', 'nobody'],
      ['init'],
      ['list', '--help'],
    ]) {
      const { stdout, stderr } = await wield(workspace, args, {
        env: { FORCE_COLOR: '1', TERM: 'xterm-256color' },
      });
      expect(stdout + stderr).not.toContain(ESCAPE);
    }
  });

  specIf(hasPty, NO_PTY, 'CLI-4', 'colour on a terminal', () => {
    const workspace = create();
    for (const command of ['list', 'show hello', 'doctor || true', 'call nobody || true']) {
      expect(onTerminal(workspace, command)).toContain(ESCAPE);
    }
  });

  for (const [how, flag, env] of [
    ['NO_COLOR', '', { NO_COLOR: '1' }],
    ['CI', '', { CI: 'true' }],
    ['--plain', '--plain', {}],
    ['TERM=dumb', '', { TERM: 'dumb' }],
  ] as const) {
    specIf(hasPty, NO_PTY, 'CLI-4', `no colour on a terminal under ${how}${SAMPLED}`, () => {
      const workspace = create();
      for (const command of sample(['list', 'show hello', 'doctor', 'call nobody', 'call hello --name x'], 2)) {
        const seen = onTerminal(workspace, `${command} ${flag} || true`, env);
        expect(seen).not.toContain(ESCAPE);
        expect(seen).not.toBe('');
      }
    });
  }
});
