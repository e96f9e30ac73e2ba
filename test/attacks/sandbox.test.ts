// Attempts to leave a sandbox: by a script, a command, a module, a hook and a server.

import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { type ToolResult, textOf } from '../../src/index.js';
import { binary } from '../support/built.js';
import { json, wield } from '../support/cli.js';
import { createInstallWorkspace } from '../support/install.js';
import { hasProgram, succeeds } from '../support/machine.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { ownProcessesWith } from '../support/processes.js';
import { createProgramWorkspace, returned, runAsModel } from '../support/programs.js';
import {
  ATTEMPTS,
  attemptProgram,
  CANARY,
  expectedOf,
  hasBubblewrap,
  hasLandlock,
  NO_BUBBLEWRAP,
  NO_LANDLOCK,
  prepareAttempts,
  readAttempts,
  type SandboxProfileName,
  withoutBubblewrap,
} from '../support/sandbox-attempts.js';
import { specIf } from '../support/spec.js';
import { useDisk } from '../support/temporary.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

useDisk();

const WORKS = hasBubblewrap();
const REASON = NO_BUBBLEWRAP;
const thorough = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf.thorough(WORKS, REASON, ids, title, body);

const PROFILES: readonly SandboxProfileName[] = ['read-only', 'workdir', 'no-network'];

describe('a script', () => {
  specIf(
    WORKS,
    REASON,
    'EXE-10',
    'without a sandbox most attempts succeed, so that a refusal means something',
    async () => {
      const workspace = createWorkspace();
      const variables = await prepareAttempts(workspace);
      workspace.script('attack', `#!/bin/bash\n# @description D\n${attemptProgram(variables, { harmless: true })}\n`);
      const done = readAttempts((await wield(workspace, ['call', 'attack'])).stdout);
      const expected = ATTEMPTS.filter(({ works }) => works !== false).map(({ name }) => name);
      expect(expected.filter((name) => !done.includes(name))).toEqual([]);
    },
  );

  specIf(WORKS, REASON, 'EXE-10 EXE-76', 'makes no namespaces, even without the filter of system calls', async () => {
    const workspace = createWorkspace();
    workspace.script('plain', '#!/bin/sh\n# @description D\n# @sandbox workdir\ntrue\n');
    const toolbox = workspace.toolbox({ trust: true });
    // Creates the files that the launcher needs.
    expect(await toolbox.call('plain', {})).toMatchObject({ ok: true });
    const { plan } = await toolbox.plan('plain', {});
    const { launcher } = (plan as { readonly sandbox: { readonly launcher: readonly string[] } }).sandbox;
    const at = launcher.indexOf('--seccomp');
    const [program, ...flags] = at === -1 ? launcher : launcher.toSpliced(at, 2);
    const run = (...command: string[]) => spawnSync(program!, [...flags, ...command]).status;
    expect(run('true')).toBe(0);
    expect(run('unshare', '-U', 'true')).not.toBe(0);
  });

  for (const profile of PROFILES) {
    specIf(
      WORKS,
      REASON,
      'EXE-10 EXE-72 EXE-76',
      `in the profile ${profile} does exactly what the profile allows`,
      async () => {
        const workspace = createWorkspace();
        const variables = await prepareAttempts(workspace);
        const program = `#!/bin/bash\n# @description D\n# @sandbox ${profile}\n${attemptProgram(variables)}\n`;
        workspace.script('attack', program);
        const before = readdirSync(workspace.home).sort();
        const run = await wield(workspace, ['call', 'attack']);
        expect(readAttempts(run.stdout)).toEqual(expectedOf(profile));
        expect(run.stdout + run.stderr).not.toContain(CANARY);
        if (profile === 'no-network') return;
        expect(readdirSync(workspace.home).sort()).toEqual(before);
        expect(readFileSync(join(workspace.home, '.bashrc'), 'utf8')).toBe('');
        expect(existsSync(join(workspace.dir, '..', 'beside'))).toBe(false);
      },
    );
  }
});

describe('a script under Landlock', () => {
  for (const profile of PROFILES) {
    specIf(hasLandlock(), NO_LANDLOCK, 'EXE-10', `in the profile ${profile} does what Landlock can allow`, async () => {
      const workspace = createWorkspace();
      withoutBubblewrap(workspace);
      const variables = await prepareAttempts(workspace);
      const program = `#!/bin/bash\n# @description D\n# @sandbox ${profile}\n${attemptProgram(variables)}\n`;
      workspace.script('attack', program);
      const result = json(await wield(workspace, ['call', 'attack', '--json']));
      expect(result.meta).toMatchObject({ sandbox: 'landlock' });
      const run = textOf(result as ToolResult);
      expect(readAttempts(run)).toEqual(expectedOf(profile, 'landlock'));
      expect(run).not.toContain(CANARY);
    });
  }
});

describe('a workdir under Landlock', () => {
  specIf(hasLandlock(), NO_LANDLOCK, 'EXE-10', 'can be written where nothing in it is protected', async () => {
    const workspace = createWorkspace();
    withoutBubblewrap(workspace);
    rmSync(join(workspace.dir, '.agents'), { recursive: true, force: true });
    const tool = join(workspace.home, '.agents', 'tools', 'write');
    mkdirSync(dirname(tool), { recursive: true });
    const lines = ['#!/bin/sh', '# @description D', '# @sandbox workdir', 'mkdir made && echo x > made/new.txt'];
    writeFileSync(tool, `${lines.join('\n')}\n`, { mode: 0o755 });
    expect(await wield(workspace, ['call', 'write'])).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(join(workspace.dir, 'made/new.txt'), 'utf8')).toBe('x\n');
  });

  specIf(
    hasLandlock(),
    NO_LANDLOCK,
    'EXE-10 EXE-13',
    'gets missing files that a table names, and no others',
    async () => {
      const workspace = createWorkspace();
      withoutBubblewrap(workspace);
      workspace.script(
        'work',
        '#!/bin/sh\n# @description D\n# @sandbox workdir\necho x > ~/file && echo x > ~/dir/file\n',
      );
      workspace.config('[sandbox.work]\nwrite = ["~/file", "~/dir/"]\n');
      const toolbox = workspace.toolbox();
      expect((await toolbox.call('work', {})).error).toBeUndefined();
      workspace.script('work', '#!/bin/sh\n# @description D\n# @sandbox workdir\necho x > new\n');
      workspace.config('');
      expect((await toolbox.call('work', {})).error).toMatchObject({
        code: 'denied',
        hint: expect.stringContaining('Landlock cannot create files next to protected ones'),
      });
    },
  );
});

describe('a module under Landlock', () => {
  specIf(hasLandlock(), NO_LANDLOCK, 'EXE-10', 'does what Landlock can allow', async () => {
    const workspace = createModuleWorkspace();
    withoutBubblewrap(workspace);
    const variables = await prepareAttempts(workspace);
    workspace.write('attack.sh', attemptProgram(variables));
    const run = `async () => (await import('node:child_process')).execFileSync('bash', ['attack.sh'], { cwd: ${JSON.stringify(workspace.dir)}, encoding: 'utf8' })`;
    workspace.module('attack.tool.mjs', moduleText('attack', run).replace('execute:', "sandbox: 'workdir', execute:"));
    const result = await workspace.toolbox().call('attack', {});
    expect(readAttempts(textOf(result))).toEqual(expectedOf('workdir', 'landlock'));
    expect(result.meta.sandbox).toBe('landlock');
  });
});

describe('a module', () => {
  specIf(WORKS, REASON, 'EXE-10', 'is held by the profile of its definition', async () => {
    const workspace = createModuleWorkspace();
    const variables = await prepareAttempts(workspace);
    workspace.write('attack.sh', attemptProgram(variables));
    const run = `async () => (await import('node:child_process')).execFileSync('bash', ['attack.sh'], { cwd: ${JSON.stringify(workspace.dir)}, encoding: 'utf8' })`;
    workspace.module('attack.tool.mjs', moduleText('attack', run).replace('execute:', "sandbox: 'workdir', execute:"));
    const result = await workspace.toolbox().call('attack', {});
    expect(readAttempts(textOf(result))).toEqual(expectedOf('workdir'));
    expect(result.meta.sandbox).toBe('bubblewrap');
  });

  specIf(WORKS, REASON, 'EXE-10', 'cannot act while it is loaded, if the configuration has profiles', async () => {
    const workspace = createModuleWorkspace();
    const code = `import { writeFileSync } from 'node:fs';\ntry { writeFileSync(${JSON.stringify(join(workspace.home, 'loaded'))}, ''); } catch {}\n`;
    workspace.module('early.tool.mjs', code + moduleText('early', `() => 'done'`));
    workspace.config('[[sandbox]]\nmatch = "early"\nprofile = "workdir"\n');
    expect(textOf(await workspace.toolbox().call('early', {}))).toBe('done');
    expect(existsSync(join(workspace.home, 'loaded'))).toBe(false);
  });
});

describe('a person', () => {
  specIf(WORKS, REASON, 'EXE-12 EXE-13', 'can run a tool without its sandbox; a tool cannot', async () => {
    const workspace = createWorkspace();
    workspace.script('writer', '#!/bin/sh\n# @description D\n# @sandbox read-only\necho x > made\n');
    const refused = await wield(workspace, ['call', 'writer', '--json']);
    expect(refused.status).toBe(5);
    expect(json(refused).error).toMatchObject({
      code: 'denied',
      data: { sandbox: { profile: 'read-only', backend: 'bubblewrap', refused: 'write' } },
    });
    for (const other of ['workdir', 'full', ''])
      expect((await wield(workspace, ['call', 'writer', '--sandbox', other])).status, other).toBe(2);
    expect(existsSync(join(workspace.dir, 'made'))).toBe(false);
    const free = await wield(workspace, ['call', 'writer', '--sandbox', 'none']);
    expect(free.status).toBe(0);
    expect(existsSync(join(workspace.dir, 'made'))).toBe(true);
    rmSync(join(workspace.dir, 'made'));
    const inner = `exec ${process.execPath} '${binary()}' call writer --sandbox none`;
    workspace.script('outer', `#!/bin/sh\n# @description D\nexport WIELD_HOME=${workspace.env.WIELD_HOME}\n${inner}\n`);
    const outer = await wield(workspace, ['call', 'outer']);
    expect(outer.stderr).toContain('running without a sandbox');
    expect(existsSync(join(workspace.dir, 'made'))).toBe(false);
  });
});

describe('a server', () => {
  specIf(
    WORKS,
    REASON,
    'EXE-10',
    'is held by the profile of its entry, and has a state directory of its own',
    async () => {
      const workspace = createWorkspace();
      const variables = await prepareAttempts(workspace);
      workspace.write('attack.sh', attemptProgram(variables));
      const server = workspace.write('server.mjs', SERVER);
      const entry = { command: process.execPath, args: [server], sandbox: 'workdir' };
      configureServers(workspace, { box: entry });
      const toolbox = workspace.toolbox({ trust: true });
      const result = await toolbox.call('box_attack', {});
      expect(result.error).toBeUndefined();
      expect(result.error).toBeUndefined();
      expect(readAttempts(textOf(result))).toEqual(expectedOf('workdir'));
      expect(result.meta.sandbox).toBe('bubblewrap');
      expect(textOf(await toolbox.call('box_remember', {}))).toBe('remembered');
      expect(readdirSync(join(workspace.env.WIELD_HOME!, 'servers', 'box', 'state'))).toContain('memory');
    },
  );
});

describe('a command line', () => {
  thorough('EXE-10', 'is held by the profile of its tool', async () => {
    const workspace = createWorkspace();
    const variables = await prepareAttempts(workspace);
    workspace.write('attack.sh', attemptProgram(variables));
    const tools = [{ name: 'attack', description: 'D', sandbox: 'workdir', parameters: { type: 'object' } }];
    const execution = [{ tool: 'attack', binary: 'bash', subcommand: 'attack.sh', args: [] }];
    workspace.write('.agents/skills/kit/SKILL.md', '---\nname: kit\ndescription: D\n---\n');
    const text = JSON.stringify({ tools, allowlist: { bash: ['attack.sh'] }, execution });
    workspace.write('.agents/skills/kit/tools.json', text);
    const result = await workspace.toolbox({ trust: true }).call('attack', {});
    expect([result.error, result.meta.sandbox]).toEqual([undefined, 'bubblewrap']);
    expect(readAttempts(textOf(result))).toEqual(expectedOf('workdir'));
  });
});

describe('a program', () => {
  thorough('EXE-10 COD-2', 'does by its tools what their profile allows, and nothing by its engine', async () => {
    const workspace = createProgramWorkspace();
    const variables = await prepareAttempts(workspace);
    const program = attemptProgram(variables);
    workspace.script('attack', `#!/bin/bash\n# @description D\n# @sandbox workdir\n${program}\n`);
    workspace.script('wait', '#!/bin/sh\n# @description D\nwhile [ ! -e go ]; do sleep 0.05; done\n');
    const code = 'const text = await tools.attack(); await tools.wait(); return text';
    const running = runAsModel(workspace.toolbox({ trust: true }), code);
    const launchers = () =>
      ownProcessesWith('code/engine.cjs')
        .map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'))
        .filter(([first]) => first?.endsWith('bwrap'));
    await expect.poll(launchers).not.toEqual([]);
    const [launcher] = launchers();
    // The same sandbox, with a shell instead of the engine.
    const filter = openSync(join(workspace.env.WIELD_HOME!, 'cache', findFilter(workspace)), 'r');
    const [first, ...words] = launcher!.slice(0, launcher!.indexOf('--') + 1);
    const { stdout } = spawnSync(first!, [...words, '/bin/bash', '-c', program], {
      env: { PATH: process.env.PATH, HOME: workspace.home },
      cwd: '/',
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe', ...Array(6).fill('ignore'), filter],
    });
    closeSync(filter);
    const harmless = [
      'reads the system',
      'writes a temporary file',
      'runs a file in memory',
      'opens a socket of routes',
      'opens a socket of IPv6',
      // Its root is a directory in memory.
      'writes the workdir',
      'makes a directory in the workdir',
      'writes beside the workdir',
    ];
    expect(existsSync('/new.txt')).toBe(false);
    expect(stdout).toMatch(/^\d+ no$/m);
    expect(readAttempts(stdout).filter((name) => !harmless.includes(name))).toEqual([]);
    workspace.write('go', '');
    expect(readAttempts(String(returned(await running)))).toEqual(expectedOf('workdir'));
  });
});

function findFilter({ env }: Workspace): string {
  return readdirSync(join(env.WIELD_HOME!, 'cache')).find((name) => name.startsWith('filter-'))!;
}

describe('a hook', () => {
  thorough('EXE-10 HOOK-1', 'does what the profile of hooks allows', async () => {
    const workspace = createInstallWorkspace();
    const variables = await prepareAttempts(workspace);
    const source = workspace.source('built', {
      'tools/made/TOOL.md':
        '---\ndescription: D.\nbin: out.sh\nbuild: mkdir t; (cd t; bash ../attack.sh) > result; rm -rf t; cat in.sh result > out.sh; chmod +x out.sh\n---\n',
      'tools/made/in.sh': '#!/bin/sh\nexec sed 1,2d "$0"\n',
      'tools/made/attack.sh': attemptProgram(variables),
    });
    workspace.config('[sandbox.hooks]\n');
    await workspace.json('add', source, '--yes', '--run-hooks');
    const done = readAttempts((await workspace.run('call', 'made')).stdout);
    // Its directory is new.
    const others = ['reads the workdir', 'reads an example of .env'];
    expect(done).toEqual(expectedOf('workdir').filter((name) => !others.includes(name)));
  });

  specIf(WORKS, REASON, 'EXE-10 HOOK-1', 'is held by the profile hooks of the user', async () => {
    const workspace = createInstallWorkspace();
    const home = workspace.home;
    const build = `cp in.sh out.sh; chmod +x out.sh; touch ${home}/planted || true`;
    const source = workspace.source('built', {
      'tools/made/TOOL.md': `---\ndescription: D.\nbin: out.sh\nbuild: ${build}\n---\n`,
      'tools/made/in.sh': '#!/bin/sh\necho made\n',
    });
    workspace.config('[sandbox.hooks]\n');
    await workspace.json('add', source, '--yes', '--run-hooks');
    expect((await workspace.run('call', 'made')).stdout).toBe('made\n');
    expect(existsSync(join(home, 'planted'))).toBe(false);
    const failing = workspace.source('failing', {
      'tools/other/TOOL.md': `---\ndescription: D.\nbin: out.sh\nbuild: touch ${home}/planted\n---\n`,
    });
    const { stderr } = await workspace.run('add', failing, '--yes', '--run-hooks');
    expect(stderr).toContain('the build hook of other was stopped by its sandbox (hooks): write to ~/planted');
    expect(stderr).toMatch(/\[sandbox\.hooks\] write = \[".", "~\/planted"\]$/m);
  });
});

describe('a package runner', () => {
  specIf(
    WORKS,
    REASON,
    'EXE-13',
    'is installed once outside, without scripts, and runs without the network',
    async () => {
      const workspace = createWorkspace();
      workspace.write('package/server.mjs', SERVER);
      workspace.write(
        'package/package.json',
        JSON.stringify({
          name: 'boxed',
          version: '1.0.0',
          bin: './server.mjs',
          scripts: { postinstall: `touch ${workspace.home}/postinstall` },
        }),
      );
      const entry = { command: 'npx', args: ['-y', `${workspace.dir}/package`], sandbox: 'workdir' };
      configureServers(workspace, { box: entry });
      const result = await workspace.toolbox({ trust: true }).call('box_remember', {});
      expect(textOf(result)).toBe('remembered');
      expect(existsSync(join(workspace.home, 'postinstall'))).toBe(false);
      const named = (...args: string[]) => ({ ...entry, args: ['-y', ...args] });
      configureServers(workspace, {
        other: named(`--package=${workspace.dir}/package`, 'boxed'),
        bad: named('-p', `${workspace.dir}/package`, 'other'),
      });
      const toolbox = workspace.toolbox({ trust: true });
      expect(textOf(await toolbox.call('other_remember', {}))).toBe('remembered');
      expect((await toolbox.call('bad_remember', {})).error).toMatchObject({
        message: expect.stringContaining('boxed of the server bad has no program other'),
        hint: expect.stringContaining('npx -p boxed boxed'),
      });
      configureServers(workspace, { other: { command: 'pipx', args: ['run', 'thing'], sandbox: 'workdir' } });
      const refused = await workspace.toolbox({ trust: true }).call('other_thing', {});
      expect(refused.error?.message).toContain('the sandbox of the server other has no network, which pipx needs');
    },
  );

  specIf(WORKS, REASON, 'EXE-13', 'is installed without variables of its entry that make npm run code', async () => {
    const workspace = createWorkspace();
    const planted = join(workspace.home, 'planted');
    const code = `try { require('node:fs').writeFileSync(${JSON.stringify(planted)}, '') } catch {}\n`;
    const NODE_OPTIONS = `--require=${workspace.write('planted.cjs', code)}`;
    workspace.write('package/server.mjs', SERVER);
    workspace.write('package/package.json', '{"name":"boxed","version":"1.0.0","bin":"./server.mjs"}');
    const args = ['-y', `${workspace.dir}/package`];
    configureServers(workspace, { box: { command: 'npx', args, sandbox: 'workdir', env: { NODE_OPTIONS } } });
    expect(textOf(await workspace.toolbox({ trust: true }).call('box_remember', {}))).toBe('remembered');
    expect(existsSync(planted)).toBe(false);
  });

  thorough('EXE-13', 'may take longer to install than a server may take to start', async () => {
    const workspace = createWorkspace();
    workspace.write('package/server.mjs', SERVER);
    workspace.write('package/package.json', '{"name":"boxed","version":"1.0.0","bin":"./server.mjs"}');
    const npm = join(workspace.home, 'bin/npm');
    mkdirSync(dirname(npm));
    writeFileSync(npm, `#!/bin/sh\nsleep 16\nPATH=${process.env.PATH} exec npm "$@"\n`, { mode: 0o755 });
    const entry = { command: 'npx', args: ['-y', `${workspace.dir}/package`], sandbox: 'workdir', startTimeout: 15 };
    configureServers(workspace, { box: entry });
    const env = { ...workspace.env, PATH: `${dirname(npm)}:${workspace.env.PATH}` };
    expect(textOf(await workspace.toolbox({ trust: true, env }).call('box_remember', {}))).toBe('remembered');
  });

  const canInstall = WORKS && hasProgram('uv') && succeeds('python3', '--version');
  specIf(canInstall, 'no bubblewrap, python3 or uv; to run: pip install uv', 'EXE-13', 'may be uvx', async () => {
    const workspace = createWorkspace();
    const wheel = buildWheel(workspace);
    configureServers(workspace, {
      good: { command: 'uvx', args: ['--from', wheel, 'boxed'], sandbox: 'workdir' },
      bad: { command: 'uvx', args: ['--from', wheel, 'other'], sandbox: 'workdir' },
    });
    const toolbox = workspace.toolbox({ trust: true });
    const result = await toolbox.call('good_hello', {});
    expect(textOf(result)).toBe('no network');
    expect(result.meta.sandbox).toBe('bubblewrap');
    expect((await toolbox.call('bad_hello', {})).error?.message).toContain('has no program other');
  });

  specIf(WORKS, REASON, 'EXE-10', 'has a state directory of its own, whatever its name is', async () => {
    for (const name of ['../outside', 'a/../../outside', '..', '.hidden', 'x'.repeat(65)]) {
      const workspace = createWorkspace();
      const home = workspace.env.WIELD_HOME!;
      const server = workspace.write('server.mjs', SERVER);
      const entry = { command: process.execPath, args: [server], sandbox: 'workdir', prefix: false };
      configureServers(workspace, { [name]: entry });
      const result = await workspace.toolbox({ trust: true }).call('remember', {});
      expect([name, result.error, textOf(result)]).toEqual([name, undefined, 'remembered']);
      const places = readdirSync(join(home, 'servers'));
      expect([name, places]).toEqual([name, [expect.stringMatching(/^[0-9a-f]{16}$/)]]);
      expect(readdirSync(join(home, 'servers', places[0]!, 'state'))).toContain('memory');
    }
  });

  specIf(WORKS, REASON, 'EXE-10', 'of VS Code keeps its sandbox', async () => {
    const workspace = createWorkspace();
    const server = workspace.write('server.mjs', SERVER);
    const fields = { sandboxEnabled: true, sandbox: { filesystem: { denyRead: ['./private'] } } };
    configureServers(workspace, { box: { command: process.execPath, args: [server], ...fields } });
    const result = await workspace.toolbox({ trust: true }).call('box_remember', {});
    expect(result.meta).toMatchObject({ sandbox: 'bubblewrap', sandboxProfile: 'server box' });
  });
});

const PYTHON_SERVER = `
import json, socket, sys
def hello():
    try:
        socket.create_connection(('127.0.0.1', 9), 1)
    except OSError as error:
        return 'no network' if error.errno in (101, 111) else str(error)
def main():
    for line in sys.stdin:
        message = json.loads(line)
        if 'id' not in message: continue
        method, params = message['method'], message.get('params', {})
        answer = {
            'initialize': lambda: {'protocolVersion': params.get('protocolVersion'), 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'boxed', 'version': '1'}},
            'tools/list': lambda: {'tools': [{'name': 'hello', 'inputSchema': {'type': 'object'}}]},
            'tools/call': lambda: {'content': [{'type': 'text', 'text': hello()}]},
        }.get(method)
        body = {'result': answer()} if answer else {'error': {'code': -32601, 'message': 'unknown method'}}
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], **body}), flush=True)
`;

/** Builds a package with the server, as pip installs it. */
function buildWheel({ home }: Workspace): string {
  const file = join(home, 'boxed-1.0-py3-none-any.whl');
  const parts = {
    'boxed.py': PYTHON_SERVER,
    'boxed-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: boxed\nVersion: 1.0\n',
    'boxed-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'boxed-1.0.dist-info/entry_points.txt': '[console_scripts]\nboxed = boxed:main\n',
    'boxed-1.0.dist-info/RECORD': '',
  };
  const code = [
    'import json, sys, zipfile',
    'with zipfile.ZipFile(sys.argv[1], "w") as wheel:',
    '    for name, text in json.loads(sys.argv[2]).items(): wheel.writestr(name, text)',
  ];
  execFileSync('python3', ['-c', code.join('\n'), file, JSON.stringify(parts)]);
  return file;
}

// The smallest server: two tools, one message per line.
const SERVER = `
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const run = {
  attack: () => execFileSync('bash', ['attack.sh'], { encoding: 'utf8' }),
  remember: () => (writeFileSync(process.env.XDG_STATE_HOME + '/memory', ''), 'remembered'),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (method === 'initialize')
    answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'box', version: '1' } });
  else if (method === 'tools/list') answer({ tools: [tool('attack'), tool('remember')] });
  else if (method === 'tools/call') answer({ content: [{ type: 'text', text: run[params.name]() }] });
  else console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown method' } }));
}
`;
