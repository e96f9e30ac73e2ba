// Attempts to reach in a second call what a sandbox hides or protects in the first: by moves, links and copies.

import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { wield } from '../support/cli.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../support/sandbox-attempts.js';
import { shellScript } from '../support/shell-script.js';
import { specIf } from '../support/spec.js';
import { useDisk } from '../support/temporary.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

useDisk();

const WORKS = hasBubblewrap();
const CANARY = 'canary-90be';
const READ_ALL = 'grep -rs canary . ; for f in $(find . -name "*"); do cat "$f"; done 2>/dev/null; true';

/** Runs bodies as calls of one sandboxed tool; returns what they print. */
async function callAll(workspace: Workspace, bodies: readonly string[], profile = 'workdir'): Promise<string> {
  const toolbox = workspace.toolbox();
  let printed = '';
  for (const body of bodies) {
    workspace.script('attack', shellScript(`${body}\ntrue`, `@sandbox ${profile}`));
    const result = await toolbox.call('attack', {});
    expect([body, result.error?.message]).toEqual([body, undefined]);
    printed += textOf(result);
  }
  return printed;
}

describe('a secret of the workdir', () => {
  const attacks: Readonly<Record<string, readonly string[]>> = {
    'by moving its directory': ['mkdir vendor; mv api vendor/api; mv a/b moved; mv a moved-too', READ_ALL],
    'by moving a directory far above it': ['mkdir x; mv a x; mv a/b/c x/c; mv a/b/c/d/e/f/g/h x/h', READ_ALL],
    'by replacing directories': ['rm -rf api a; mkdir api; cp -al a copied; cp -r a copied-too', READ_ALL],
    'by replacing links': ['rm .env linked-directory; ln -s nothing .env', READ_ALL],
    'by disguising directories': [
      'for d in api a a/b conf kept; do touch $d/HEAD $d/pyvenv.cfg; mkdir $d/objects $d/refs $d/.git; done',
      READ_ALL,
    ],
    'by other links': ['ln api/.env x; ln -s api y; ln -s ../api/.env a/z; mv y w', READ_ALL],
  };
  for (const [how, bodies] of Object.entries(attacks)) {
    specIf(WORKS, NO_BUBBLEWRAP, 'EXE-71 EXE-80', `is not read ${how}`, async () => {
      const workspace = createWorkspace();
      const deny = 'deny = ["conf/secrets/key.pem", "linked-directory/key"]';
      workspace.config(`[sandbox.attack]\nwrite = [".", "api", "a/b"]\n${deny}\n`);
      const hidden = ['api/.env', 'a/b/c/d/e/f/g/h/i/.env.local', 'vendor2/.envrc.local', 'node_modules/p/.dev.vars'];
      for (const name of [...hidden, 'conf/secrets/key.pem', 'kept/env.txt', 'target/key', 'build/id_ed25519'])
        workspace.write(name, CANARY);
      symlinkSync('kept/env.txt', join(workspace.dir, '.env'));
      symlinkSync('target', join(workspace.dir, 'linked-directory'));
      linkSync(join(workspace.dir, 'api/.env'), join(workspace.dir, 'a/b/other-name'));
      const moves = 'mv conf c2; mv conf/secrets s2; mv kept k2; mv target t2; rm -f linked-directory .env';
      expect(await callAll(workspace, [READ_ALL, ...bodies, moves, READ_ALL])).not.toContain(CANARY);
    });
  }

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-71', 'is found in the last of many directories', async () => {
    const workspace = createWorkspace();
    for (let at = 0; at < 600; at++) mkdirSync(join(workspace.dir, `many/${at}`), { recursive: true });
    workspace.write('many/599/z/.env', CANARY);
    expect(await callAll(workspace, ['cat many/599/z/.env', 'mv many/599 m; cat m/z/.env'])).not.toContain(CANARY);
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-71 EXE-80', 'is not uncovered by a new repository in the workdir', async () => {
    const workspace = createWorkspace();
    workspace.write('.env', CANARY);
    mkdirSync(join(workspace.dir, '.git'));
    workspace.config(`[sandbox.table]\nread = ["/", "${workspace.dir}"]\n`);
    const workdir = join(workspace.dir, 'packages/a');
    const toolbox = workspace.toolbox({ workdir });
    for (const body of ['mkdir .git ../.git', 'cat ../../.env']) {
      writeIn(workdir, '.agents/tools/attack', shellScript(`${body}\ntrue`, '@sandbox table'), 0o755);
      const result = await toolbox.call('attack', {});
      expect([result.error, textOf(result).includes(CANARY)]).toEqual([undefined, false]);
    }
    expect(existsSync(join(workdir, '.git'))).toBe(true);
  });

  specIf.thorough(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-71',
    'is not looked for in too many directories: the call is refused',
    async () => {
      const workspace = createWorkspace();
      execFileSync('bash', ['-c', 'mkdir -p m/{1..250}/{1..201}'], { cwd: workspace.dir });
      workspace.script('attack', shellScript('true', '@sandbox workdir'));
      const { error } = await workspace.toolbox().call('attack', {});
      expect(error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('deny = [...]') });
      workspace.config('[sandbox.attack]\ndeny = ["m"]\n');
      expect((await workspace.toolbox().call('attack', {})).error).toBeUndefined();
    },
  );

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-80 EXE-81', 'is not moved in a home that is the workdir', async () => {
    const workspace = createWorkspace();
    const { home } = workspace;
    for (const name of ['.config/gh/hosts.yml', '.unknown-tool/token', '.netrc', 'Documents/all.kdbx'])
      writeIn(home, name, CANARY);
    const tool = join(home, '.agents/tools/attack');
    const toolbox = workspace.toolbox({ workdir: home });
    for (const body of ['mv .config c2; mv .unknown-tool u2; mv Documents d2; mv .netrc n', READ_ALL]) {
      writeIn(home, '.agents/tools/attack', shellScript(`${body}\ntrue`, '@sandbox workdir'), 0o755);
      const result = await toolbox.call('attack', {});
      expect([body, result.error?.message]).toEqual([body, undefined]);
      expect(textOf(result)).not.toContain(CANARY);
    }
    expect(existsSync(tool)).toBe(true);
  });
});

describe('a link with the name of a secret', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-80 EXE-82', 'hides nothing that runs, and nothing in other projects', async () => {
    const workspace = createWorkspace();
    const { home } = workspace;
    const interpreter = join(home, 'installed/bin/run');
    writeIn(home, 'installed/bin/run', '#!/bin/sh\nexec sh "$@"\n', 0o755);
    writeIn(home, 'installed/lib/x', '');
    writeIn(home, 'other/data/file', 'kept');
    writeIn(home, 'other/file', 'kept');
    const sandboxed = (body: string) => shellScript(body, '@sandbox workdir');
    writeIn(home, 'other/.agents/tools/attack', sandboxed('cat data/file file'), 0o755);
    const targets = ['$(readlink -f /bin/sh)', '$(readlink -f $(which cat))', '/usr', '/etc', '/', '.', interpreter];
    const links = [...targets, '~/other/data', '~/other/file'].map((target, at) => `ln -s ${target} .env.${at}`);
    workspace.script('attack', sandboxed(links.join('\n')));
    workspace.script('own', sandboxed('cat plain').replace('/bin/sh', interpreter));
    workspace.write('plain', 'plain');
    const toolbox = workspace.toolbox();
    const print = async (name: string) => textOf(await toolbox.call(name, {}));
    expect(await print('attack')).toBe('');
    // The second one finds the links, and remembers what they lead to.
    for (const removed of ['', 'rm .env.*']) {
      workspace.script('attack', sandboxed(`${removed}\ncat /etc/passwd plain`));
      expect([removed, await print('attack'), await print('own')]).toEqual([
        removed,
        expect.stringMatching(/:\nplain$|\nplain$/),
        'plain',
      ]);
    }
    const other = workspace.toolbox({ workdir: join(home, 'other') });
    expect(textOf(await other.call('attack', {}))).toBe('keptkept');
  });

  specIf(
    WORKS,
    NO_BUBBLEWRAP,
    'EXE-80 CLI-14',
    'is named by doctor once it was removed, and can be forgotten',
    async () => {
      const workspace = createWorkspace();
      workspace.write('conf/values', 'text');
      symlinkSync('conf/values', join(workspace.dir, '.env'));
      const attempt = 'rm -f .env; cat conf/values; true';
      for (let at = 0; at < 2; at++) expect(await callAll(workspace, [attempt])).not.toContain('text');
      const { warnings } = JSON.parse((await wield(workspace, ['doctor', '--json'])).stdout);
      const { hint } = warnings.find(({ path }: { path: string }) => path.endsWith('conf/values'));
      const [, command] = /: (rm .+)$/.exec(hint)!;
      execFileSync('sh', ['-c', command!]);
      expect(await callAll(workspace, [attempt])).toContain('text');
      expect((await wield(workspace, ['doctor'])).stdout).not.toContain('conf/values');
    },
  );
});

function writeIn(root: string, name: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text, { mode });
}

const RUNS_CODE = [
  ...['.husky/pre-commit', '.idea/workspace.xml', '.pre-commit-config.yaml', '.npmrc', 'AGENTS.md', 'CLAUDE.md'],
  ...['.cursorrules', 'node_modules/.bin/run', '.venv/bin/python', '.github/workflows/ci.yml', '.devcontainer/a.json'],
  ...[
    'sub/.git/hooks/pre-commit',
    'sub/.vscode/tasks.json',
    'sub/.agents/tools/x',
    'sub/deep/.envrc',
    'app.code-workspace',
  ],
  ...['packages/a/node_modules/.bin/run', 'packages/a/AGENTS.md', 'bare.git/hooks/update', 'lefthook.yml'],
  ...['.yarn/releases/yarn-4.cjs', '.yarnrc.yml', '.pnp.cjs', '.pnpmfile.mjs', 'bunfig.toml', '.mvn/extensions.xml'],
  ...['.bundle/config', '.gemrc', 'uv.toml', 'pip.conf', '.condarc', 'gradle/wrapper/gradle-wrapper.jar'],
  ...['azure-pipelines.yml', 'azure-pipelines-ci.yml', 'Jenkinsfile', '.drone.yml', '.woodpecker.yml', '.cirrus.yml'],
  ...['appveyor.yml', 'cloudbuild.yaml', 'netlify.toml', '.gitea/workflows/ci.yml', '.forgejo/workflows/ci.yml'],
  ...['.gitlab-ci.yml', '.travis.yml', 'AGENT.md', 'WARP.md', 'AGENTS.override.md', 'crush.json', '.crush.json'],
  ...['.kilocode/mcp.json', '.openhands/setup.sh', 'mcp.json', '.vim/a', '.lvimrc', '.pdbrc', 'x.sublime-project'],
  ...['.bashrc', '.zshrc', '.profile', '.bash_profile', '.mise.toml', 'mise.local.toml', '.lintstagedrc.json'],
];
const RUNS_NO_CODE = [
  ...[
    '.yarn/cache/a.zip',
    '.bundle/cache/a',
    'gradle/a',
    'src/agent.ts',
    'docs/profile',
    'appveyor.ts',
    'bash_profile',
  ],
  ...['notes.md', 'claude.ts', 'pip.ts', 'x.json', '.eslintrc', '.prettierignore', 'build.json'],
];

describe('what makes other programs run code', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'is not changed, replaced or moved at any depth', async () => {
    const workspace = createWorkspace();
    for (const name of RUNS_CODE) workspace.write(name, 'text');
    workspace.write('.venv/pyvenv.cfg', '');
    for (const name of ['HEAD', 'objects/x', 'refs/x']) workspace.write(`bare.git/${name}`, '');
    for (const name of RUNS_NO_CODE) workspace.write(name, 'text');
    const attempts = RUNS_CODE.map((name) => `echo x >> ${name}; rm -f ${name}; cp notes ${name}; mv ${name} moved`);
    const moves =
      'mv sub s2; mv sub/deep d2; mv packages p2; mv node_modules n2; mv .venv v2; mv bare.git b2; mv .github g2';
    workspace.write('notes', 'other');
    const disguise =
      'rm -f .venv/pyvenv.cfg; touch sub/pyvenv.cfg packages/pyvenv.cfg packages/a/HEAD; mkdir packages/a/objects packages/a/refs';
    const allowed = RUNS_NO_CODE.map((name) => `echo more >> ${name}`).join('\n');
    await callAll(workspace, [`${attempts.join('\n')}\n${moves}\n${disguise}`, attempts.join('\n'), allowed]);
    for (const name of RUNS_NO_CODE)
      expect([name, readFileSync(join(workspace.dir, name), 'utf8')]).toEqual([name, 'textmore\n']);
    for (const name of RUNS_CODE) {
      if (name.endsWith('.envrc')) continue;
      expect([name, readFileSync(join(workspace.dir, name), 'utf8')]).toEqual([name, 'text']);
    }
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'is not changed in a directory of hooks that a repository names', async () => {
    const workspace = createWorkspace();
    for (const [root, value] of Object.entries({ '.': 'scripts/hooks', 'packages/a': '"tools/my hooks" # ours' })) {
      execFileSync('git', ['init', '-q', join(workspace.dir, root)], { env: workspace.env });
      writeFileSync(join(workspace.dir, root, '.git', 'config'), `[core]\n\thooksPath = ${value}\n`);
    }
    const hooks = ['scripts/hooks/pre-commit', 'packages/a/tools/my hooks/pre-push'];
    for (const name of [...hooks, 'scripts/other']) workspace.write(name, 'text');
    const attempts = hooks.map((name) => `echo x >> '${name}'; rm -f '${name}'; mv '${dirname(name)}' moved`);
    await callAll(workspace, [`${attempts.join('\n')}\nmv scripts s2; mv packages/a/tools t2; echo x > scripts/other`]);
    for (const name of hooks) expect(readFileSync(join(workspace.dir, name), 'utf8')).toBe('text');
    expect(readFileSync(join(workspace.dir, 'scripts/other'), 'utf8')).toBe('x\n');
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'is not changed in a workdir that is a bare repository', async () => {
    const workspace = createWorkspace();
    execFileSync('git', ['init', '-q', '--bare', workspace.dir], { env: workspace.env });
    const before = readFileSync(join(workspace.dir, 'config'), 'utf8');
    const attempt = 'echo x >> config; echo x > hooks/post-receive; echo x > commondir; rm -f HEAD; mv hooks h';
    await callAll(workspace, [attempt, attempt]);
    expect(readFileSync(join(workspace.dir, 'config'), 'utf8')).toBe(before);
    const exists = ['HEAD', 'hooks', 'hooks/post-receive', 'commondir'].map((name) =>
      existsSync(join(workspace.dir, name)),
    );
    expect(exists).toEqual([true, true, false, false]);
    workspace.config('[sandbox.table]\nwrite = ["."]\n');
    await callAll(workspace, ['echo x > made'], 'table');
    expect(existsSync(join(workspace.dir, 'made'))).toBe(true);
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'is not changed through a link to it', async () => {
    const workspace = createWorkspace();
    const links = {
      '.agents/skills': '../own/skills',
      '.agents/tools/report': '../../scripts/report.sh',
      'skills/foo': '../packages/foo',
      'packages/foo/scripts/run': '../../../shared/run',
      '.vscode/tasks.json': '../conf/tasks.json',
      '.claude/node_modules': '../node_modules',
      '.git/hooks/pre-commit': '../../scripts/hook.sh',
      'bare.git/hooks': '../shared-hooks',
    };
    const files = [
      ...['own/skills/a/SKILL.md', 'scripts/report.sh', 'scripts/hook.sh', 'packages/foo/tools.json', 'shared/run'],
      ...['conf/tasks.json', 'shared-hooks/update'],
    ];
    const repository = ['.git', 'bare.git'].flatMap((name) => [`${name}/HEAD`, `${name}/objects/x`, `${name}/refs/x`]);
    for (const name of [...files, ...repository]) workspace.write(name, 'text');
    const others = ['node_modules/a/cache', 'scripts/other', 'shared/other'];
    for (const name of others) workspace.write(name, 'text');
    for (const [name, target] of Object.entries(links)) {
      mkdirSync(dirname(join(workspace.dir, name)), { recursive: true });
      symlinkSync(target, join(workspace.dir, name));
    }
    const attempts = files.map((name) => `echo x >> ${name}; rm -f ${name}; mv $(dirname ${name}) moved`);
    const additions = 'echo x > packages/foo/new; mkdir own/skills/b; echo x > shared-hooks/new';
    const allowed = others.map((name) => `echo more >> ${name}`).join('\n');
    await callAll(workspace, [`${attempts.join('\n')}\n${additions}\n${allowed}`]);
    const read = (name: string) => [name, readFileSync(join(workspace.dir, name), 'utf8')];
    expect(files.map(read)).toEqual(files.map((name) => [name, 'text']));
    expect(others.map(read)).toEqual(others.map((name) => [name, 'textmore\n']));
    const added = ['packages/foo/new', 'own/skills/b', 'shared-hooks/new'];
    expect(added.filter((name) => existsSync(join(workspace.dir, name)))).toEqual([]);
    workspace.config('[sandbox.table]\nwrite = [".", "scripts/report.sh"]\n');
    await callAll(workspace, ['echo x > scripts/report.sh; echo x > scripts/hook.sh || true'], 'table');
    expect(['scripts/report.sh', 'scripts/hook.sh'].map(read)).toEqual([
      ['scripts/report.sh', 'x\n'],
      ['scripts/hook.sh', 'text'],
    ]);
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'is reported if it is a link that appears, wherever it leads', async () => {
    const workspace = createWorkspace();
    workspace.write('plain/a', '');
    workspace.write('.agents/tools/first', '');
    workspace.write('scripts/report.sh', 'text');
    symlinkSync('scripts', join(workspace.dir, 'link'));
    symlinkSync('../../link/report.sh', join(workspace.dir, '.agents/tools/report'));
    const targets = { '.vscode': '~/.ssh', '.idea': '/nonexistent/x', '.cursor': '/usr/share', '.zed': 'missing' };
    const links = Object.entries({ ...targets, skills: 'plain', tools: 'missing' });
    const toolbox = workspace.toolbox();
    const call = async (body: string) => {
      workspace.script('attack', shellScript(`${body}\ntrue`, '@sandbox workdir'));
      const { meta, error } = await toolbox.call('attack', {});
      expect(error).toBeUndefined();
      return [...(meta.sandboxLeft ?? [])].sort();
    };
    const inWorkdir = (names: readonly string[]) => names.map((name) => join(workspace.dir, name)).sort();
    const made = links.map(([name, target]) => `ln -s ${target} ${name}`).join('\n');
    expect(await call(made)).toEqual(inWorkdir(links.map(([name]) => name)));
    expect(await call('mkdir missing')).toEqual(inWorkdir(['.zed', 'tools']));
    expect(await call('touch x')).toEqual([]);
    // A link on the way cannot be protected.
    expect(await call('rm link; mkdir link; echo evil > link/report.sh')).toEqual(inWorkdir(['.agents/tools/report']));
    expect(await call('touch HEAD; mkdir objects refs')).toEqual([workspace.dir]);
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'is reported if it appears during a call', async () => {
    const workspace = createWorkspace();
    workspace.write('AGENTS.md', 'text');
    symlinkSync('AGENTS.md', join(workspace.dir, 'CLAUDE.md'));
    const names = ['.vscode/tasks.json', 'x/y/.git/hooks/pre-commit', 'x/GEMINI.md', 'v/pyvenv.cfg', 'v/bin/python'];
    const body = [...names, 'plain'].map((name) => `mkdir -p $(dirname ${name}); echo x > ${name}`);
    workspace.script('attack', shellScript(`${body.join('\n')}\nrm CLAUDE.md; echo x > CLAUDE.md`, '@sandbox workdir'));
    const result = await workspace.toolbox().call('attack', {});
    const expected = ['.vscode', 'CLAUDE.md', 'v/bin', 'v/pyvenv.cfg', 'x/GEMINI.md', 'x/y/.git'].map((name) =>
      join(workspace.dir, name),
    );
    expect([...(result.meta.sandboxLeft ?? [])].sort()).toEqual(expected.sort());
    for (const path of expected) expect(textOf(result)).toContain(path);
    // The same call changes nothing more.
    expect((await workspace.toolbox().call('attack', {})).meta.sandboxLeft).toBeUndefined();
    rmSync(join(workspace.dir, '.vscode'), { recursive: true });
    workspace.script('attack', shellScript('mkdir .vscode; echo made', '@sandbox workdir'));
    const run = await wield(workspace, ['call', 'attack']);
    expect([run.stdout, run.stderr]).toEqual(['made\n', expect.stringContaining(join(workspace.dir, '.vscode'))]);
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-75', 'can be written where a table names its packages', async () => {
    const workspace = createWorkspace();
    for (const name of ['node_modules/.bin/run', '.venv/bin/run', 'sub/.git/config']) workspace.write(name, 'text');
    workspace.write('.venv/pyvenv.cfg', '');
    workspace.config('[sandbox.build]\nwrite = [".", "node_modules", ".venv"]\n');
    const install =
      'rm -rf node_modules/.bin; mkdir node_modules/.bin; echo x > .venv/bin/new; mv .venv/bin/run .venv/bin/r';
    await callAll(workspace, [install, 'echo x >> sub/.git/config'], 'build');
    expect(existsSync(join(workspace.dir, 'node_modules/.bin/run'))).toBe(false);
    expect(existsSync(join(workspace.dir, '.venv/bin/new'))).toBe(true);
    expect(readFileSync(join(workspace.dir, 'sub/.git/config'), 'utf8')).toBe('text');
  });
});
