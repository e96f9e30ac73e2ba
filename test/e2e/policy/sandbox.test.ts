import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { textOf } from '../../../src/index.js';
import { logRecords } from '../../support/audit.js';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { createInstallWorkspace } from '../../support/install.js';
import { NO_NAMESPACES } from '../../support/machine.js';
import { createModuleWorkspace, moduleText } from '../../support/modules.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../../support/sandbox-attempts.js';
import { spec, specIf } from '../../support/spec.js';
import { useDisk } from '../../support/temporary.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

useDisk();

const WORKS = hasBubblewrap();
const script = (tags: string, body: string): string => `#!/bin/bash\n# @description D\n${tags}\n${body}\n`;

/** A search path without bubblewrap and setpriv. */
function hideBackends(workspace: Workspace): Record<string, string> {
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  for (const name of ['bash', 'cat', 'touch', 'env', 'git']) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec /bin/${name} "$@"\n`, { mode: 0o755 });
  }
  return { ...workspace.env, PATH: bin };
}

describe('a machine without a backend', () => {
  spec('EXE-12', 'refuses a tool that requires a sandbox, and says how to get one', async () => {
    const workspace = createWorkspace();
    workspace.script('strict', script('# @sandbox workdir', 'touch made'));
    const env = hideBackends(workspace);
    const run = await wield(workspace, ['call', 'strict', '--json'], { env });
    expect(run.status).toBe(8);
    expect(json(run).error).toMatchObject({ code: 'unavailable', data: { sandbox: { backend: 'none' } } });
    expect(json(run).error.message).toContain('bubblewrap is not installed');
    expect(existsSync(join(workspace.dir, 'made'))).toBe(false);
    const doctor = json(await wield(workspace, ['doctor', '--json'], { env }));
    expect(JSON.stringify(doctor)).toContain('apt install bubblewrap');
  });

  spec('EXE-12 OBS-1', 'runs a tool that prefers one, and says everywhere that there is none', async () => {
    const workspace = createWorkspace();
    workspace.script('soft', script('# @sandbox workdir preferred', 'touch made; echo done'));
    const env = hideBackends(workspace);
    const run = json(await wield(workspace, ['call', 'soft', '--json'], { env }));
    expect(run).toMatchObject({ ok: true, meta: { sandbox: 'none', sandboxProfile: 'workdir' } });
    const explained = json(await wield(workspace, ['explain', 'soft', '--json'], { env }));
    expect(explained.sandbox).toEqual({ profile: 'workdir', backend: 'none' });
    const shown = json(await wield(workspace, ['show', 'soft', '--json'], { env }));
    expect(shown.sandbox).toEqual({ profile: 'workdir', backend: 'none' });
    expect(logRecords(workspace).at(-1)).toMatchObject({ tool: 'soft', sandbox: 'none' });
  });
});

describe('a hook without a backend', () => {
  spec(
    'EXE-12 HOOK-1',
    'runs with a warning if its sandbox is only preferred, and not at all if it is required',
    async () => {
      const workspace = createInstallWorkspace();
      const build = 'echo "#!/bin/sh" > out.sh; /bin/chmod +x out.sh';
      const text = `---\ndescription: D.\nbin: out.sh\nbuild: ${build}\n---\n`;
      const source = workspace.source('built', { 'tools/made/TOOL.md': text });
      workspace.config('[[sandbox]]\nmatch = "hooks"\nprofile = "workdir"\nrequired = false\n');
      Object.assign(workspace.env, hideBackends(workspace));
      const { stderr } = await workspace.run('add', source, '--yes', '--run-hooks');
      expect(stderr).toContain('the build hook of made has no sandbox: bubblewrap is not installed');
      // A call can be made without its sandbox, a hook cannot.
      workspace.config('[[sandbox]]\nmatch = "hooks"\nprofile = "workdir"\n');
      const other = await workspace.run(
        'add',
        workspace.source('other', { 'tools/other/TOOL.md': text }),
        '--yes',
        '--run-hooks',
      );
      expect(other.stderr).toContain('a hook requires the sandbox "workdir"');
      expect(other.stderr).not.toContain('--sandbox none');
    },
  );
});

describe('a machine where AppArmor restricts user namespaces', () => {
  const canMount = spawnSync('unshare', ['--map-root-user', '--mount', 'true']).status === 0;
  specIf(canMount, NO_NAMESPACES, 'EXE-12', 'is told the remedy of its distribution', () => {
    const workspace = createWorkspace();
    const bin = join(workspace.home, 'bin');
    const failure = 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1';
    mkdirSync(bin);
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\n${failure}\n`, { mode: 0o755 });
    const kernel = join(workspace.home, 'kernel');
    mkdirSync(kernel);
    writeFileSync(join(kernel, 'apparmor_restrict_unprivileged_userns'), '1\n');
    const mount = 'mount --bind "$0" /proc/sys/kernel && PATH="$1:/none" exec "$2" "$3" doctor';
    const args = ['--map-root-user', '--mount', 'sh', '-c', mount, kernel, bin, process.execPath, binary()];
    const { stdout } = spawnSync('unshare', args, { cwd: workspace.dir, env: workspace.env, encoding: 'utf8' });
    expect(stdout).toMatch(
      /bubblewrap does not work here: setting up uid map: Permission denied; .*bwrap-userns-restrict/,
    );
  });
});

describe('a probe', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-12', 'that was killed is made again after a minute', async () => {
    const workspace = createWorkspace();
    workspace.script('strict', script('# @sandbox workdir', 'echo inside'));
    const env = hideBackends(workspace);
    const bin = join(workspace.home, 'bin');
    const busy = join(workspace.home, 'busy');
    const real = `#!/bin/sh\n[ -e ${busy} ] && kill -9 $$\nPATH=/usr/local/bin:/usr/bin:/bin exec bwrap "$@"\n`;
    writeFileSync(join(bin, 'bwrap'), real, { mode: 0o755 });
    writeFileSync(busy, '');
    const call = (now: () => number) => workspace.toolbox({ env, now }).call('strict', {});
    expect((await call(Date.now)).error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('it was killed'),
    });
    rmSync(busy);
    const later = Date.now() + 61_000;
    expect(textOf(await call(() => later))).toBe('inside\n');
    // What works is kept.
    const kept = readFileSync(join(workspace.env.WIELD_HOME!, 'cache', 'sandbox.json'), 'utf8');
    expect(JSON.parse(kept).until).toBeUndefined();
  });
});

describe('a launcher that restricts nothing', () => {
  const ONLINE = existsSync('/proc/net/dev') && /^\s*(?:eth|en|wl)\w*:/m.test(readFileSync('/proc/net/dev', 'utf8'));

  for (const [what, fault, launch] of [
    ['starts its command', 'hide files', 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'],
    ['hides files only', 'separate the network', 'exec /usr/bin/env bwrap "${@/--unshare-all/--unshare-pid}"'],
  ] as const) {
    specIf(
      WORKS && (fault === 'hide files' || ONLINE),
      NO_BUBBLEWRAP,
      'EXE-12',
      `does not count: it ${what}`,
      async () => {
        const workspace = createWorkspace();
        workspace.script('strict', script('# @sandbox workdir', 'cat .env'));
        workspace.write('.env', 'secret');
        const env = hideBackends(workspace);
        const real = launch.replace('/usr/bin/env bwrap', 'env PATH=/usr/local/bin:/usr/bin:/bin bwrap');
        const text = `#!/bin/bash\nif [ "$1" = --version ]; then echo 9.9.9; exit; fi\n${real}\n`;
        writeFileSync(join(workspace.home, 'bin', 'bwrap'), text, { mode: 0o755 });
        const { stdout } = await wield(workspace, ['doctor'], { env });
        expect(stdout).toContain(`bubblewrap does not work here: it does not ${fault}`);
        expect(stdout).not.toContain('enforced');
        expect((await workspace.toolbox({ env }).call('strict', {})).error?.code).toBe('unavailable');
      },
    );
  }

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-12', 'is told from one that works', async () => {
    const workspace = createWorkspace();
    expect((await wield(workspace, ['doctor'])).stdout).toMatch(
      /bubblewrap +[\d.]+: all sandbox profiles are enforced/,
    );
  });
});

describe('secrets', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-71', 'are hidden also if they were created after earlier calls', async () => {
    const workspace = createWorkspace();
    workspace.write('deep/er/notes', '');
    workspace.script('reader', script('# @sandbox read-only', 'cat deep/er/.env ~/.netrc; true'));
    // All files count as old, so that what is known about them is used again.
    const toolbox = workspace.toolbox({ now: () => Date.now() + 60_000 });
    expect((await toolbox.call('reader', {})).ok).toBe(true);
    workspace.write('deep/er/.env', 'secret');
    writeFileSync(join(workspace.home, '.netrc'), 'secret');
    const result = await toolbox.call('reader', {});
    expect(result.ok).toBe(true);
    expect(textOf(result)).toContain('deep/er/.env: Permission denied');
    expect(textOf(result)).toContain('.netrc: No such file or directory');
  });
});

describe('profiles of the configuration', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-10', 'say what is read, written, hidden and passed on', async () => {
    const workspace = createWorkspace();
    workspace.write('out/.keep', '');
    workspace.write('private/key', 'hidden');
    writeFileSync(join(workspace.home, 'data'), 'data');
    writeFileSync(join(workspace.home, 'other'), 'other');
    workspace.config(
      [
        '[env]\npass = ["KEPT", "DROPPED"]',
        '[sandbox.narrow]\nread = ["~/data"]\nwrite = ["./out", "~/made.txt"]\ndeny = ["./private"]\nenv = ["KEPT"]',
      ].join('\n'),
    );
    const attempts = [
      'cat ~/data',
      'cat ~/other',
      'touch out/a',
      'touch b',
      'echo x > ~/made.txt',
      'cat private/key',
      'printenv KEPT',
      'printenv DROPPED',
    ];
    const body = attempts.map((one) => `${one} >/dev/null 2>&1 && echo '${one}'`).join('\n');
    workspace.script('narrow-tool', script('# @sandbox narrow', `${body}\ntrue`));
    const env = { ...workspace.env, KEPT: '1', DROPPED: '1' };
    const run = await wield(workspace, ['call', 'narrow-tool'], { env });
    expect(run.stdout.trim().split('\n')).toEqual([
      'cat ~/data',
      'touch out/a',
      'echo x > ~/made.txt',
      'printenv KEPT',
    ]);
  });

  specIf(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-10',
    'apply together, so that the stricter wins and a project only narrows',
    async () => {
      const workspace = createWorkspace();
      workspace.script('writer', script('# @sandbox no-network', 'touch ~/made'));
      workspace.config('[[sandbox]]\nmatch = "writ*"\nprofile = "workdir"\n\n[sandbox.wide]\nwrite = ["~"]\n');
      workspace.write('.agents/config.toml', '[sandbox.writer]\nwrite = ["~", "/"]\nnetwork = true\n');
      const run = await wield(workspace, ['call', 'writer', '--json']);
      expect(json(run).error.data.sandbox).toMatchObject({ refused: 'write', path: join(workspace.home, 'made') });
      expect(json(run).error.message).toContain('no-network + writer + workdir');
    },
  );

  specIf(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-10 EXE-13',
    'of the name of a tool replace what its author asks for, as the hint says',
    async () => {
      const workspace = createWorkspace();
      workspace.script('report', script('# @sandbox workdir', 'echo x > ~/report.toml'));
      const refused = await wield(workspace, ['call', 'report']);
      expect(refused.status).toBe(5);
      expect((await wield(workspace, ['audit'])).stdout).toContain('denied: stopped by its sandbox (bubblewrap)');
      expect(refused.stderr).toContain('report was stopped by its sandbox (workdir): write to ~/report.toml');
      const [, line] = /(\[sandbox\.report\] write = \[[^\]]*\])/.exec(refused.stderr)!;
      workspace.config(line!.replace('] write', ']\nwrite'));
      expect((await wield(workspace, ['call', 'report'])).status).toBe(0);
      expect(readFileSync(join(workspace.home, 'report.toml'), 'utf8')).toBe('x\n');
    },
  );

  spec('EXE-10 POL-9', 'with a mistake deny everything', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('', 'echo hi'));
    for (const text of [
      '[sandbox.a]\nwrites = ["."]',
      '[sandbox.a]\nnetwork = "no"',
      '[[sandbox]]\nmatch = "x"',
      '[[sandbox]]\nmatch = "[x"\nprofile = "workdir"',
      'sandbox = true',
      '[sandbox]\nwrite = ["."]',
      '[sandbox.workdir]\nnetwork = true',
      '[sandbox.a]\nenv = ["A=1"]',
      '[[sandbox]]\nmatch = []\nprofile = "workdir"',
      '[[sandbox]]\nmatch = "x(a=1)"\nprofile = "workdir"',
    ]) {
      workspace.config(`${text}\n`);
      const run = await wield(workspace, ['call', 'hello', '--json']);
      expect(json(run).error.code, text).toBe('denied');
    }
  });

  spec('EXE-10', 'with a path that would hide nothing are refused', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('# @sandbox open', 'cat private/key'));
    for (const [path, fault] of [
      ['private/*', 'a pattern'],
      ['private/ke?', 'a pattern'],
      ['{private,other}/key', 'a pattern'],
      ['$HOME/key', 'a variable'],
      ['~bob/key', 'the home of another user'],
    ] as const) {
      workspace.config(`[sandbox.open]\ndeny = [${JSON.stringify(path)}]\n`);
      const { error } = await workspace.toolbox().call('hello', {});
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(`has ${fault}: ${path}`) });
    }
  });

  specIf(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-10',
    'may name a path with special characters, and variables by prefix',
    async () => {
      const workspace = createWorkspace();
      workspace.write('app/[id]/key', 'hidden');
      workspace.config('[env]\npass = ["MY_*", "OTHER"]\n[sandbox.open]\ndeny = ["app/[id]"]\nenv = ["MY_*"]\n');
      workspace.script('hello', script('# @sandbox open', 'cat app/*/key; echo $MY_A $OTHER'));
      const result = await workspace.toolbox({ env: { ...workspace.env, MY_A: 'a', OTHER: 'o' } }).call('hello', {});
      expect(textOf(result)).toMatch(/^a\n/);
      expect(textOf(result)).not.toContain('hidden');
    },
  );

  spec('EXE-10', 'without effect are reported by doctor', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('', 'echo hi'));
    const tables = ['[sandbox.hallo]', '[sandbox.hello]\ndeny = ["missing"]', '[sandbox.p]\nwrite = ["no/such"]'];
    const rules = [
      ['hullo', 'workdir'],
      ['hello', 'none'],
      ['hello', 'p'],
    ];
    const lines = rules.map(([match, profile]) => `[[sandbox.rules]]\nmatch = "${match}"\nprofile = "${profile}"`);
    workspace.config(`${[...tables, ...lines].join('\n')}\n`);
    const { stdout } = await wield(workspace, ['doctor']);
    for (const text of [
      '[sandbox.hallo] is not used; did you mean hello?',
      '[sandbox.hello] names missing, which does not exist',
      '[sandbox.p] names no/such, whose directory does not exist',
      '[[sandbox]] matches no tool or server: hullo; did you mean hello?',
      '[[sandbox]] has the profile none, which changes nothing',
    ])
      expect(stdout).toContain(text);
    workspace.config('[sandbox.a]\n[[sandbox]]\nmatch = "x"\nprofile = "a"\n');
    expect((await wield(workspace, ['doctor'])).stdout).toContain('write [[sandbox.rules]]');
  });

  spec('EXE-10', 'that are not defined deny every call, with the file and the line of the rule', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('', 'echo hi'));
    const rule = (profile: string): string => `[[sandbox]]\nmatch = "other"\nprofile = "${profile}"\n`;
    for (const [profile, hint] of [
      ['wrkdir', 'did you mean workdir?'],
      ['nome', 'define [sandbox.nome]'],
    ] as const) {
      workspace.config(`\n${rule(profile)}`);
      const run = await wield(workspace, ['call', 'hello']);
      const what = `config.toml:2: [[sandbox]] names the unknown profile "${profile}", ${hint}`;
      expect([run.status, run.stdout]).toEqual([5, '']);
      expect(run.stderr).toContain(what);
    }
    // Another file can define it, but not that of a project for the user.
    workspace.config(rule('lab'));
    workspace.write('.agents/config.toml', '[sandbox.lab]\n');
    expect((await wield(workspace, ['call', 'hello'])).status).toBe(5);
    workspace.config('[sandbox.lab]\n');
    workspace.write('.agents/config.toml', rule('lab'));
    expect((await wield(workspace, ['call', 'hello'])).stdout).toBe('hi\n');
  });

  spec('EXE-10', 'that are not defined are named', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('# @sandbox workdr', 'echo hi'));
    const run = await wield(workspace, ['call', 'hello']);
    expect(run.status).toBe(8);
    expect(run.stderr).toContain('unknown sandbox profile "workdr"');
    expect(run.stderr).toContain('did you mean workdir?');
    workspace.script('odd', script('# @sandbox workdir prefered', 'echo hi'));
    expect((await workspace.toolbox().call('odd', {})).error).toMatchObject({
      code: 'unavailable',
      message: 'unknown sandbox profile "workdir prefered"',
    });
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toContain('hello asks for an unknown sandbox profile "workdr"; did you mean workdir?');
  });
});

describe('what was refused', () => {
  const cases: readonly (readonly [refused: string, profile: string, config: string, body: string, line: string])[] = [
    ['write', 'read-only', '', 'echo x > new', 'write = ["new"]'],
    ['write', 'workdir', '', `node -e 'fs.writeFileSync(process.env.HOME + "/n", "")'`, 'write = [".", "~/n"]'],
    ['write', 'workdir', '', 'echo x > .agents/new', 'write = [".", ".agents"]'],
    ['read', 'no-network', '', 'cat .env && echo x > ../n', 'read = ["/", ".env"], write = ["/"]'],
    ['read', 'few', '[sandbox.few]\nread = ["~/a"]', 'cat ~/data', 'read = [".", "~/a", "~/data"]'],
    ['env', 'few', '[env]\npass = ["KEY"]\n[sandbox.few]\nenv = []', 'set -u; echo $KEY', 'env = ["KEY"]'],
  ];
  for (const [what, profile, config, body, line] of cases) {
    specIf(WORKS, NO_BUBBLEWRAP, 'EXE-13', `is named with a line that allows it: ${body}`, async () => {
      const workspace = createWorkspace();
      workspace.write('.env', '');
      writeFileSync(join(workspace.home, 'data'), '');
      workspace.script('work', script(`# @sandbox ${profile}`, body));
      workspace.config(`${config}\n`);
      const toolbox = workspace.toolbox({ env: { ...workspace.env, KEY: '1' } });
      const { error } = await toolbox.call('work', {});
      expect(error).toMatchObject({ code: 'denied', data: { sandbox: { profile, refused: what } } });
      const table = config === '' ? 'work' : 'few';
      expect(error?.hint).toContain(`[sandbox.${table}] ${line}, or run it`);
      const [kept] = config.split('[sandbox.few]');
      workspace.config(`${kept}\n[sandbox.${table}]\n${line.split(/, (?=\w+ =)/).join('\n')}\n`);
      expect((await toolbox.call('work', {})).error).toBeUndefined();
    });
  }

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-13 EXE-74', 'in a private place is visible if a table names it', async () => {
    const workspace = createWorkspace();
    const file = `/var/tmp/wield-${process.pid}-${Date.now()}`;
    writeFileSync(file, 'shared');
    onTestFinished(() => rmSync(file));
    workspace.script('work', script('# @sandbox workdir', `cat ${file}`));
    const toolbox = workspace.toolbox();
    const { error } = await toolbox.call('work', {});
    expect(error).toMatchObject({ code: 'denied', data: { sandbox: { refused: 'read', path: file } } });
    const [, line] = /\[sandbox\.work\] (.*), or run/.exec(error!.hint!)!;
    workspace.config(`[sandbox.work]\n${line}\n`);
    expect(textOf(await toolbox.call('work', {}))).toBe('shared');
  });

  specIf(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-13',
    'is no failure of the launcher if the tool starts a sandbox itself',
    async () => {
      const workspace = createWorkspace();
      workspace.script('nested', script('# @sandbox workdir', 'bwrap --unshare-all --ro-bind / / true'));
      workspace.script(
        'printed',
        script('# @sandbox workdir', 'cat ~/new 2>&1; echo "touch: ~/new: Read-only file system"; exit 1'),
      );
      workspace.script('silent', script('# @sandbox workdir', 'exit 7'));
      workspace.script('broken', script('# @sandbox odd', 'true'));
      workspace.write('file', '');
      workspace.config('[sandbox.odd]\nwrite = ["file/below"]\n');
      const toolbox = workspace.toolbox();
      const errorOf = async (name: string) => (await toolbox.call(name, {})).error;
      expect(await errorOf('nested')).toMatchObject({ code: 'denied', data: { sandbox: { refused: 'operation' } } });
      expect(await errorOf('printed')).toMatchObject({ code: 'denied', data: { sandbox: { refused: 'write' } } });
      expect(await errorOf('silent')).toMatchObject({
        code: 'tool_failed',
        hint: expect.stringContaining('it ran in its sandbox (workdir)'),
      });
      expect(await errorOf('broken')).toMatchObject({ code: 'unavailable' });
    },
  );

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-13', 'by two tables, by deny, by a rule and by a project is said', async () => {
    const workspace = createWorkspace();
    workspace.write('private/key', '');
    const hint = async (config: string, body: string, project = '') => {
      workspace.config(config);
      workspace.write('.agents/config.toml', project);
      workspace.script('work', script('# @sandbox workdir', body));
      return (await workspace.toolbox().call('work', {})).error?.hint;
    };
    const rule = (profile: string) => `[[sandbox]]\nmatch = "work"\nprofile = "${profile}"\n`;
    expect(await hint(`${rule('strict')}[sandbox.strict]\n`, 'echo x > ~/n')).toContain(
      '[sandbox.work] write = [".", "~/n"] and [sandbox.strict] write = [".", "~/n"]',
    );
    expect(await hint('[sandbox.work]\ndeny = ["private"]\n', 'cat private/key')).toContain(
      'remove "private" from deny in [sandbox.work]',
    );
    expect(await hint(rule('workdir'), 'echo x > ~/n')).toContain(
      'write profile = "work" in it, and [sandbox.work] write = [".", "~/n"]',
    );
    expect(await hint('', 'echo x > ~/n', '[sandbox.work]\nwrite = ["."]\n')).toContain(
      '.agents/config.toml of the project narrows it too',
    );
  });
});

describe('what was refused to a module and a server', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-13', 'is named with a line that allows it', async () => {
    const workspace = createModuleWorkspace();
    const run = `async () => (await fetch('http://192.0.2.1/')).status`;
    workspace.module('net.tool.mjs', moduleText('net', run).replace('execute:', "sandbox: 'workdir', execute:"));
    expect((await workspace.toolbox().call('net', {})).error).toMatchObject({
      code: 'denied',
      hint: expect.stringContaining('[sandbox.net] network = true'),
    });
    const server = workspace.write('server.mjs', NEEDS_KEY);
    const entry = { command: process.execPath, args: [server], env: { KEY: 'value' }, sandbox: 'few' };
    configureServers(workspace, { box: entry });
    workspace.config('[sandbox.few]\nenv = []\n');
    expect((await workspace.toolbox({ trust: true }).call('box_key', {})).error).toMatchObject({
      code: 'denied',
      hint: expect.stringMatching(/\[sandbox\.few\] env = \["KEY"\]$/),
    });
    workspace.config('[sandbox.few]\nenv = ["KEY"]\n');
    expect((await workspace.toolbox({ trust: true }).call('box_key', {})).error).toBeUndefined();
    const options = { caller: { kind: 'person', door: 'cli' }, sandbox: 'none' } as const;
    expect((await workspace.toolbox({ trust: true }).call('box_key', {}, options)).error).toMatchObject({
      code: 'usage',
      message: 'the server box cannot run without its sandbox for one call',
    });
    const { stdout } = await wield(workspace, ['call', 'box_key', '--dry-run', '--trust']);
    expect(stdout).toMatch(/sandbox +few by bubblewrap/);
  });
});

const NEEDS_KEY = `
import { createInterface } from 'node:readline';
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'box', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'key', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ isError: !process.env.KEY, content: [{ type: 'text', text: process.env.KEY ? 'done' : 'KEY is not set' }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const result = results[method]?.(params);
  if (id !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'unknown' } }) }));
}
`;

describe('what fails by itself', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-13', 'is not blamed on the sandbox', async () => {
    const workspace = createWorkspace();
    workspace.script('wrong', script('# @sandbox workdir', 'cat missing; exit 3'));
    const toolbox = workspace.toolbox();
    const result = await toolbox.call('wrong', {}, { caller: { kind: 'person', door: 'cli' } });
    expect(result.error?.code).toBe('tool_failed');
    expect(textOf(result)).toContain('missing');
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-13', 'network use is named', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'net',
      '#!/usr/bin/env node\n// @description D\n// @sandbox workdir\nawait fetch("http://192.0.2.1/");\n',
    );
    const run = await wield(workspace, ['call', 'net', '--json']);
    expect(json(run).error.data.sandbox).toMatchObject({ refused: 'network' });
    expect(json(run).error.hint).toContain('[sandbox.net] network = true');
  });
});
