// Tests of the one rule for asking: changes are shown, then confirmed; a dry run writes nothing.

import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { VERBS } from '../../../src/cli/verbs.js';
import { type AskingWorkspace, createAskingWorkspace } from '../../support/approvals.js';
import { json, wield } from '../../support/cli.js';
import { SAMPLED, some } from '../../support/effort.js';
import { createInstallWorkspace, type InstallWorkspace, WORKED } from '../../support/install.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';
import { trustNow } from '../../support/trusted.js';
import { createWorkspace } from '../../support/workspace.js';

const GREET = '#!/bin/sh\n# @description Greet.\necho hello\n';
const HOOKED = { 'wield.toml': '[[hooks]]\nrun = "touch ran"\n', 'rules/tone.md': 'Tone.' };
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.corp.internal' }],
  paths: { '/pets': { get: { operationId: 'listPets', responses: { 200: { description: 'ok' } } } } },
};

interface Row {
  readonly args: readonly string[];
  /** Makes the state that the verb changes. */
  prepare(workspace: InstallWorkspace): unknown;
  /** Does not ask, because it narrows or changes nothing outside the project that could run. */
  readonly silent?: true;
}

const source = (workspace: InstallWorkspace): string => workspace.source('tooling', WORKED);
const register = (workspace: InstallWorkspace) => workspace.json('add', source(workspace), '--register-only');
const installAll = (workspace: InstallWorkspace) => workspace.json('add', source(workspace), '--yes');
const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o755 });
};
const tool = (workspace: InstallWorkspace) => workspace.script('greet', GREET);
const ownTool = ({ home }: InstallWorkspace) => write(join(home, '.agents/tools/mine'), GREET);
const server = (workspace: InstallWorkspace) => workspace.run('mcp', 'add', '--yes', 'files', '--', 'ls');

const ROWS: readonly Row[] = [
  { args: ['trust'], prepare: tool },
  { args: ['trust', '--revoke'], prepare: trustNow, silent: true },
  { args: ['connect', 'cursor', '--scope', 'user'], prepare: tool },
  { args: ['connect', 'cursor', '--undo'], prepare: (workspace) => workspace.run('connect', 'cursor', '--yes') },
  { args: ['mcp', 'add', 'files', '--', 'ls'], prepare: tool },
  { args: ['mcp', 'add', 'files', '--force', '--', 'cat'], prepare: server },
  { args: ['mcp', 'remove', 'files'], prepare: server },
  {
    args: ['mcp', 'import', 'cursor'],
    prepare: ({ home }) => write(join(home, '.cursor/mcp.json'), '{"mcpServers":{"x":{"command":"ls"}}}'),
  },
  { args: ['add', './pets.json'], prepare: (workspace) => workspace.write('pets.json', JSON.stringify(DOCUMENT)) },
  { args: ['install', 'detect'], prepare: register },
  { args: ['install', '--all'], prepare: register },
  { args: ['install', '--accept', 'skill:scan'], prepare: edited },
  {
    args: ['install', '--frozen'],
    async prepare(workspace) {
      await installAll(workspace);
      await workspace.json('uninstall', 'scan', '--yes');
      const lock = join(workspace.wieldHome, 'wield.lock');
      const text = readFileSync(lock, 'utf8');
      await workspace.json('install', 'scan', '--yes');
      writeFileSync(lock, text);
    },
  },
  {
    args: ['install', '--adopt', 'skill:notes', '--to', '.'],
    prepare: ({ home }) =>
      write(join(home, '.claude/skills/notes/SKILL.md'), '---\nname: notes\ndescription: Notes.\n---\nMine.\n'),
  },
  { args: ['uninstall', 'scan'], prepare: installAll },
  { args: ['remove', '--source', 'tooling'], prepare: installAll },
  { args: ['remove', 'mine'], prepare: ownTool },
  {
    args: ['remove', '--undo'],
    prepare: async (workspace) => {
      ownTool(workspace);
      await workspace.run('remove', 'mine', '--yes');
    },
  },
  { args: ['upgrade'], prepare: changed },
  { args: ['upgrade', '--fetch-only'], prepare: moved, silent: true },
  { args: ['doctor', '--fix'], prepare: broken },
  { args: ['config', 'homes', 'add', '--preset', 'codex'], prepare: installAll },
  { args: ['fleet', 'key'], prepare: tool },
  { args: ['fleet', 'key', '--rotate'], prepare: (workspace) => workspace.run('fleet', 'key', '--yes') },
  {
    args: ['hooks', 'run', 'hooked'],
    prepare: (workspace) => workspace.json('add', workspace.source('hooked', HOOKED), '--register-only'),
  },
  { args: ['init'], prepare: () => {}, silent: true },
  { args: ['init', '--index', '.'], prepare: () => {}, silent: true },
  { args: ['init', '--capabilities'], prepare: tool, silent: true },
  { args: ['new', 'greet'], prepare: () => {}, silent: true },
  { args: ['remove', 'greet'], prepare: tool, silent: true },
];

async function edited(workspace: InstallWorkspace): Promise<void> {
  await installAll(workspace);
  writeFileSync(join(workspace.wieldHome, 'store/skill/scan/SKILL.md'), 'mine');
}

async function changed(workspace: InstallWorkspace): Promise<void> {
  await moved(workspace);
  await workspace.json('install', '--all', '--yes');
  workspace.source('repo', { 'tools/detect/lib.sh': 'detect() { echo changed; }\n' });
  workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'Change');
}

// A repository that is registered at its first commit, and has a second one.
async function moved(workspace: InstallWorkspace): Promise<void> {
  await workspace.json('add', workspace.repository('repo', WORKED), '--register-only');
  workspace.source('repo', { 'tools/detect/lib.sh': 'detect() { echo other; }\n' });
  workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'Other');
}

async function broken(workspace: InstallWorkspace): Promise<void> {
  await installAll(workspace);
  rmSync(join(workspace.home, '.claude/skills/scan'));
}

// Everything but caches, in the home and in the project.
function everything({ home, dir }: Pick<InstallWorkspace, 'home' | 'dir'>): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const root of [home, dir])
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      if (/^\.wield\/(?:cache|audit|running)/.test(name)) continue;
      const path = join(root, name);
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) seen[path] = `-> ${readlinkSync(path)}`;
      else if (stats.isFile()) seen[path] = readFileSync(path, 'latin1');
    }
  return seen;
}

describe.concurrent('verbs that change something', () => {
  for (const { args, prepare, silent = false } of some(ROWS, 16))
    spec('CLI-31', `wield ${args.join(' ')}${SAMPLED}`, async () => {
      const workspace = createInstallWorkspace();
      await prepare(workspace);
      const before = everything(workspace);
      const end = args.indexOf('--') === -1 ? args.length : args.indexOf('--');
      const withFlags = (...flags: readonly string[]) => args.toSpliced(end, 0, ...flags);

      for (const flags of [['--dry-run'], ['-n'], ['--dry-run', '--yes'], ['--dry-run', '--json']]) {
        const dry = await workspace.run(...withFlags(...flags));
        // `doctor` exits with 1 while there is a problem.
        expect([flags, dry.status, dry.stderr.includes('error')]).toEqual([flags, args[0] === 'doctor' ? 1 : 0, false]);
        expect(dry.stdout + dry.stderr).not.toBe('');
        expect(everything(workspace)).toEqual(before);
      }
      if (!silent) {
        for (const flags of [[], ['--json']]) {
          const refused = await workspace.run(...withFlags(...flags));
          expect([flags, refused.status, everything(workspace)]).toEqual([flags, 5, before]);
          const { code, hint } =
            flags.length > 0 ? json(refused).error : { code: 'needs_approval', hint: refused.stderr };
          expect([code, hint]).toEqual([
            'needs_approval',
            expect.stringContaining(`wield ${withFlags(...flags, '--yes').join(' ')}`),
          ]);
        }
        const inside = await workspace.runWith({ env: { WIELD_CALL: '1' } }, ...withFlags('--yes'));
        expect([inside.status, inside.stderr]).toEqual([5, expect.stringContaining('does not count')]);
        expect(everything(workspace)).toEqual(before);
      }
      const done = await workspace.run(...(silent ? args : withFlags('--yes')));
      expect([done.status, done.stderr.includes('error')]).toEqual([0, false]);
      expect(everything(workspace)).not.toEqual(before);
    });

  spec('CLI-31', 'the hint quotes the command for a shell', async () => {
    const workspace = createWorkspace();
    const { stderr } = await wield(workspace, ['mcp', 'add', 'it', '--', 'sh', '-c', "echo 'a b'"]);
    expect(stderr).toContain(`wield mcp add it --yes -- sh -c 'echo '\\''a b'\\'''\n`);
  });

  spec('CLI-31', 'every verb is in one of the two lists, and those that change something have both flags', async () => {
    const changing =
      'add approvals config connect doctor fleet hooks init install mcp new remove secrets trust uninstall upgrade';
    // `call` has both flags, for calls.
    const others =
      'audit call check completions diff explain list record replay run search serve show ui version worker';
    expect(VERBS.map(({ name }) => name).sort()).toEqual([...changing.split(' '), ...others.split(' ')].sort());
    for (const { load, modes } of VERBS.filter((verb) => changing.split(' ').includes(verb.name)))
      for (const one of [load, ...Object.values(modes)]) {
        const { name, flags } = await one();
        expect([name, flags['dry-run']?.short, flags.yes?.short]).toEqual([name, 'n', 'y']);
      }
  });
});

spec('CLI-31 POL-33', 'init --yes also trusts what else is there, and shows it', async () => {
  const workspace = createWorkspace();
  workspace.write('.mcp.json', '{"mcpServers":{"x":{"command":"touch","args":["started"]}}}');
  expect(json(await wield(workspace, ['init', '--json'])).trusted).toBe(false);
  const run = await wield(workspace, ['init', '--yes']);
  expect([run.status, run.stdout]).toEqual([0, expect.stringMatching(/touch started[\s\S]*trusted {2}this workspace/)]);
});

spec('CLI-31 UPS-14', 'a flag of the program does not confirm adding it', async () => {
  const workspace = createWorkspace();
  for (const flag of ['-y', '--yes']) {
    const run = await wield(workspace, ['mcp', 'add', 'x', 'npx', flag, 'package']);
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('put the command of a server after --')]);
  }
});

spec('CLI-31', 'a workspace that changed after it was shown is not trusted', async () => {
  const workspace = createWorkspace();
  workspace.script('greet', GREET);
  await wield(workspace, ['trust', '--yes']);
  expect((await wield(workspace, ['trust'])).status).toBe(0);
  workspace.write('.mcp.json', '{"mcpServers":{"x":{"command":"ls"}}}');
  expect((await wield(workspace, ['trust'])).status).toBe(5);
});

const standing = async (workspace: AskingWorkspace): Promise<string> => {
  const { error } = json(await workspace.deploy('main', ['--json']));
  return json(await wield(workspace, ['approvals', 'approve', error.data.id, '--always', '--json'])).approval.id;
};

spec('POL-37', 'a standing approval is listed and taken back', async () => {
  const workspace = createAskingWorkspace();
  const id = await standing(workspace);
  expect((await wield(workspace, ['approvals'])).stdout).toMatch(/standing +deploy[\s\S]*wield approvals revoke ID/);
  expect((await workspace.deploy()).status).toBe(0);
  const dry = await wield(workspace, ['approvals', 'revoke', id, '--dry-run']);
  expect([dry.status, dry.stdout]).toEqual([0, expect.stringContaining('would revoke')]);
  expect((await workspace.deploy()).status).toBe(0);
  const inside = await wield(workspace, ['approvals', 'revoke', id], { env: { WIELD_CALL: '1' } });
  expect(inside.stderr).toContain('does not count');
  const run = await wield(workspace, ['approvals', 'revoke', id, '--json']);
  expect(json(run).approval).toMatchObject({ id, state: 'revoked' });
  expect((await workspace.deploy()).status).toBe(5);
  const [pending] = json(await wield(workspace, ['approvals', '--json'])).approvals;
  expect((await wield(workspace, ['approvals', 'revoke', pending.id])).stderr).toContain('wield approvals deny');
  expect((await wield(workspace, ['approvals', 'revok', id])).stderr).toContain('did you mean wield approvals revoke');
});

specIf(
  hasPty,
  NO_PTY,
  'CLI-31',
  'shows the change at a terminal before it asks, and no answer changes nothing',
  async () => {
    const workspace = createInstallWorkspace();
    await register(workspace);
    for (const [args, shown] of [
      [['mcp', 'add', 'files', '--', 'ls'], '"command": "ls"'],
      [['install', 'detect'], 'install  tool detect'],
    ] as const) {
      const before = everything(workspace);
      const { screen, status } = await wieldAtTerminal(workspace, args, {
        answers: [['[y/N]', '\n']],
        env: { NO_COLOR: '1' },
      });
      expect([status, screen.indexOf(shown) < screen.indexOf('[y/N]'), screen]).toEqual([
        0,
        true,
        expect.stringContaining(shown),
      ]);
      expect(everything(workspace)).toEqual(before);
    }
  },
);
