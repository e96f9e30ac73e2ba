// Tests of `wield mcp add` and `wield mcp remove`.

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { finding, spec } from '../../support/spec.js';
import { configureServers, countedServer } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

describe('add and remove', () => {
  spec('UPS-14', 'write a private file of the user, and remove the entry again', async () => {
    const workspace = createWorkspace();
    const file = join(workspace.home, '.agents', 'mcp.json');
    const { entry } = countedServer(workspace, 'fine') as { entry: { command: string; args: string[] } };
    const command = [entry.command, ...entry.args];
    const dry = await wield(workspace, ['mcp', 'add', 'fine', '--dry-run', '--', ...command]);
    expect([dry.status, existsSync(file)]).toEqual([0, false]);
    const added = await wield(workspace, ['mcp', 'add', '--yes', 'fine', '--env', 'KEY=${HOME}', '--', ...command]);
    expect(added.status).toBe(0);
    expect(added.stdout).toContain('+         "KEY": "${HOME}"');
    expect(added.stdout).toContain('next    wield mcp refresh fine starts it');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers.fine).toEqual({
      ...entry,
      env: { KEY: '${HOME}' },
    });
    const env = await wield(workspace, ['call', 'fine_environment', '--name', 'KEY']);
    expect(env.stdout).not.toContain('${HOME}');
    expect((await wield(workspace, ['mcp', 'add', '--yes', 'fine', '--', 'other'])).status).toBe(4);
    const stray = await wield(workspace, ['mcp', 'add', '--yes', 'other', 'npx', '-y', 'other']);
    expect([stray.status, stray.stderr]).toEqual([2, expect.stringContaining('put the command of a server after --')]);
    expect((await wield(workspace, ['mcp', 'remove', 'fine'])).status).toBe(5);
    const removed = await wield(workspace, ['mcp', 'remove', 'fine', '--yes', '--json']);
    expect(json(removed)).toMatchObject({ ok: true, server: 'fine', scope: 'user', file, written: true });
    expect(json(await wield(workspace, ['mcp', '--json'])).servers).toEqual([]);
    expect((await wield(workspace, ['mcp', 'remove', 'fine', '--yes'])).status).toBe(3);
  });

  finding('N11 UPS-14', 'reject a bad name, and warn of a program that is not on PATH', async () => {
    const workspace = createWorkspace();
    for (const name of ['bad name', '../x', '-x', 'a'.repeat(65), 'ä']) {
      const { status, stderr } = await wield(workspace, ['mcp', 'add', '--yes', '--', name, 'ls']);
      expect([status, stderr]).toEqual([2, expect.stringContaining('is not a valid server name')]);
    }
    expect(existsSync(join(workspace.home, '.agents', 'mcp.json'))).toBe(false);
    const added = await wield(workspace, ['mcp', 'add', '--yes', 'gone', '--', 'no-such-program', 'x']);
    expect([added.status, added.stderr]).toEqual([0, 'warning  no-such-program is not on your PATH\n']);
    const refreshed = await wield(workspace, ['mcp', 'refresh', 'gone']);
    expect(refreshed.stderr).toContain('cannot start no-such-program: not on PATH');
    expect(refreshed.stderr).toContain('install it, or write its full path');
    expect((await wield(workspace, ['mcp', 'add', '--yes', 'here', '--', 'sh'])).stderr).toBe('');
  });

  spec('UPS-14', 'warn of a file of this directory in an entry for all directories', async () => {
    const workspace = createWorkspace();
    const path = workspace.write('server.mjs', '');
    const add = async (name: string, ...words: readonly string[]) =>
      (await wield(workspace, ['mcp', 'add', '--yes', name, ...words])).stderr;
    expect(await add('a', '--', 'sh', 'server.mjs')).toContain(`found from this directory only; write ${path}`);
    expect(await add('b', '--', 'sh', './server.mjs')).toContain('found from this directory only');
    expect(await add('c', '--', 'sh', path)).toBe('');
    expect(await add('d', '--scope', 'project', '--', 'sh', 'server.mjs')).toBe('');
    expect(await add('e', '--', 'sh', '.')).toBe('');
  });

  const writeServers = (workspace: Workspace, text: string): string => {
    mkdirSync(join(workspace.home, '.agents'));
    const file = join(workspace.home, '.agents', 'mcp.json');
    writeFileSync(file, text);
    return file;
  };

  spec('UPS-14', 'write nothing that could not be read, and name the fault', async () => {
    for (const [text, fault] of [
      ['{\n  // mine\n  "mcpServers": {}\n}\n', 'mcp.json:2:3: is not valid JSON'],
      ['{ "mcpServers": {}, }', 'mcp.json:1:21: is not valid JSON'],
      ['{ "mcpServers": { "a": { "command": "x", "command": "y" } } }', 'has the key "command" twice'],
    ] as const) {
      const workspace = createWorkspace();
      const file = writeServers(workspace, text);
      workspace.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { b: { command: 'x' } } }));
      for (const args of [
        ['add', 'b', '--yes', '--', 'sh'],
        ['import', 'cursor', '--yes'],
      ]) {
        const { status, stderr } = await wield(workspace, ['mcp', ...args]);
        expect([status, stderr]).toEqual([2, expect.stringContaining(fault)]);
      }
      expect(readFileSync(file, 'utf8')).toBe(text);
      const unknown = await wield(workspace, ['mcp', 'refresh', 'b']);
      expect([unknown.status, unknown.stderr]).toEqual([3, expect.stringContaining(fault)]);
      const called = await wield(workspace, ['call', 'b_x']);
      expect(called.stderr).toContain('wield doctor shows all problems');
    }
  });

  spec('UPS-14', 'edit the table that a file has, and remove an entry that is not valid', async () => {
    const workspace = createWorkspace();
    const file = writeServers(workspace, '{"servers":{"a":{"command":"x"},"b":{"command":"x","timeout":"abc"}}}');
    expect((await wield(workspace, ['mcp', 'add', 'a', '--yes', '--', 'sh'])).status).toBe(4);
    await wield(workspace, ['mcp', 'add', 'a', '--yes', '--force', '--', 'sh']);
    await wield(workspace, ['mcp', 'add', 'c', '--yes', '--', 'sh']);
    for (const args of [
      ['refresh', 'b'],
      ['login', 'b'],
      ['accept', 'b'],
    ]) {
      const { status, stderr } = await wield(workspace, ['mcp', ...args]);
      expect([status, stderr]).toEqual([2, expect.stringContaining('server "b", timeout: must be a duration')]);
    }
    await wield(workspace, ['mcp', 'remove', 'b', '--yes']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ servers: { a: { command: 'sh' }, c: { command: 'sh' } } });
    expect((await wield(workspace, ['mcp', 'remove', 'a', '--yes'])).status).toBe(0);
  });

  spec('UPS-14', 'say that another server takes precedence, that it is disabled, or that it needs trust', async () => {
    const workspace = createWorkspace();
    workspace.config('[mcpServers.taken]\ncommand = "x"\n[mcp]\ndisabled = ["off"]\n');
    const add = (name: string, ...more: string[]) =>
      wield(workspace, ['mcp', 'add', name, '--yes', ...more, '--', 'sh']);
    const taken = await add('taken');
    expect(taken.stderr).toMatch(
      /server "taken" is not used: .*config\.toml:1 has one with that name and takes precedence/,
    );
    expect(taken.stdout).not.toContain('next');
    expect((await add('off', '--json')).stderr).toContain('off is disabled: mcp.disabled has its name');
    await add('mine');
    expect((await add('mine', '--scope', 'project')).stderr).toContain('server "mine" is not used');
    const project = await add('theirs', '--scope', 'project');
    expect([project.stderr, project.stdout]).toEqual(['', expect.stringMatching(/next .*wield trust$/m)]);
    const gone = await wield(workspace, ['mcp', 'add', 'gone', '--yes', '--json', '--', 'no-such-program']);
    expect(gone.stderr).toBe('warning  no-such-program is not on your PATH\n');
  });

  spec('UPS-4', 'a failed start shows the lines that name the error', async () => {
    const workspace = createWorkspace();
    for (const [name, output, shown] of [
      [
        'node',
        'node:x:1\\n  throw err;\\nError: Cannot find module x\\n    at f (y:1:2)\\n  code: 1\\n}\\nNode.js v20',
        'Error: Cannot find module x | code: 1',
      ],
      [
        'npm',
        'npm error code E404\\nnpm error 404 Not Found\\nnpm error a\\nnpm error log',
        'npm error code E404 | npm error 404 Not Found',
      ],
      ['other', 'one\\ntwo\\nthree\\nfour', 'two | three | four'],
    ] as const) {
      const path = workspace.write(name, `#!/bin/sh\nprintf '%b\\n' '${output}' >&2\nexit 1\n`, 0o755);
      await wield(workspace, ['mcp', 'add', '--yes', name, '--', path]);
      const { stderr } = await wield(workspace, ['call', `${name}_x`]);
      expect([name, stderr]).toEqual([name, expect.stringContaining(`last output: ${shown}`)]);
    }
  });

  finding('N11', 'a missing directory, file or interpreter of a server is named', async () => {
    const workspace = createWorkspace();
    const script = workspace.write('server', '#!/no/such/interpreter\n', 0o755);
    const servers = {
      directory: { command: 'sh', cwd: '/no/such/directory' },
      file: { command: '/no/such/file' },
      interpreter: { command: script },
    };
    workspace.write('../home/.agents/mcp.json', JSON.stringify({ mcpServers: servers }));
    for (const [name, message] of [
      ['directory', 'directory not found: /no/such/directory'],
      ['file', 'cannot start /no/such/file: file not found'],
      ['interpreter', `cannot start ${script}: interpreter not found`],
    ])
      expect((await wield(workspace, ['mcp', 'refresh', name!])).stderr).toContain(message);
  });

  spec('UPS-9', 'the command line to run by hand is one that a shell can run', async () => {
    const workspace = createWorkspace();
    const args = ['${workspaceFolder}/none.mjs', '${userHome}', '${env:PATH}'];
    configureServers(workspace, { far: { command: process.execPath, args } });
    const { stderr } = await wield(workspace, ['mcp', 'refresh', 'far']);
    expect(stderr).toContain(`${process.execPath} ${workspace.dir}/none.mjs ${workspace.home} \${PATH}\n`);
  });

  finding('N12 UPS-14', 'refuse wield itself', async () => {
    const workspace = createWorkspace();
    for (const command of [
      ['wield', 'serve'],
      ['npx', '-y', 'wield', 'serve'],
      [process.execPath, binary(), 'serve'],
    ]) {
      const { status, stderr } = await wield(workspace, ['mcp', 'add', '--yes', 'me', '--', ...command]);
      expect([status, stderr]).toEqual([2, expect.stringContaining('this command starts wield itself')]);
    }
    expect(existsSync(join(workspace.home, '.agents', 'mcp.json'))).toBe(false);
  });

  finding('N12 UPS-14', 'name the imported secret that is no longer used', async () => {
    const workspace = createWorkspace();
    const token = 'ghp_0123456789abcdef0123456789abcdef0123';
    const servers = Object.fromEntries(
      ['one', 'two'].map((name) => [name, { command: 'x', env: { GITHUB_TOKEN: token } }]),
    );
    workspace.write('.cursor/mcp.json', JSON.stringify({ mcpServers: servers }));
    await wield(workspace, ['mcp', 'import', 'cursor', '--yes']);
    const { stdout } = await wield(workspace, ['mcp', 'remove', 'one', '--yes']);
    const secret = join(workspace.env.WIELD_HOME!, 'secrets', 'one.GITHUB_TOKEN');
    expect(stdout).toContain(`secret    no longer used here; delete it: rm ${secret}`);
    expect(stdout).not.toContain('two.GITHUB_TOKEN');
    const removed = json(await wield(workspace, ['mcp', 'remove', 'two', '--yes', '--json']));
    expect(removed.secrets).toEqual([join(workspace.env.WIELD_HOME!, 'secrets', 'two.GITHUB_TOKEN')]);
  });

  spec('UPS-14', 'never write or repeat a secret', async () => {
    const workspace = createWorkspace();
    const secret = 'abcdefgh12345678abcdef';
    for (const args of [
      ['--url', 'https://example.com/mcp', '--header', `Authorization: Bearer ${secret}`],
      ['--url', `https://example.com/mcp?api_key=${secret}`],
      ['--env', `API_TOKEN=${secret}`, '--', 'server'],
      ['--', 'server', '--token', secret],
      ['--env', secret, '--', 'server'],
    ]) {
      const { status, stdout, stderr } = await wield(workspace, ['mcp', 'add', '--yes', 'x', ...args]);
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).not.toContain(secret);
    }
    expect(existsSync(join(workspace.home, '.agents', 'mcp.json'))).toBe(false);
    // What the hint of a command line says works.
    const words = await wield(workspace, ['mcp', 'add', '--yes', 'y', '--', 'sh', '--api-key', `sk-${secret}`]);
    expect(words.stderr).toContain("pass it with --env NAME='${NAME}'");
    expect((await wield(workspace, ['mcp', 'add', '--yes', 'y', '--env', 'NAME=${NAME}', '--', 'sh'])).status).toBe(0);
    const url = ['--url', 'https://example.com/mcp', '--header', 'Authorization: Bearer ${TOKEN}'];
    const run = await wield(workspace, ['mcp', 'add', '--yes', 'x', ...url, '--scope', 'project']);
    expect(run.stdout).toContain('"Authorization": "Bearer ${TOKEN}"');
    const { mcpServers } = JSON.parse(readFileSync(join(workspace.dir, '.agents', 'mcp.json'), 'utf8'));
    expect(mcpServers.x).toEqual({
      type: 'http',
      url: 'https://example.com/mcp',
      headers: { Authorization: 'Bearer ${TOKEN}' },
    });
  });

  spec('UPS-14', 'are refused inside a tool, and leave files of others alone', async () => {
    const workspace = createWorkspace();
    workspace.write('.mcp.json', JSON.stringify({ mcpServers: { theirs: { command: 'x' } } }));
    const env = { WIELD_CALL: '1-2-3' };
    for (const args of [
      ['add', 'a', '--', 'x'],
      ['remove', 'theirs', '--yes'],
    ])
      expect((await wield(workspace, ['mcp', ...args], { env })).status).toBe(5);
    const foreign = await wield(workspace, ['mcp', 'remove', 'theirs', '--yes']);
    expect([foreign.status, foreign.stderr]).toEqual([4, expect.stringContaining('.mcp.json:1 by hand')]);
    for (const args of [[], ['a'], ['a', '--url', 'https://x.example', '--', 'x'], ['a', '--url', 'nowhere']])
      expect((await wield(workspace, ['mcp', 'add', '--yes', ...args])).status).toBe(2);
  });
});
