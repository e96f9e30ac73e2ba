// Attacks through the environment: only listed variables are passed on.

import { type StdioOptions, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { binary } from '../support/built.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { createInstallWorkspace, DETECT } from '../support/install.js';
import { NO_PROC } from '../support/machine.js';
import { nodeScript, shellScript } from '../support/shell-script.js';
import { finding, spec, specIf } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import { createUpstreamWorkspace } from '../support/upstream-workspace.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const SHOW = nodeScript('console.log(JSON.stringify(process.env))', '@param x string');

const LOADERS = {
  LD_PRELOAD: '/nonexistent/evil.so',
  LD_LIBRARY_PATH: '/nonexistent',
  DYLD_INSERT_LIBRARIES: '/nonexistent/evil.dylib',
  NODE_OPTIONS: '--no-warnings',
  BASH_ENV: '/nonexistent/evil.sh',
  ENV: '/nonexistent/evil.sh',
  PYTHONPATH: '/nonexistent',
  PYTHONSTARTUP: '/nonexistent/evil.py',
  PERL5LIB: '/nonexistent',
  PERL5OPT: '-Mevil',
  RUBYOPT: '-revil',
  GIT_DIR: '/nonexistent/.git',
  GIT_SSH_COMMAND: 'touch sentinel',
  TAR_OPTIONS: '--to-command=touch sentinel',
  AWKLIBPATH: '/nonexistent',
  HELM_PLUGINS: '/nonexistent',
  AWS_CA_BUNDLE: '/nonexistent/evil.pem',
};

async function environmentOf(
  workspace: Workspace,
  env: Record<string, string>,
  input: object = {},
): Promise<Record<string, string>> {
  const toolbox = workspace.toolbox({ env: { ...workspace.env, ...env } });
  return (await toolbox.call('show', input)).structured as unknown as Record<string, string>;
}

spec('EXE-2', 'A13 does not pass on loader and interpreter variables', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  const seen = await environmentOf(workspace, { ...LOADERS, SOME_TOKEN: 'secret' });
  for (const name of [...Object.keys(LOADERS), 'SOME_TOKEN']) expect(seen).not.toHaveProperty(name);
});

spec('EXE-2', 'A13 does not pass them on from the command line', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  const { NODE_OPTIONS, BASH_ENV, PYTHONPATH, GIT_DIR } = LOADERS;
  const env = { NODE_OPTIONS, BASH_ENV, PYTHONPATH, GIT_DIR, SOME_TOKEN: 'secret' };
  const seen = json(await wield(workspace, ['call', 'show', '--json'], { env })).structured;
  for (const name of Object.keys(env)) expect(seen).not.toHaveProperty(name);
});

specIf(process.platform === 'linux', NO_PROC, 'EXE-73', 'no descriptor of the caller reaches a tool', () => {
  const workspace = createWorkspace();
  const secret = join(workspace.home, 'secret');
  writeFileSync(secret, 'secret');
  workspace.script('show', shellScript('for f in /proc/$$/fd/*; do readlink "$f"; done; true'));
  const descriptor = openSync(secret, 'r');
  const stdio = Array.from({ length: 251 }, (_, at) => ([5, 16, 40, 250].includes(at) ? descriptor : 'ignore'));
  const options = { cwd: workspace.dir, env: workspace.env, encoding: 'utf8' } as const;
  const ran = spawnSync(process.execPath, [binary(), 'call', 'show'], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe', ...stdio.slice(3)] as StdioOptions,
  });
  closeSync(descriptor);
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  expect(ran.stdout).toContain('/dev/null\n');
  expect(ran.stdout).not.toContain(secret);
});

spec('EXE-2 UPS-4 HOOK-3', 'A13 does not pass them on to resolvers, modules, upstream servers and hooks', async () => {
  const env = { ...LOADERS, NODE_OPTIONS: '--no-warnings', SOME_TOKEN: 'secret' };
  const seen: Record<string, string> = {};
  const commands = createSkillWorkspace();
  commands.program('show', `#!${process.execPath}\nconsole.log(JSON.stringify(process.env))\n`);
  commands.skill('own', {
    'tools.json': declare([{ param: 'a', resolveCommand: { binary: 'show', args: ['$param'] } }], {
      allowlist: { args: [''], show: [''] },
    }),
  });
  commands.write(
    '.agents/tools/typed.tool.mjs',
    `export const typed = { name: 'typed', description: 'D.', inputSchema: { type: 'object' },
      execute: () => JSON.stringify(process.env) };\n`,
  );
  const toolbox = commands.toolbox({ env: { ...commands.env, ...env }, trust: true });
  for (const [name, input] of [
    ['run', { a: 'x' }],
    ['typed', {}],
  ] as const) {
    const result = await toolbox.call(name, input);
    expect([name, result.error]).toEqual([name, undefined]);
    seen[name] = textOf(result);
  }
  const upstream = createUpstreamWorkspace({ theirs: { mode: 'well' } });
  const dump = join(upstream.home, 'environment');
  upstream.write('../home/bin/server', `#!/bin/sh\nenv > '${dump}'\nexec "$@"\n`, 0o755);
  const entry = upstream.entry('theirs') as { command: string; args: string[] };
  const wrapped = { ...entry, command: join(upstream.home, 'bin/server'), args: [entry.command, ...entry.args] };
  configureServers(upstream, { theirs: wrapped });
  await upstream.toolbox({ env: { ...upstream.env, ...env } }).list();
  seen.upstream = readFileSync(dump, 'utf8');
  const install = createInstallWorkspace();
  const made = join(install.dir, 'environment');
  const source = install.source('hooked', {
    ...DETECT,
    'wield.toml': `[[hooks]]\nrun = "env > ${made}"\n`,
  });
  expect((await install.runWith({ env }, 'add', source, '--run-hooks')).status).toBe(0);
  seen.hook = readFileSync(made, 'utf8');
  for (const [where, text] of Object.entries(seen)) {
    expect([where, text]).toEqual([where, expect.stringContaining('PATH')]);
    for (const name of [...Object.keys(LOADERS), 'SOME_TOKEN'])
      expect([where, new RegExp(`(?:^|[{,]")${name}(?:=|":)`, 'm').test(text) && name]).toEqual([where, false]);
  }
});

spec('EXE-2', 'passes exactly the base variables, the locale and its own', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  const seen = await environmentOf(
    workspace,
    { USER: 'ada', TERM: 'dumb', TZ: 'UTC', TMPDIR: '/tmp', LC_ALL: 'C', LC_TIME: 'C', OTHER: 'x' },
    { x: 'y' },
  );
  expect(Object.keys(seen).sort()).toEqual(
    [
      ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'LC_TIME', 'TERM', 'TMPDIR', 'TZ', 'WIELD_CALL'],
      ...['WIELD', 'OCTOMIND'].flatMap((prefix) => [`${prefix}_PARAM_X`, `${prefix}_TOOL_NAME`, `${prefix}_WORKDIR`]),
    ].sort(),
  );
  expect(seen).toMatchObject({ WIELD_TOOL_NAME: 'show', WIELD_WORKDIR: workspace.dir, HOME: workspace.home });
});

spec('EXE-2', 'passes on configured names, and everything except loader variables by a wildcard', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  workspace.config('[env]\npass = ["FOO_*", "TOKEN", "LD_*", "PYTHON*", "GIT_DIR"]\n');
  const seen = await environmentOf(workspace, {
    ...LOADERS,
    FOO_A: '1',
    FOO_B: '2',
    FOOT: '3',
    TOKEN: 't',
  });
  expect(seen).toMatchObject({ FOO_A: '1', FOO_B: '2', TOKEN: 't', GIT_DIR: LOADERS.GIT_DIR });
  expect(seen).not.toHaveProperty('FOOT');
  for (const name of ['LD_PRELOAD', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'GIT_SSH_COMMAND'])
    expect(seen).not.toHaveProperty(name);
});

spec('EXE-2', 'does not pass on loader variables and outer parameters by a lone wildcard', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  workspace.config('[env]\npass = ["*"]\n');
  const seen = await environmentOf(workspace, { ...LOADERS, PLAIN: '1', WIELD_PARAM_X: 'of an outer call' });
  expect(seen).toHaveProperty('PLAIN');
  for (const name of [...Object.keys(LOADERS), 'WIELD_PARAM_X']) expect(seen).not.toHaveProperty(name);
});

finding('B19', 'A17 never passes on the token of the server, whatever the configuration says', async () => {
  const own = {
    WIELD_TOKEN: 'server-token',
    WIELD_HOME: '/elsewhere',
    WIELD_LOG: 'debug',
    OCTOMIND_PARAM_X: 'outer',
    WIELD_CALL: 'outer-mark',
  };
  for (const pass of ['*', 'WIELD_*', 'WIELD_TOKEN', 'W*', 'WIELD_T*', 'WIELD_CALL']) {
    const workspace = createWorkspace();
    workspace.script('show', SHOW);
    workspace.config(`[env]\npass = ["${pass}"]\n[tools.show.env]\npass = ["${pass}"]\n`);
    const { WIELD_CALL, ...seen } = await environmentOf(workspace, {
      ...own,
      WIELD_HOME: workspace.env.WIELD_HOME!,
    });
    expect(JSON.stringify(seen), pass).not.toContain('server-token');
    for (const name of ['WIELD_TOKEN', 'WIELD_HOME', 'WIELD_LOG', 'OCTOMIND_PARAM_X'])
      expect(seen, pass).not.toHaveProperty(name);
    // The mark of the outer call is kept, and that of this call is added.
    expect(WIELD_CALL).toMatch(/^outer-mark,/);
  }
});

spec('EXE-2', 'does not let a project pass variables on', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  workspace.write('.agents/config.toml', '[env]\npass = ["TOKEN"]\n');
  expect(await environmentOf(workspace, { TOKEN: 't' })).not.toHaveProperty('TOKEN');
});

spec('EXE-2 SCR-11', 'A14 sets no variable outside the prefix, whatever the parameter name', async () => {
  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,12}$/);
  const odd = ['PATH', 'LD_PRELOAD', '__proto', 'constructor', 'a-b', 'NODE_OPTIONS', 'toString', '_'];
  const workspace = createWorkspace();
  const toolbox = workspace.toolbox();
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...odd), name, async (first, second) => {
      const variable = (text: string): string => text.toUpperCase().replaceAll('-', '_');
      fc.pre(variable(first) !== variable(second) && second !== '__proto__');
      workspace.script(
        'show',
        nodeScript('console.log(JSON.stringify(process.env))', `@param ${first} string`, `@param ${second} string`),
      );
      const before = Object.keys((await toolbox.call('show', {})).structured as object);
      const result = await toolbox.call('show', { [first]: 'one', [second]: 'two' });
      const seen = result.structured as Record<string, string>;
      expect(seen.PATH).toBe(workspace.env.PATH);
      const added = Object.keys(seen).filter((key) => !before.includes(key));
      const expected = ['WIELD', 'OCTOMIND'].flatMap((prefix) =>
        [first, second].map((text) => `${prefix}_PARAM_${variable(text)}`),
      );
      expect(added.sort()).toEqual(expected.sort());
    }),
    { numRuns: 10 },
  );
});

spec('SCR-11', 'A14 reports two parameters with the same variable', async () => {
  const workspace = createWorkspace();
  workspace.script('clash', shellScript('true', '@param a-b string', '@param A_B string'));
  const toolbox = workspace.toolbox();
  expect((await toolbox.call('clash', {})).error?.code).toBe('not_found');
  expect(await toolbox.catalog.problems()).toHaveLength(1);
});

spec('EXE-2 EXE-8', 'A15 drops relative and empty entries of PATH', async () => {
  const workspace = createWorkspace();
  mkdirSync(join(workspace.dir, 'bin'));
  for (const place of ['ls', 'bin/ls']) workspace.write(place, '#!/bin/sh\ntouch hijacked\n', 0o755);
  workspace.script('list', shellScript('echo "$PATH"; ls >/dev/null'));
  for (const [path, rest] of [
    [`.:bin::${workspace.env.PATH}:`, workspace.env.PATH],
    ['.:bin:', '/usr/local/bin:/usr/bin:/bin'],
    ['', '/usr/local/bin:/usr/bin:/bin'],
  ]) {
    const result = await workspace.toolbox({ env: { ...workspace.env, PATH: path } }).call('list', {});
    expect(result.content).toEqual([{ type: 'text', text: `${rest}\n` }]);
  }
  expect(existsSync(join(workspace.dir, 'hijacked'))).toBe(false);
});

spec('EXE-8', 'A15 never uses an interpreter from a relative path', async () => {
  const workspace = createWorkspace();
  workspace.write('python-of-the-checkout', '#!/bin/sh\ntouch hijacked\n', 0o755);
  workspace.script('by-env', '#!/usr/bin/env python-of-the-checkout\n# @description x\n');
  workspace.script('by-path', '#!./python-of-the-checkout\n# @description x\n');
  const toolbox = workspace.toolbox({ env: { ...workspace.env, PATH: `.:${workspace.env.PATH}` } });
  for (const name of ['by-env', 'by-path'])
    expect((await toolbox.call(name, {})).error?.code, name).toBe('exec_failed');
  expect(existsSync(join(workspace.dir, 'hijacked'))).toBe(false);
});

spec('EXE-2 SCR-24', 'A17 keeps secrets out of the environment, the plan and messages', async () => {
  const workspace = createWorkspace();
  workspace.script('show', SHOW);
  const secret = 'hunter2-hunter2';
  const env = { AWS_SECRET_ACCESS_KEY: secret };
  expect(JSON.stringify(await environmentOf(workspace, env))).not.toContain(secret);
  for (const args of [
    ['call', 'show', '--dry-run', '--json'],
    ['call', 'show', '--json', '--verbose'],
  ]) {
    const run = await wield(workspace, args, { env });
    expect(run.status).toBe(0);
    expect(run.stdout + run.stderr).not.toContain(secret);
  }
});

spec('SCR-24', 'passes on a declared variable that the configuration lists', async () => {
  const workspace = createWorkspace();
  workspace.script('deploy', shellScript('test "$DEPLOY_KEY" = hunter2-key && touch ran', '@env DEPLOY_KEY'));
  const env = { ...workspace.env, DEPLOY_KEY: 'hunter2-key' };
  const refused = await workspace.toolbox({ env }).call('deploy', {});
  expect(refused.error?.code).toBe('unavailable');
  expect(refused.error?.hint).toContain('pass = ["DEPLOY_KEY"]');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);

  workspace.config('[tools.deploy.env]\npass = ["DEPLOY_KEY"]\n');
  const unset = await workspace.toolbox().call('deploy', {});
  expect(unset.error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('DEPLOY_KEY') });

  expect(await workspace.toolbox({ env }).call('deploy', {})).toMatchObject({ ok: true });
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(true);
  const shown = await wield(workspace, ['call', 'deploy', '--dry-run', '--verbose'], { env });
  expect(shown.stdout).toContain('DEPLOY_KEY');
  expect(shown.stdout + shown.stderr).not.toContain('hunter2-key');
});
