// Homes are closed in a sandbox; what runs is open, wherever it is.

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { textOf } from '../../src/index.js';
import { built } from '../support/built.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../support/sandbox-attempts.js';
import { shellScript } from '../support/shell-script.js';
import { specIf } from '../support/spec.js';
import { useDisk } from '../support/temporary.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

useDisk();

const WORKS = hasBubblewrap();
const CANARY = 'canary-3c77';

function writeIn(root: string, name: string, text: string, mode = 0o644): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  return path;
}

/** Calls a sandboxed shell script, which must succeed; returns what it prints. */
async function print(workspace: Workspace, body: string, profile = 'workdir', options = {}): Promise<string> {
  workspace.script('attack', shellScript(`${body}\ntrue`, `@sandbox ${profile}`));
  const result = await workspace.toolbox(options).call('attack', {});
  expect(result.error).toBeUndefined();
  return textOf(result);
}

const CREDENTIALS = [
  ...['.config/pypoetry/auth.toml', '.local/share/uv/credentials/x', '.config/pip/pip.conf', '.supabase/access-token'],
  ...['.cloudflared/cert.pem', '.ngrok2/ngrok.yml', '.circleci/cli.yml', '.sentryclirc', '.modal.toml', '.tsh/key'],
  ...['.step/secrets/key', '.claude/settings.json', '.viminfo', 'Documents/all.kdbx', '.cargo/credentials.toml'],
  ...['.m2/settings.xml', '.gitconfig', 'notes.txt', '.agents/mcp.json', '.local/state/tokens', '.nobody-knows-this'],
];

describe('a home', () => {
  for (const profile of ['read-only', 'workdir', 'no-network', 'table'] as const) {
    specIf(WORKS, NO_BUBBLEWRAP, 'EXE-81', `shows no file in the profile ${profile}`, async () => {
      const workspace = createWorkspace();
      for (const name of CREDENTIALS) writeIn(workspace.home, name, CANARY);
      workspace.config('[sandbox.table]\nread = ["/"]\nnetwork = true\n');
      const reads = CREDENTIALS.map((name) => `cat ~/${name} /proc/self/root$HOME/${name}`);
      expect(await print(workspace, `${reads.join('\n')}\nls -a ~ /root /home`, profile)).not.toContain(CANARY);
    });
  }

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-74 EXE-81', 'shows what a table names, and no settings with it', async () => {
    const workspace = createWorkspace();
    for (const name of CREDENTIALS) writeIn(workspace.home, name, CANARY);
    writeIn(workspace.home, 'data/file', 'data');
    const read = async (table: string): Promise<string> => {
      workspace.config(`[sandbox.table]\n${table}\n`);
      return print(workspace, 'cat ~/data/file ~/.config/pip/pip.conf ~/.nobody-knows-this', 'table');
    };
    for (const table of ['read = ["/", "~"]', 'read = ["~"]', 'read = ["/", "~/data"]']) {
      const printed = await read(table);
      expect([table, printed.startsWith('data'), printed.includes(CANARY)]).toEqual([table, true, false]);
    }
    expect(await read('read = ["/", "~/.config/pip"]')).toMatch(new RegExp(`^${CANARY}\n`));
  });

  specIf(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-81',
    'shows the repository around a workdir in it, without its secrets',
    async () => {
      const workspace = createWorkspace();
      const { home, env } = workspace;
      const repository = join(home, 'src/app');
      const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, env, encoding: 'utf8' });
      for (const name of ['.env', 'packages/b/.env']) writeIn(repository, name, CANARY);
      writeIn(repository, 'tsconfig.json', 'shared');
      writeIn(home, 'src/beside', CANARY);
      git(repository, 'init', '-q');
      const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
      git(repository, ...identity, 'commit', '-q', '--allow-empty', '-m', 'first');
      git(repository, 'worktree', 'add', '-q', '../tree');
      const call = async (workdir: string, body: string) => {
        writeIn(workdir, '.agents/tools/attack', shellScript(`${body}\ntrue`, '@sandbox workdir'), 0o755);
        return textOf(await workspace.toolbox({ workdir }).call('attack', {}));
      };
      const body = 'cat ../../tsconfig.json ../../.env ../b/.env ../../../beside; git log --oneline; echo x > made';
      const printed = await call(join(repository, 'packages/a'), body);
      expect(printed).toMatch(/^shared[0-9a-f]+ first$/m);
      expect(printed).not.toContain(CANARY);
      expect(existsSync(join(repository, 'packages/a/made'))).toBe(true);
      const tree = join(home, 'src/tree');
      expect(await call(tree, 'git log --oneline')).toContain('first');
      // As git with `worktree.useRelativePaths` writes them.
      writeIn(tree, '.git', 'gitdir: ../app/.git/worktrees/tree\n');
      writeIn(repository, '.git/worktrees/tree/gitdir', '../../../../tree/.git\n');
      expect(await call(tree, 'git log --oneline')).toContain('first');
      // Files that a tool left do not open another repository.
      const forged = {
        'names the repository': { '.git': `gitdir: ${join(repository, '.git')}\n` },
        'has a directory that names it': {
          '.git': 'gitdir: g\n',
          'g/gitdir': `${join(tree, '.git')}\n`,
          'g/commondir': `${join(repository, '.git')}\n`,
        },
      };
      for (const [how, files] of Object.entries(forged)) {
        rmSync(tree, { recursive: true });
        for (const [name, text] of Object.entries(files)) writeIn(tree, name, text);
        const attempt = 'git log --oneline; git --git-dir ../app/.git log --oneline; ls ../app/.git';
        expect([how, await call(tree, attempt)]).not.toEqual([how, expect.stringMatching(/first|HEAD/)]);
      }
    },
  );
});

const PROGRAMS = {
  nvm: '.nvm/versions/node/v1/bin',
  fnm: '.local/share/fnm/node-versions/v1/installation/bin',
  mise: '.local/share/mise/installs/node/1/bin',
  asdf: '.asdf/shims',
  volta: '.volta/bin',
  pyenv: '.pyenv/versions/3/bin',
  uv: '.local/share/uv/python/cpython-3/bin',
  cargo: '.cargo/bin',
  go: 'go/bin',
  sdkman: '.sdkman/candidates/java/current/bin',
  local: '.local/bin',
  unknown: 'tools of mine/ä/bin',
} as const;

describe('what runs', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-82', 'is open in a home, with the libraries beside it', async () => {
    const workspace = createWorkspace();
    const { home, env } = workspace;
    for (const [name, directory] of Object.entries(PROGRAMS)) {
      const library = writeIn(home, `${dirname(directory)}/lib/${name}.txt`, `${name} works\n`);
      writeIn(home, `${directory}/run-${name}`, `#!/bin/sh\ncat "${library}"\n`, 0o755);
    }
    writeIn(home, 'else/where/linked', '#!/bin/sh\necho linked works\n', 0o755);
    symlinkSync(join(home, 'else/where/linked'), join(home, '.local/bin/linked'));
    writeIn(home, '.local/lib/secret-free', '');
    writeIn(home, '.local/share/token', CANARY);
    const path = [...Object.values(PROGRAMS).map((directory) => join(home, directory)), env.PATH].join(delimiter);
    const names = Object.keys(PROGRAMS);
    const body = `${names.map((name) => `run-${name}`).join('\n')}\nlinked\ncat ~/.local/share/token`;
    const printed = await print(workspace, body, 'read-only', { env: { ...env, PATH: path } });
    for (const name of [...names, 'linked']) expect(printed).toContain(`${name} works`);
    expect(printed).not.toContain(CANARY);
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-82', 'does not open what links in the workdir lead to', async () => {
    const workspace = createWorkspace();
    const target = writeIn(workspace.home, 'private/bin/key', CANARY, 0o755);
    writeIn(workspace.home, 'private/lib/key', CANARY);
    workspace.write('bin/other', '');
    const env = { ...workspace.env, PATH: `${join(workspace.dir, 'bin')}:${workspace.env.PATH}` };
    await print(workspace, `ln -s ${target} bin/key`, 'workdir', { env });
    expect(await print(workspace, 'cat ~/private/*/key bin/key', 'workdir', { env })).not.toContain(CANARY);
  });

  const protectedNames = ['.vscode', 'AGENTS.md', 'tools', 'own', '.idea', 'v/bin'];
  const tables = '[sandbox.tight]\nread = ["."]\nwrite = ["."]\n';
  for (const profile of ['read-only', 'workdir', 'no-network', 'tight']) {
    const title = `does not open what links with protected names lead to, in the profile ${profile}`;
    specIf(WORKS, NO_BUBBLEWRAP, 'EXE-74 EXE-81', title, async () => {
      const workspace = createWorkspace();
      workspace.config(`paths = ["own", "..."]\n${tables}`);
      const { home } = workspace;
      for (const name of ['a/key', 'b', 'c/key', 'd/key', 'e/key', 'f/key']) writeIn(home, `.ssh/${name}`, CANARY);
      for (const name of ['.npm/x', '.cache/x']) writeIn(home, name, '');
      workspace.write('v/pyvenv.cfg', '');
      const targets = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => join(home, '.ssh', name));
      for (const [at, name] of protectedNames.entries()) symlinkSync(targets[at]!, join(workspace.dir, name));
      symlinkSync(home, join(workspace.dir, '.zed'));
      symlinkSync('/run', join(workspace.dir, '.fleet'));
      const body = 'cat ~/.ssh/* ~/.ssh/*/key */key .vscode/* own/* AGENTS.md; ls -a ~ /run/* .zed .fleet';
      const printed = await print(workspace, `${body}\nls -d /run/*/* && echo opened`, profile);
      for (const shown of [CANARY, '.config', 'opened']) expect(printed).not.toContain(shown);
    });
  }

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-82', 'is open below /tmp, as interpreter, module, server and program', async () => {
    const workspace = createModuleWorkspace();
    const root = mkdtempSync(join(tmpdir(), 'wield ä '));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    // A copy of wield and of Node, as unpacked there.
    const dist = built('');
    cpSync(join(dist), join(root, 'clone/dist'), { recursive: true });
    copyFileSync(join(dist, '../package.json'), join(root, 'clone/package.json'));
    symlinkSync(join(dist, '../node_modules'), join(root, 'clone/node_modules'));
    mkdirSync(join(root, 'node/v1/bin'), { recursive: true });
    copyFileSync(process.execPath, join(root, 'node/v1/bin/node'));
    execFileSync('chmod', ['+x', join(root, 'node/v1/bin/node')]);
    symlinkSync('v1', join(root, 'node/current'));
    const node = join(root, 'node/current/bin/node');
    workspace.script(
      'plain',
      '#!/usr/bin/env node\n// @description D\n// @sandbox workdir\nconsole.log("plain works")\n',
    );
    const run = `() => 'module works'`;
    workspace.module('mod.tool.mjs', moduleText('mod', run).replace('execute:', "sandbox: 'workdir', execute:"));
    const server = writeIn(root, 'server/dist/main.mjs', SERVER);
    writeIn(root, 'server/package.json', '{"type":"module"}');
    writeIn(root, 'server/lib.mjs', `export const text = 'server works';\n`);
    configureServers(workspace, { box: { command: node, args: [server], sandbox: 'workdir' } });
    const env = { ...workspace.env, PATH: `${dirname(node)}:${workspace.env.PATH}` };
    const call = (...args: string[]) => {
      const argv = [join(root, 'clone/dist/cli/wield.cjs'), ...args];
      return spawnSync(node, argv, { cwd: workspace.dir, env, encoding: 'utf8' });
    };
    for (const name of ['plain', 'mod', 'box_say']) {
      const { stdout, stderr } = call('call', name, '--trust');
      expect([name, stdout, stderr]).toEqual([name, expect.stringMatching(/ works$/m), '']);
    }
    const program = call('call', 'run_code', '--code', 'return 1 + 1');
    expect([program.stdout, program.stderr]).toEqual([expect.stringContaining('2'), '']);
  });
});

const SERVER = `
import { createInterface } from 'node:readline';
import { text } from '../lib.mjs';
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'box', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'say', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const result = results[method]?.(params);
  if (id !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'unknown' } }) }));
}
`;
