// Secrets from commands and the keychain: with `pass`, and with the keyring of a desktop in a session of its own.

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { binary } from '../../support/built.js';
import { type CliRun, wield } from '../../support/cli.js';
import { FLEET_KEY } from '../../support/fleet.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { createModuleWorkspace, moduleText } from '../../support/modules.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { spec, specIf } from '../../support/spec.js';
import { createUpstreamWorkspace, type UpstreamWorkspace } from '../../support/upstream-workspace.js';

const SECRET = 'pa55-from-the-Store-81726354';

/** Creates a workspace with a server whose token is a reference. */
function createSecretWorkspace(reference: unknown): UpstreamWorkspace {
  return createUpstreamWorkspace({ far: { mode: 'leaks', env: { TOKEN: reference } } });
}

/** Writes a program into a directory of PATH, and returns the variables with that PATH. */
function addProgram(workspace: UpstreamWorkspace, name: string, text: string) {
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), text);
  chmodSync(join(bin, name), 0o755);
  return { env: { PATH: `${bin}:${workspace.env.PATH}` } };
}

function run(workspace: UpstreamWorkspace, command: string, args: readonly string[]): Promise<CliRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: workspace.dir, env: { ...workspace.env, GNUPGHOME: gnupg(workspace) } });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      output.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output.stderr += chunk;
    });
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
}

const gnupg = ({ home }: UpstreamWorkspace): string => join(home, '.gnupg');

describe.concurrent('a secret of a command', () => {
  const PASS = ['pass', 'gpg'];
  specIf(PASS.every(hasProgram), notInstalled(...PASS), 'SEC-1 SEC-2', 'is read from pass', async () => {
    const workspace = createSecretWorkspace({ cmd: ['pass', 'show', 'work/far'] });
    mkdirSync(gnupg(workspace), { mode: 0o700 });
    const key = ['--batch', '--passphrase', '', '--quick-gen-key', 'ada@example.com', 'default', 'default', 'never'];
    expect(await run(workspace, 'gpg', key)).toMatchObject({ status: 0 });
    expect(await run(workspace, 'pass', ['init', 'ada@example.com'])).toMatchObject({ status: 0 });
    const insert = `echo ${SECRET} | pass insert -e work/far`;
    expect(await run(workspace, 'sh', ['-c', insert])).toMatchObject({ status: 0 });
    const called = await wield(workspace, ['call', 'far_leak'], { env: { GNUPGHOME: gnupg(workspace) } });
    await run(workspace, 'gpgconf', ['--kill', 'all']);
    expect(called).toMatchObject({ status: 0 });
    expect(called.stdout).toContain('"TOKEN":"[redacted]"');
    expect(called.stdout + called.stderr).not.toContain(SECRET);
  });

  spec('SEC-2', 'is read once per process, without a shell and without its last line break', async () => {
    const workspace = createSecretWorkspace({ cmd: ['vault-like', '$HOME; echo no', '--flag'] });
    const text = `#!/bin/sh\nprintf '%s|' "$@" >> ${workspace.home}/asked\nprintf '${SECRET}\\n\\n'\n`;
    const { env } = addProgram(workspace, 'vault-like', text);
    const toolbox = workspace.toolbox({ env: { ...workspace.env, ...env } });
    for (const name of ['far_leak', 'far_structured', 'far_die', 'far_leak']) await toolbox.call(name, {});
    const { content } = await toolbox.call('far_leak', {});
    expect(JSON.stringify(content)).toContain('[redacted]\\\\n');
    expect(readFileSync(join(workspace.home, 'asked'), 'utf8')).toBe('$HOME; echo no|--flag|');
  });

  spec('SEC-2', 'is not read by a program of the workdir', async () => {
    const workspace = createSecretWorkspace({ cmd: ['planted'] });
    workspace.write('bin/planted', '#!/bin/sh\necho chosen-by-the-checkout\n', 0o755);
    const env = { PATH: `${workspace.dir}/bin:${workspace.env.PATH}` };
    const { status, stderr } = await wield(workspace, ['call', 'far_leak'], { env });
    expect([status, stderr]).toEqual([
      expect.any(Number),
      expect.stringContaining('the command planted was not found'),
    ]);
    expect(status).not.toBe(0);
  });

  spec('SEC-2', 'that fails is named with its status and what it said, redacted', async () => {
    const workspace = createSecretWorkspace({ cmd: ['vault-like', 'read'] });
    const text = `#!/bin/sh\necho ${SECRET}\necho "vault is sealed, not ${SECRET}" >&2\nexit 7\n`;
    const { status, stdout } = await wield(
      workspace,
      ['call', 'far_leak', '--json'],
      addProgram(workspace, 'vault-like', text),
    );
    expect(status).not.toBe(0);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    expect(error.code).toBe('unavailable');
    expect(error.message).toContain('the command vault-like read ended with status 7: vault is sealed, not [redacted]');
  });

  spec('SEC-2', 'that fails is quoted whole, also if its name sounds like that of a secret', async () => {
    const workspace = createSecretWorkspace({ cmd: ['secret-thing'] });
    const text = '#!/bin/sh\necho "secret-thing: Cannot autolaunch D-Bus without X11" >&2\nexit 1\n';
    const { stderr } = await wield(workspace, ['call', 'far_leak'], addProgram(workspace, 'secret-thing', text));
    expect(stderr).toContain('the command secret-thing ended with status 1: Cannot autolaunch D-Bus without X11');
  });

  spec('SEC-2', 'that takes longer than 5 seconds is ended', async () => {
    const workspace = createSecretWorkspace({ cmd: ['sleep', '60'] });
    const { stderr } = await wield(workspace, ['call', 'far_leak']);
    expect(stderr).toContain('the command sleep 60 took longer than 5 s');
  });

  spec('SEC-1', 'is an error in a file of a project, and does not run', async () => {
    for (const reference of [{ cmd: ['touch', 'ran'] }, 'cmd:["touch","ran"]', 'keychain:github', 'x ${keychain:a}']) {
      const workspace = createUpstreamWorkspace();
      workspace.workspaceServers({ far: { mode: 'leaks', env: { TOKEN: reference } } });
      await wield(workspace, ['trust', '--yes']);
      const { status, stdout } = await wield(workspace, ['check', '--json']);
      expect([status === 0, stdout]).toEqual([false, expect.stringContaining('only your own files may do')]);
      expect((await wield(workspace, ['call', 'far_leak'])).status).not.toBe(0);
      expect((await wield(workspace, ['list'])).stdout).not.toContain('far_leak');
    }
  });

  spec('SEC-1', 'must be an array of words, and is never an argument', async () => {
    for (const [fields, message] of [
      [{ env: { TOKEN: { cmd: 'op read' } } }, 'env.TOKEN.cmd: must be an array of strings'],
      [{ env: { TOKEN: { cmd: [] } } }, 'has an invalid command'],
      [{ env: { TOKEN: { cmd: ['a'], shell: true } } }, 'shell'],
      [{ env: { TOKEN: 'keychain:a b' } }, 'has an invalid name of a secret'],
      [{ args: ['keychain:github'] }, 'would show a secret in the process list'],
    ] as const) {
      const workspace = createUpstreamWorkspace({ far: { more: fields } });
      const { stdout } = await wield(workspace, ['doctor', '--json']);
      expect(stdout).toContain(message);
    }
  });
});

describe.concurrent('a reference of another program', () => {
  spec('SEC-4', 'gets the command that reads it', async () => {
    const workspace = createUpstreamWorkspace();
    const add = (token: string) =>
      wield(workspace, ['mcp', 'add', 'x', '--env', `TOKEN=${token}`, '--yes', '--', 'some-server']);
    for (const [reference, command] of [
      ['op://Private/github/token', '["op","read","op://Private/github/token"]'],
      ['vault:secret/github#token', '["vault","kv","get","-field=token","secret/github"]'],
      ['pass:work/github', '["pass","show","work/github"]'],
    ] as const) {
      const { status, stderr } = await add(reference);
      expect(status).toBe(2);
      expect(stderr).toContain('is a reference of another program');
      expect(stderr).toContain(`cmd:${command}`);
      expect(stderr).not.toContain('plain text');
      expect(await add(`cmd:${command}`)).toMatchObject({ status: 0 });
      await wield(workspace, ['mcp', 'remove', 'x', '--yes']);
    }
    expect((await add('ghp_0123456789abcdef0123456789abcdef0123')).stderr).toContain('plain text');
  });
});

describe.concurrent('a variable with a reference', () => {
  const SHOW = '#!/bin/sh\n# @description Show it.\necho "got <$DEPLOY_TOKEN>"\n';
  const LARGE = '[ "$WIELD_PARAM_LARGE" = true ] && yes "$DEPLOY_TOKEN" | head -n 2000\nexit 0\n';

  spec('SEC-5', 'is passed to the tool that it is for, when it runs', async () => {
    const workspace = createUpstreamWorkspace();
    const asked = join(workspace.home, 'asked');
    const command = ['sh', '-c', `echo asked >> ${asked}; echo ${SECRET}`];
    workspace.config(`[tools.deploy.env]\nDEPLOY_TOKEN = { cmd = ${JSON.stringify(command)} }\n`);
    workspace.script('deploy', SHOW);
    workspace.script('other', SHOW);
    const toolbox = workspace.toolbox({ trust: true });
    expect(JSON.stringify(await toolbox.explain('deploy', {}))).not.toContain(SECRET);
    expect(existsSync(asked)).toBe(false);
    expect(textOf(await toolbox.call('deploy', {}))).toBe(`got <${SECRET}>\n`);
    const model = { caller: { kind: 'model', door: 'mcp' } as const };
    expect(textOf(await toolbox.call('deploy', {}, model))).toBe('got <[redacted]>\n');
    expect(textOf(await toolbox.call('other', {}, model))).toBe('got <>\n');
    expect(readFileSync(asked, 'utf8')).toBe('asked\n');
  });

  spec('SEC-8', 'is not in a program that a model wrote, and not in a result that is stored', async () => {
    const workspace = createUpstreamWorkspace();
    const grant = `DEPLOY_TOKEN = { cmd = ["echo", "${SECRET}"] }`;
    workspace.config(`[tools.deploy.env]\n${grant}\n[results]\ninline = 2000\n[builtin]\noffer = ["run_code"]\n`);
    workspace.script('deploy', SHOW.replace('\necho', '\n# @param large boolean\necho') + LARGE);
    const model = { kind: 'model', door: 'mcp' } as const;
    // The first call of a process, which does not know the secret yet.
    for (const caller of [model, { kind: 'person', door: 'page' } as const]) {
      const toolbox = workspace.toolbox({ trust: true });
      const { meta } = await toolbox.call('deploy', { large: true }, { caller });
      const stored = await toolbox.call('read_result', { id: meta.handle!.id }, { caller });
      expect([stored.ok, textOf(stored).includes(SECRET)]).toEqual([true, false]);
      expect(textOf(stored)).toContain('[redacted]');
    }
    const code = 'const text = await tools.deploy({}); return [...text].reverse().join("");';
    const toolbox = workspace.toolbox({ trust: true });
    const { ok, content } = await toolbox.call('run_code', { code }, { caller: model });
    expect([ok, JSON.stringify(content)]).toEqual([true, expect.stringContaining(']detcader[')]);
  });

  spec('SEC-5', 'is passed to every script and module by [env], and not by a project', async () => {
    const workspace = createModuleWorkspace({ trusted: false });
    writeFileSync(join(workspace.home, 'token'), `${SECRET}\n`);
    workspace.config('[env]\nDEPLOY_TOKEN = "file:~/token"\n');
    workspace.write('.agents/config.toml', '[env]\nFROM_PROJECT = { cmd = ["touch", "ran"] }\n');
    workspace.script('deploy', SHOW);
    const execute = `() => 'got ' + process.env.DEPLOY_TOKEN + process.env.FROM_PROJECT`;
    workspace.module('shown.tool.mjs', moduleText('shown', execute));
    workspace.trust();
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('deploy', {}))).toBe(`got <${SECRET}>\n`);
    expect(textOf(await toolbox.call('shown', {}))).toContain(`got ${SECRET}undefined`);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  spec('SEC-5', 'is not passed to a profile without it', async () => {
    const workspace = createUpstreamWorkspace();
    workspace.script('deploy', SHOW);
    const profile = '[profiles.small]\ntools = ["deploy"]\nenv = ["OTHER"]\n';
    workspace.config(`[env]\nDEPLOY_TOKEN = { cmd = ["echo", "${SECRET}"] }\n${profile}`);
    expect((await wield(workspace, ['call', 'deploy'])).stdout).toBe(`got <${SECRET}>\n`);
    const toolbox = workspace.toolbox({ trust: true, profile: 'small' });
    expect(textOf(await toolbox.call('deploy', {}))).toBe('got <>\n');
  });

  spec('SEC-5', 'that is not valid is a problem with file and line', async () => {
    const faults = [
      ['{ cmd = [] }', 'has an invalid command'],
      ['"cmd:[op]"', 'has an invalid command'],
      ['"cmd:[\\"op\\""', 'must be a reference'],
      ['"pre-${cmd:[\\"op\\"]}"', 'has an invalid reference'],
      ['"${keychain:a b}"', 'has an invalid name of a secret'],
      ['"keychain:"', 'has an invalid name of a secret'],
      ['"file:token"', 'must be a reference'],
      ['"$${A}"', 'must be a reference'],
    ] as const;
    const workspace = createUpstreamWorkspace({ far: { mode: 'leaks', env: { TOKEN: 'keychain:' } } });
    const lines = faults.map(([value], at) => `T${at} = ${value}`);
    for (const table of ['env', 'tools.tok.env']) {
      workspace.config([`[${table}]`, ...lines, ''].join('\n'));
      const { stdout } = await wield(workspace, ['doctor']);
      for (const [at, [, message]] of faults.entries())
        expect(stdout).toContain(`line ${at + 2}: ${table}.T${at} ${message}`);
      expect(stdout).toContain('server "far", env.TOKEN: has an invalid name of a secret');
    }
  });

  spec('SEC-5', 'must be a reference, and is named if it has no value', async () => {
    const workspace = createUpstreamWorkspace();
    workspace.script('deploy', SHOW);
    workspace.config('[env]\nDEPLOY_TOKEN = "ghp_plain"\n');
    expect(
      (await wield(workspace, ['check', '--json'])).stdout + (await wield(workspace, ['doctor'])).stdout,
    ).toContain('env.DEPLOY_TOKEN');
    workspace.config('[env]\nDEPLOY_TOKEN = "file:~/none"\n');
    const { status, stderr } = await wield(workspace, ['call', 'deploy']);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/deploy needs the file .*none, which does not exist/);
  });
});

spec('SEC-6', 'doctor shows where secrets are, and reads none', async () => {
  const workspace = createSecretWorkspace({ cmd: ['no-such-manager', 'read', 'x'] });
  workspace.config('[env]\nDEPLOY_TOKEN = { cmd = ["touch", "asked"] }\n');
  const { stdout } = await wield(workspace, ['doctor']);
  expect(stdout).toMatch(/secret +DEPLOY_TOKEN from touch asked/);
  expect(stdout).toMatch(/secret +TOKEN of the server far from no-such-manager read x: no-such-manager not found/);
  expect(existsSync(join(workspace.home, 'asked'))).toBe(false);
});

specIf(hasRedis, NO_REDIS, 'SEC-7', 'the key of a fleet may be a reference', async () => {
  const redis = await startRedis();
  const workspace = createUpstreamWorkspace();
  writeFileSync(join(workspace.home, 'key'), `${FLEET_KEY}\n`);
  const fleetOf = async (key: string): Promise<unknown> => {
    const status = ['fleet', 'status', '--fleet', redis.url, '--json'];
    const { stdout } = await wield(workspace, status, { env: { WIELD_FLEET_KEY: key } });
    return (JSON.parse(stdout) as { fleet?: unknown }).fleet;
  };
  const fleet = await fleetOf(FLEET_KEY);
  expect(fleet).toEqual(expect.any(String));
  expect(await fleetOf('cmd:["cat","key"]')).toBe(fleet);
  expect(await fleetOf('file:~/key')).toBe(fleet);
  expect(await fleetOf('cmd:["false"]')).toBeUndefined();
});

describe('the keychain', () => {
  const KEYRING = ['dbus-run-session', 'gnome-keyring-daemon', 'secret-tool'];
  specIf(KEYRING.every(hasProgram), notInstalled(...KEYRING), 'SEC-3 SEC-1', 'keeps secrets', async () => {
    const workspace = createSecretWorkspace('Bearer ${keychain:github}');
    const w = `${process.execPath} '${binary()}'`;
    const script = `
      printf login | gnome-keyring-daemon --unlock --components=secrets > /dev/null 2>&1
      ${w} secrets list; ${w} call far_leak; echo "without: $?"
      printf %s ${SECRET} | ${w} secrets set github; echo "unconfirmed: $?"
      printf '${SECRET}\\n' | ${w} secrets set github --yes; echo "set: $?"
      ${w} secrets list --json
      ${w} call far_leak 2>&1; echo "with: $?"
      ${w} secrets remove other --yes; echo "unknown: $?"
      ${w} secrets remove github --yes && ${w} secrets list --json`;
    const { stdout, stderr } = await run(workspace, 'dbus-run-session', ['--', 'sh', '-c', script]);
    const all = stdout + stderr;
    expect(all).toContain('no secrets yet; to add one: wield secrets set NAME');
    expect(all).toContain('cannot read "github" in the keychain');
    expect(stdout).toMatch(/without: [1-9]/);
    expect(stdout).toMatch(/unconfirmed: [1-9]/);
    expect(stdout).toContain('set: 0');
    expect(stdout).toContain('{"ok":true,"schema":1,"secrets":[{"name":"github"}]}');
    expect(stdout).toContain('"TOKEN":"[redacted]"');
    expect(stdout).toContain('with: 0');
    expect(stdout).toMatch(/unknown: [1-9]/);
    expect(stdout.trim().split('\n').at(-1)).toBe('{"ok":true,"schema":1,"secrets":[]}');
    expect(all).not.toContain(SECRET);
  });

  spec('SEC-3', 'lists and removes many large secrets, and sets none that cannot be read', async () => {
    const workspace = createUpstreamWorkspace();
    const dir = join(workspace.home, 'ring');
    mkdirSync(dir);
    for (let at = 0; at < 22; at++) writeFileSync(join(dir, `s${at}`), 'x'.repeat(3200));
    const program = `#!/bin/sh
cd ${dir}
case $1 in
search) for f in *; do printf 'secret = '; cat $f; printf '\\nattribute.name = %s\\n' $f; done ;;
store) cat > $6 ;;
clear) rm $5 ;;
esac
`;
    const { env } = addProgram(workspace, 'secret-tool', program);
    const list = async () => (await wield(workspace, ['secrets', 'list'], { env })).stdout.trim().split('\n');
    expect(await list()).toHaveLength(22);
    expect((await wield(workspace, ['secrets', 'remove', 's3', '--yes'], { env })).status).toBe(0);
    expect(await list()).toHaveLength(21);
    const set = async (bytes: Buffer) => {
      const input = Readable.from([bytes]);
      return (await wield(workspace, ['secrets', 'set', 'new', '--yes'], { env, input })).stderr;
    };
    expect(await set(Buffer.from('a\0b'))).toContain('the secret contains a NUL character');
    expect(await set(Buffer.from([0x61, 0xff]))).toContain('the secret is not text in UTF-8');
    expect(await set(Buffer.alloc(70_000, 'x'))).toContain('the secret has 64 KiB or more');
    expect(await list()).not.toContain('new');
    await set(Buffer.alloc(65_000, 'x'));
    expect(await list()).toContain('new');
  });

  spec('SEC-3', 'is not asked with an invalid name', async () => {
    const workspace = createUpstreamWorkspace();
    for (const [args, message] of [
      [['secrets'], 'missing action'],
      [['secrets', 'sett', 'a'], 'set'],
      [['secrets', 'set'], 'missing name'],
      [['secrets', 'set', '-x y', '--yes'], ''],
      [['secrets', 'remove', 'a b'], 'is not a name of a secret'],
    ] as const) {
      const { status, stderr } = await wield(workspace, args);
      expect([args, status]).toEqual([args, 2]);
      expect(stderr).toContain(message);
    }
    expect((await wield(workspace, ['secrets', 'set', 'a', '--dry-run', '--json'])).stdout).toContain('"dryRun":true');
  });
});
