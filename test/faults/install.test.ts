// Installing with kills, concurrent processes, corrupted files and stale locks.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { binary } from '../support/built.js';
import { json, wieldProcess } from '../support/cli.js';
import { ALL_TESTS, rounds } from '../support/effort.js';
import { createInstallWorkspace, type InstallWorkspace, WORKED, wrapGit } from '../support/install.js';
import { NO_MOUNT } from '../support/machine.js';
import { canMount } from '../support/mounts.js';
import { patience } from '../support/patience.js';
import { spec, specIf } from '../support/spec.js';
import { diskDirectory } from '../support/temporary.js';

const INSTALLS = rounds(ALL_TESTS ? 12 : 6, 50);
const SOON = { timeout: patience(60_000) };
const skill = (name: string, text: string): string => `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}\n`;
const MANY = (text: string) => ({
  ...WORKED,
  ...Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`skills/s${at}/SKILL.md`, skill(`s${at}`, text)])),
});

/** Starts a command and kills it after a delay. Resolves to whether it had exited before. */
function killAfter(workspace: InstallWorkspace, milliseconds: number, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [binary(), ...args], {
      cwd: workspace.dir,
      env: workspace.env,
      stdio: 'ignore',
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds);
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code !== null);
    });
  });
}

/** Runs a command as a process and returns delays spread over its duration; the first fifth is the start of Node. */
async function delaysIn(count: number, workspace: InstallWorkspace, args: readonly string[]): Promise<number[]> {
  const began = performance.now();
  expect((await wieldProcess(workspace, args)).status).toBe(0);
  const took = performance.now() - began;
  return Array.from({ length: count }, (_, at) => took * (0.2 + (0.8 * (at + 0.5)) / count));
}

/** Returns every file in the agent home, with links followed. */
function readHome(workspace: InstallWorkspace): Record<string, string> {
  const root = join(workspace.home, '.claude');
  if (!existsSync(root)) return {};
  const found: Record<string, string> = {};
  const walk = (path: string): void => {
    for (const name of readdirSync(join(root, path)).sort()) {
      const at = join(path, name);
      try {
        found[at] = readFileSync(join(root, at), 'utf8');
      } catch {
        walk(at);
      }
    }
  };
  walk('');
  return found;
}

spec.thorough(
  'INS-31 INS-23',
  'leaves the old or the new state when an upgrade is killed, and the next command recovers',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('many', MANY('one'));
    await workspace.json('add', source, '--yes');
    const states = new Map<string, Record<string, string>>([['one', readHome(workspace)]]);
    let last = 'two';
    workspace.source('many', MANY(last));
    const delays = await delaysIn(rounds(ALL_TESTS ? 8 : 4, 24), workspace, ['upgrade', '--yes']);
    let killed = 0;
    for (const delay of delays) {
      const next = last === 'one' ? 'two' : 'one';
      workspace.source('many', MANY(next));
      const ended = await killAfter(workspace, delay, ['upgrade', '--yes']);
      if (!ended) killed++;
      // The next command recovers; all items then have the same version.
      expect((await workspace.run('list', '--installed')).status).toBe(0);
      const texts = new Set(
        Array.from({ length: 30 }, (_, at) => workspace.stored(`skill/s${at}/SKILL.md`).split('\n')[4]),
      );
      expect([...texts]).toHaveLength(1);
      const [now] = [...texts] as [string];
      states.set(now, states.get(now) ?? readHome(workspace));
      expect(readHome(workspace)).toEqual(states.get(now));
      expect((await workspace.run('verify')).status).toBe(0);
      expect(existsSync(join(workspace.wieldHome, 'install.journal'))).toBe(false);
      last = now;
    }
    expect(killed).toBeGreaterThan(delays.length / 8);
    await workspace.json('upgrade', '--yes');
    await workspace.json('remove-source', 'many', '--yes');
    expect(readHome(workspace)).toEqual({});
    expect(existsSync(join(workspace.wieldHome, 'objects'))).toBe(false);
  },
  240_000,
);

spec.thorough(
  'INS-31',
  'installs all or nothing when a first install is killed',
  async () => {
    const create = async (): Promise<InstallWorkspace> => {
      const workspace = createInstallWorkspace();
      await workspace.json('add', workspace.source('many', MANY('one')));
      return workspace;
    };
    const first = await create();
    for (const delay of await delaysIn(rounds(ALL_TESTS ? 3 : 2, 10), first, ['install', '--all', '--yes'])) {
      const workspace = await create();
      await killAfter(workspace, delay, ['install', '--all', '--yes']);
      const { items } = await workspace.json('list', '--installed');
      expect([0, 32]).toContain(items.length);
      expect(Object.keys(readHome(workspace)).length).toBe(items.length === 0 ? 0 : 32);
      await workspace.json('install', '--all', '--yes');
      expect((await workspace.json('list', '--installed')).items).toHaveLength(32);
    }
  },
  240_000,
);

spec('INS-31', 'F29: registers nothing and leaves no files when a clone is cut in the middle of a pack', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('repo', { ...MANY('one'), 'blob.bin': randomBytes(400_000) });
  const pass = `let left = 200_000; process.stdin.on('data', (chunk) => {
    process.stdout.write(chunk.subarray(0, left)); left -= chunk.length; if (left < 0) process.exit(); });`;
  const sender = `#!/bin/sh\ngit upload-pack "$@" | '${process.execPath}' -e "${pass}"\n`;
  const send = workspace.write('send', sender, 0o755);
  const env = wrapGit(
    workspace,
    `for argument; do shift; set -- "$@" "$argument"; [ "$argument" != fetch ] || set -- "$@" --upload-pack=${send}; done`,
  );
  const cut = await workspace.runWith({ env }, 'add', url, '--json');
  expect([cut.status, json(cut).error.code]).toEqual([8, 'unavailable']);
  expect(json(cut).error.message).toMatch(/early EOF|hung up|disconnect|index-pack/);
  expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
  expect((await workspace.json('list', '--available')).items).toEqual([]);
  await workspace.json('add', url);
  expect((await workspace.json('list', '--available')).items).toHaveLength(32);
});

spec(
  'INS-31',
  'F29: registers nothing and leaves no files when a clone is killed',
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', MANY('one'));
    for (const wait of [80, 120, 160, 200]) {
      await killAfter(workspace, wait, ['add', url]);
      await workspace.run('sync');
      const known = (await workspace.json('list', '--available')).items.length;
      expect([0, 32]).toContain(known);
      if (known > 0) await workspace.json('remove-source', 'repo', '--yes');
      expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
    }
  },
  60_000,
);

spec.thorough(
  'INS-31',
  `F15: ${INSTALLS} simultaneous installs all succeed, one after the other`,
  async () => {
    const workspace = createInstallWorkspace();
    const names = Array.from({ length: INSTALLS }, (_, at) => `s${at}`);
    const files = names.map((name) => [`skills/${name}/SKILL.md`, skill(name, 'one')]);
    await workspace.json('add', workspace.source('many', Object.fromEntries(files)));
    const runs = await Promise.all(names.map((name) => wieldProcess(workspace, ['install', '--yes', name])));
    expect(runs.map(({ status, stderr }) => [status, stderr.replace(/^note.*\n/gm, '')])).toEqual(
      runs.map(() => [0, '']),
    );
    expect((await workspace.json('list', '--installed')).items).toHaveLength(INSTALLS);
    expect((await workspace.run('verify')).status).toBe(0);
    expect(existsSync(join(workspace.wieldHome, 'install.lock'))).toBe(false);
  },
  240_000,
);

spec(
  'INS-31',
  'F15: those who wait for the lock get it in the order in which they came',
  async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('tooling', WORKED));
    const lock = join(workspace.wieldHome, 'install.lock');
    const holder = spawn('sleep', ['300'], { stdio: 'ignore' });
    onTestFinished(() => void holder.kill('SIGKILL'));
    mkdirSync(lock, { recursive: true });
    writeFileSync(join(lock, `held-${holder.pid}-0-aa`), '');
    // All that ever held the lock, in this order; the process above is the first one.
    const held = new Set<string>();
    const watcher = watch(lock, (_event, name) => void (name?.startsWith('held-') === true && held.add(name.slice(5))));
    onTestFinished(() => watcher.close());
    const runs: Promise<unknown>[] = [];
    const queue = [`${holder.pid}-0-aa`];
    for (let at = 0; at < 4; at++) {
      runs.push(wieldProcess(workspace, ['install', 'scan', '--yes']));
      const waiting = () => readdirSync(lock).filter((name) => name.startsWith('wait-'));
      await expect.poll(() => waiting().length, SOON).toBe(at + 1);
      const last = waiting().sort().at(-1)!;
      queue.push(last.replace(/^wait-\d+-/, ''));
    }
    holder.kill('SIGKILL');
    await Promise.all(runs);
    await expect.poll(() => [...held], SOON).toEqual(queue);
    expect(existsSync(lock)).toBe(false);
  },
  60_000,
);

spec('INS-31', 'F16: takes over the lock of a dead process, or of one with a reused process id', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', workspace.source('tooling', WORKED));
  const lock = join(workspace.wieldHome, 'install.lock');
  for (const name of ['held-999999-123-aabbcc', `held-${process.pid}-1-aabbcc`, 'try-999999-1-ff', 'garbage']) {
    mkdirSync(lock, { recursive: true });
    writeFileSync(join(lock, name), '');
    expect((await workspace.run('install', '--yes', 'scan')).status).toBe(0);
    expect(existsSync(lock)).toBe(false);
  }
});

spec(
  'INS-31',
  'F19: reports an empty, truncated, flipped, invalid or newer record, and never treats it as empty',
  async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('tooling', WORKED), '--yes');
    const file = join(workspace.wieldHome, 'installed.json');
    const whole = readFileSync(file);
    for (const [corrupt, code] of [
      [() => truncateSync(file, 0), 'io'],
      [() => truncateSync(file, whole.length - 40), 'io'],
      [
        () =>
          writeFileSync(
            file,
            whole.map((byte, at) => (at === 0 ? byte ^ 1 : byte)),
          ),
        'io',
      ],
      [() => writeFileSync(file, '{"version":1,"items":[{"kind":"tool"}]}'), 'io'],
      [() => writeFileSync(file, '{"version":99}'), 'unavailable'],
    ] as const) {
      corrupt();
      expect((await workspace.fail('install', '--yes', 'scan')).code).toBe(code);
      expect((await workspace.run('list')).status).toBe(0);
      const doctor = await workspace.run('doctor');
      expect([doctor.status, doctor.stdout]).toEqual([1, expect.stringContaining('installed.json')]);
      expect((await workspace.run('call', 'detect')).status).toBe(3);
      expect(existsSync(join(workspace.wieldHome, 'store/tool/detect/detect.sh'))).toBe(true);
      writeFileSync(file, whole);
    }
    // A flipped bit anywhere: the record is refused, or says something else about files, which verify finds.
    for (let at = 0; at < whole.length; at += rounds(29, 7)) {
      const flipped = Buffer.from(whole);
      flipped[at]! ^= 1 << (at % 8);
      writeFileSync(file, flipped);
      const listed = await workspace.run('list', '--installed', '--json');
      expect([at, listed.status]).toEqual([at, expect.toBeOneOf([0, 8])]);
      if (listed.status === 0) expect([at, JSON.parse(listed.stdout).items.length]).toEqual([at, 2]);
      expect([at, (await workspace.run('verify')).status]).toEqual([at, expect.toBeOneOf([0, 7, 8])]);
    }
    writeFileSync(file, whole);
    expect((await workspace.run('verify')).status).toBe(0);
    const sources = join(workspace.wieldHome, 'sources.json');
    const registered = readFileSync(sources);
    for (const text of ['', '{', registered.subarray(0, -30), '{"version":1,"sources":{}}', '{"version":99}']) {
      writeFileSync(sources, text);
      for (const verb of [['sync'], ['install', 'scan'], ['upgrade', '--yes']])
        expect([text, verb, (await workspace.fail(...verb)).code]).toEqual([
          text,
          verb,
          expect.stringMatching(/^(?:io|unavailable)$/),
        ]);
      expect(readFileSync(sources)).toEqual(Buffer.from(text));
    }
  },
  60_000,
);

spec(
  'INS-23',
  'F17 F18: keeps the files of a running tool during an upgrade and a clean-up',
  async () => {
    const workspace = createInstallWorkspace();
    const tool = (word: string) => ({
      'tools/slow/TOOL.md': '---\nbin: slow.sh\n---\n',
      'tools/slow/slow.sh!': `#!/bin/sh\ntouch "$WIELD_WORKDIR/started"\nwhile [ ! -e "$WIELD_WORKDIR/go" ]; do sleep 0.05; done\ncat "$(dirname "$0")/word"\n`,
      'tools/slow/word': `${word}\n`,
    });
    await workspace.json('add', workspace.source('slow', tool('old')), '--yes');
    const running = workspace.run('call', 'slow');
    while (!existsSync(join(workspace.dir, 'started'))) await new Promise((resolve) => setTimeout(resolve, 20));
    workspace.source('slow', tool('new'));
    await workspace.json('upgrade', '--yes');
    await workspace.json('clean');
    await workspace.json('sync');
    workspace.write('go', '');
    expect((await running).stdout).toBe('old\n');
    expect((await workspace.run('call', 'slow')).stdout).toBe('new\n');
    await workspace.run('sync');
    expect(readdirSync(join(workspace.wieldHome, 'objects'))).toHaveLength(1);
  },
  60_000,
);

specIf(
  canMount(),
  NO_MOUNT,
  'INS-23 INS-31',
  'F11: a read-only store is used as it is, and every change of it is an error that changes nothing',
  async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('tooling', WORKED), '--yes');
    const before = workspace.snapshot();
    workspace.source('tooling', { 'tools/detect/lib.sh': 'detect() { echo changed; }\n' });
    const home = workspace.wieldHome;
    execFileSync('mount', ['--bind', home, home]);
    onTestFinished(() => void spawnSync('umount', ['-l', home]));
    execFileSync('mount', ['-o', 'remount,ro,bind', home]);
    const call = await workspace.run('call', 'detect', '--path', '.');
    expect([call.status, call.stdout]).toEqual([0, 'unknown\n']);
    for (const args of [
      ['install', '--yes', 'scan', '--force'],
      ['upgrade', '--yes'],
      ['uninstall', 'scan', '--yes'],
      ['remove-source', 'tooling', '--yes'],
      ['sync'],
      ['add', workspace.source('other', WORKED)],
      ['trust', '--yes'],
    ]) {
      const { code, hint, status } = await workspace.fail(...args);
      expect([args, code, status, hint]).toEqual([args, 'io', 8, expect.stringMatching(/./)]);
    }
    for (const args of [['list'], ['list', '--installed'], ['verify'], ['doctor']])
      expect([args, (await workspace.run(...args)).status]).toEqual([args, expect.not.toBeOneOf([70])]);
    expect(workspace.snapshot()).toEqual(before);
    execFileSync('umount', ['-l', home]);
    expect((await workspace.json('upgrade', '--yes')).items).toHaveLength(1);
  },
  60_000,
);

spec('INS-23', 'changes nothing if the store or an agent home is not writable', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', workspace.source('tooling', WORKED));
  writeFileSync(join(workspace.home, '.claude'), 'a file instead of a directory');
  const before = workspace.snapshot();
  const error = await workspace.fail('install', '--yes', 'scan');
  expect([error.code, error.hint]).toEqual(['io', expect.stringContaining('agent homes')]);
  expect(workspace.snapshot()).toEqual(before);
  rmSync(join(workspace.home, '.claude'));
  if (process.getuid?.() !== 0) {
    chmodSync(workspace.wieldHome, 0o500);
    expect((await workspace.fail('install', '--yes', 'scan')).code).toBe('io');
    chmodSync(workspace.wieldHome, 0o700);
  }
  await workspace.json('install', '--yes', 'scan');
});

const OTHER_FILE_SYSTEM = ['/dev/shm', diskDirectory()].find(
  (directory) => existsSync(directory) && statSync(directory).dev !== statSync(tmpdir()).dev,
);

specIf(
  OTHER_FILE_SYSTEM !== undefined,
  'TMPDIR and /dev/shm are one file system; to run: TMPDIR=DIRECTORY npm test',
  'INS-31',
  'F12: installs and upgrades with the store on another file system than source, agent home and TMPDIR',
  async () => {
    const workspace = createInstallWorkspace();
    const store = mkdtempSync(join(OTHER_FILE_SYSTEM!, 'wield-test-'));
    try {
      const env = { WIELD_HOME: store, TMPDIR: workspace.dir };
      const run = (...args: string[]) => workspace.runWith({ env }, ...args);
      expect((await run('add', workspace.source('many', WORKED), '--yes')).status).toBe(0);
      workspace.source('many', { 'tools/detect/lib.sh': 'detect() { echo newer; }\n' });
      expect((await run('upgrade', '--yes')).status).toBe(0);
      expect((await run('call', 'detect', '--path', '.')).stdout).toBe('newer\n');
      expect((await run('verify')).status).toBe(0);
      expect(readHome(workspace)['skills/scan/SKILL.md']).toContain(store);
    } finally {
      rmSync(store, { recursive: true, force: true });
    }
  },
  60_000,
);
