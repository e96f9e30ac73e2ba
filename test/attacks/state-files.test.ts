// State that others could have written, that cannot be read or written, and that killed processes left behind.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { startTime } from '../../src/files/process-identity.js';
import { textOf } from '../../src/index.js';
import { binary } from '../support/built.js';
import { type CliRun, json, wield, wieldProcess } from '../support/cli.js';
import { ALL_TESTS, SAMPLED, sample, some } from '../support/effort.js';
import { isRoot } from '../support/machine.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../support/sandbox-attempts.js';
import { shellScript } from '../support/shell-script.js';
import { finding, findingIf } from '../support/spec.js';
import { hasStrace, NO_STRACE, underStrace } from '../support/strace.js';
import { createUpstreamWorkspace } from '../support/upstream-workspace.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const writeState = (workspace: Workspace, name: string, text: string): string => {
  const path = join(workspace.env.WIELD_HOME!, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};

const trustRecord = (directory: string): string =>
  JSON.stringify({ version: 1, workspaces: [{ directory, since: '2026-01-01T00:00:00.000Z', files: {} }] });

type Damage = (workspace: Workspace) => string;

const unsafe: [string, Damage][] = [
  [
    'a wield home that all can write to',
    ({ env }) => {
      chmodSync(env.WIELD_HOME!, 0o777);
      return env.WIELD_HOME!;
    },
  ],
  [
    'a wield home that a group can write to',
    ({ env }) => {
      chmodSync(env.WIELD_HOME!, 0o770);
      return env.WIELD_HOME!;
    },
  ],
  [
    'a trust file that all can write to',
    ({ env }) => {
      const path = join(env.WIELD_HOME!, 'trust.json');
      chmodSync(path, 0o666);
      return path;
    },
  ],
  [
    'a configuration that all can write to',
    (workspace) => {
      const path = writeState(workspace, 'config.toml', '[env]\npass = ["*"]\n');
      chmodSync(path, 0o646);
      return path;
    },
  ],
  ...(isRoot
    ? ([
        [
          'a wield home of another user',
          ({ env }) => {
            chownSync(env.WIELD_HOME!, 12345, 12345);
            return env.WIELD_HOME!;
          },
        ],
        [
          'a trust file of another user',
          ({ env }) => {
            const path = join(env.WIELD_HOME!, 'trust.json');
            chownSync(path, 12345, 12345);
            return path;
          },
        ],
        [
          'a configuration of another user',
          (workspace) => {
            const path = writeState(workspace, 'config.toml', '[env]\npass = ["*"]\n');
            chownSync(path, 12345, 12345);
            return path;
          },
        ],
      ] as [string, Damage][])
    : []),
];

for (const [title, damage] of unsafe) {
  finding('B8 STA-2', `${title} is not used, and doctor reports it`, async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('touch ran; echo hello'));
    writeState(workspace, 'trust.json', trustRecord(workspace.dir));
    expect(await workspace.toolbox().call('hello', {}, { caller: { kind: 'model', door: 'mcp' } })).toMatchObject({
      ok: true,
    });
    rmSync(join(workspace.dir, 'ran'));
    const path = damage(workspace);
    const run = await wield(workspace, path.endsWith('trust.json') ? ['trust', '--yes'] : ['call', 'hello']);
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain(path);
    expect(run.stderr).toMatch(/ch(mod|own)/);
    const caller = { kind: 'model', door: 'mcp' } as const;
    const call = async () => (await workspace.toolbox().call('hello', {}, { caller })).ok;
    expect(await call().catch(() => false)).toBe(false);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    const doctor = await wield(workspace, ['doctor', '--json']);
    expect(doctor.status).toBe(1);
    expect(json(doctor).problems).toContainEqual(
      expect.objectContaining({ path, hint: expect.stringMatching(/chmod [67]00 |chown/) }),
    );
  });
}

const MODEL = { caller: { kind: 'model', door: 'mcp', session: 's' } } as const;

/** Returns the files and directories of the state, by their path. */
const listState = (workspace: Workspace): string[] =>
  readdirSync(workspace.env.WIELD_HOME!, { recursive: true }).map((name) => String(name));

finding('B8 STA-2', 'no directory and no file of results and documents is used if others can write to it', async () => {
  const workspace = createWorkspace();
  workspace.script('big', shellScript('head -c 20000 /dev/zero | tr "\\0" x'));
  writeState(workspace, 'trust.json', trustRecord(workspace.dir));
  const first = workspace.toolbox();
  const { meta } = await first.call('big', {}, MODEL);
  const { id } = meta.handle!;
  expect((await first.call('context_write', { path: 'a', content: 'secret' })).ok).toBe(true);
  await first.close();
  const read = async () => {
    const toolbox = workspace.toolbox();
    const results = await Promise.all([
      toolbox.call('read_result', { id, page: 1 }, MODEL),
      toolbox.call('context_read', { path: 'a' }),
    ]);
    await toolbox.close();
    return results.map(({ ok }) => ok);
  };
  expect(await read()).toEqual([true, true]);
  // Written again by every process that opens the database.
  const parts = listState(workspace).filter((name) => name.startsWith('projects') && !/-(?:shm|wal)$/.test(name));
  expect(parts.length).toBeGreaterThan(7);
  for (const part of parts) {
    const path = join(workspace.env.WIELD_HOME!, part);
    const { mode } = statSync(path);
    chmodSync(path, mode | 0o022);
    const isOfResults = /results/.test(part);
    const isOfDocuments = /context/.test(part);
    expect([part, await read()]).toEqual([part, [isOfDocuments, isOfResults]]);
    chmodSync(path, mode & 0o7777);
  }
  expect(await read()).toEqual([true, true]);
});

finding('B8 STA-2', 'an audit log in a directory that others can write to is neither written nor read', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript('echo hello'));
  workspace.config('[audit]\nrequired = true\n');
  const call = async () => (await workspace.toolbox().call('hello', {})).error?.code;
  expect(await call()).toBe(undefined);
  const audit = join(workspace.env.WIELD_HOME!, 'audit');
  chmodSync(audit, 0o777);
  expect(await call()).toBe('unavailable');
  const log = await wield(workspace, ['audit']);
  expect([log.status, log.stderr]).toEqual([8, expect.stringContaining(`chmod 700 ${audit}`)]);
});

finding('B8 STA-2', 'servers of the user, their lists and pins are not used if others can write them', async () => {
  const workspace = createUpstreamWorkspace({ far: { mode: 'well' } });
  const file = join(workspace.home, '.agents', 'mcp.json');
  const list = async () => (await workspace.toolbox().list({})).filter(({ origin }) => origin.server === 'far').length;
  expect(await list()).toBeGreaterThan(0);
  for (const part of ['cache', 'cache/upstream', 'pins']) {
    const path = join(workspace.env.WIELD_HOME!, part);
    chmodSync(path, 0o777);
    const { error } = await workspace.toolbox().call('far_echo', {});
    expect([part, error?.code, error?.hint]).toEqual([part, 'unavailable', expect.stringContaining(path)]);
    chmodSync(path, 0o700);
  }
  chmodSync(file, 0o666);
  expect(await list()).toBe(0);
  expect(workspace.starts('far').length).toBe(1);
  const doctor = await wield(workspace, ['doctor', '--json']);
  expect(json(doctor).problems).toContainEqual(expect.objectContaining({ path: file }));
});

findingIf(
  hasBubblewrap(),
  NO_BUBBLEWRAP,
  'B8 EXE-76',
  'a filter of a sandbox that was changed is replaced before it is used',
  async () => {
    const workspace = createWorkspace();
    workspace.script('boxed', shellScript('echo boxed', '@sandbox workdir'));
    const call = async () => textOf(await workspace.toolbox().call('boxed', {}));
    expect(await call()).toBe('boxed\n');
    const cache = join(workspace.env.WIELD_HOME!, 'cache');
    const file = join(cache, readdirSync(cache).find((name) => name.startsWith('filter-'))!);
    const bytes = readFileSync(file);
    // Allows everything.
    writeFileSync(file, Buffer.from('060000000000ff7f', 'hex'));
    expect(await call()).toBe('boxed\n');
    expect(readFileSync(file).equals(bytes)).toBe(true);
  },
);

const expectUnstored = (run: CliRun): void => {
  const result = json(run);
  expect([result.ok, result.error?.code, run.status]).toEqual([false, 'io', 8]);
  expect(result.error.message).toMatch(/could not be stored/);
  expect(textOf(result)).toMatch(/x{1000}/);
  expect(result.meta.truncated).toBe(true);
};

finding(
  'B25 STA-3',
  'F11 without a writable state directory a large result is an error with its beginning',
  async () => {
    for (const size of [40_000, 1_572_864]) {
      const workspace = createWorkspace();
      workspace.script('big', shellScript(`head -c ${size} /dev/zero | tr '\\0' x; touch ended`));
      writeState(workspace, 'projects', '');
      expectUnstored(await wield(workspace, ['call', 'big', '--json']));
      expect(existsSync(join(workspace.dir, 'ended'))).toBe(true);
      const result = await workspace.toolbox().call('big', {});
      expect([result.ok, result.error?.code]).toEqual([false, 'io']);
    }
  },
);

finding('B25 STA-3', 'F06 on a full disk a large result is an error with its beginning', () => {
  const workspace = createWorkspace();
  workspace.script('big', shellScript("head -c 1572864 /dev/zero | tr '\\0' x"));
  // A limit of file sizes fails a write in the middle, like a full disk.
  const run = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -f 200; exec "$0" "$@"', process.execPath, binary(), 'call', 'big', '--json'],
    { cwd: workspace.dir, env: workspace.env, encoding: 'utf8' },
  );
  expectUnstored(run);
});

finding('B20 STA-4', 'temporary files of killed processes are removed, others stay', async () => {
  const workspace = createWorkspace();
  await wield(workspace, ['trust', '--yes']);
  const home = workspace.env.WIELD_HOME!;
  const living = spawn('sleep', ['60']);
  const started = startTime(living.pid!);
  const hex = 'ab'.repeat(9);
  const dead = `.wield-${living.pid}-${started! + 1}-${hex}.tmp`;
  const alive = `.wield-${living.pid}-${started}-${hex}.tmp`;
  const old = `.${hex}.tmp`;
  const young = `.${'cd'.repeat(9)}.tmp`;
  const foreign = ['.other.tmp', 'notes.tmp', `.wield-1-1-${hex}.tmp.txt`];
  const hourAgo = Date.now() / 1000 - 7200;
  const fill = (directory: string): void => {
    for (const name of [dead, alive, old, young, ...foreign]) writeFileSync(join(directory, name), '', { mode: 0o600 });
    utimesSync(join(directory, old), hourAgo, hourAgo);
  };
  const left = (directory: string) =>
    readdirSync(directory)
      .filter((name) => name.includes('.tmp'))
      .sort();
  const kept = [alive, young, ...foreign].sort();
  try {
    fill(home);
    expect((await wieldProcess(workspace, ['trust', '--revoke'])).status).toBe(0);
    expect(left(home)).toEqual(kept);
    const pins = join(home, 'pins');
    mkdirSync(pins, { mode: 0o700 });
    fill(pins);
    // Outside of the state, only what has the name of a process.
    const outside = [join(workspace.home, '.agents'), join(workspace.dir, '.agents/tools'), workspace.dir];
    for (const directory of outside) {
      mkdirSync(directory, { recursive: true });
      fill(directory);
    }
    expect((await wield(workspace, ['clean', '--dry-run'])).status).toBe(0);
    expect(left(pins)).toHaveLength(kept.length + 2);
    expect((await wield(workspace, ['clean'])).status).toBe(0);
    expect(left(pins)).toEqual(kept);
    for (const directory of outside) expect(left(directory)).toEqual([...kept, old].sort());
  } finally {
    living.kill();
  }
});

const special: [string, (path: string) => void][] = [
  ['a FIFO', (path) => execFileSync('mkfifo', ['-m', '600', path])],
  ['a directory', (path) => mkdirSync(path, { mode: 0o700 })],
  ['a link to itself', (path) => symlinkSync(path, path)],
  ['a link to a device', (path) => symlinkSync('/dev/zero', path)],
];

const PROJECT_FILES = [
  '.mcp.json',
  '.agents/mcp.json',
  '.agents/config.toml',
  '.agents/skills/a/SKILL.md',
  '.agents/skills/a/tools.json',
];
const STATE_FILES = [
  'trust.json',
  'config.toml',
  'installed.json',
  'sources.json',
  'hooks.json',
  'connect.json',
  'pins',
  'approvals',
  'audit',
  'cache',
  'projects',
];

for (const [what, create] of some(special, 2)) {
  finding(
    'B21 STA-5',
    `${what} in place of a file is never a fault in wield${SAMPLED}`,
    async () => {
      for (const name of sample(PROJECT_FILES, ALL_TESTS ? 2 : 1)) {
        const workspace = createWorkspace();
        workspace.script('hello', shellScript('echo hello'));
        mkdirSync(dirname(join(workspace.dir, name)), { recursive: true });
        create(join(workspace.dir, name));
        for (const args of [['trust', '--yes'], ['list'], ['call', 'hello'], ['doctor'], ['mcp']]) {
          const run = await wield(workspace, args);
          expect([name, args, run.status, run.stderr]).toEqual([name, args, expect.not.toBeOneOf([70]), run.stderr]);
          expect(run.stderr).not.toContain('unexpected');
        }
      }
      for (const name of sample(STATE_FILES, ALL_TESTS ? 4 : 2)) {
        const workspace = createWorkspace();
        workspace.script('hello', shellScript('echo hello'));
        mkdirSync(workspace.env.WIELD_HOME!, { mode: 0o700 });
        create(join(workspace.env.WIELD_HOME!, name));
        for (const args of [
          ['trust', '--yes'],
          ['list'],
          ['call', 'hello'],
          ['approvals'],
          ['audit'],
          ['list', '--installed'],
          ['clean'],
          ['doctor'],
        ]) {
          const run = await wield(workspace, args);
          expect([name, args, run.status, run.stderr]).toEqual([name, args, expect.not.toBeOneOf([70]), run.stderr]);
        }
      }
    },
    120_000,
  );
}

finding('B21 STA-5', 'F07 F11 a home that cannot be written is named', async () => {
  const workspace = createWorkspace();
  writeFileSync(workspace.env.WIELD_HOME!, '');
  const run = await wield(workspace, ['trust', '--yes']);
  expect([run.status, run.stderr]).toEqual([8, expect.stringContaining(workspace.env.WIELD_HOME!)]);
});

findingIf(
  hasStrace,
  NO_STRACE,
  'B21',
  'F06 F07 F11 a failed system call while trusting is an error with a code',
  async () => {
    for (const fault of [
      'fsync:error=EIO',
      'fsync:error=ENOSPC',
      'fsync:error=ESTALE',
      'rename:error=EROFS',
      'rename:error=EDQUOT',
      'mkdir:error=EROFS',
    ]) {
      const workspace = createWorkspace();
      expect([fault, await underStrace(workspace, fault, ['trust', '--yes'])]).toEqual([fault, 8]);
    }
  },
  60_000,
);
