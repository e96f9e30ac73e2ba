// Tests of `wield init` in repositories that have tasks, scripts and servers.

import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { hasProgram } from '../../support/machine.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';
import { createTasks, type TaskWorkspace } from '../../support/tasks.js';

const scripts = (names: readonly string[]): string =>
  JSON.stringify({ scripts: Object.fromEntries(names.map((name) => [name, `echo ran`])) });
const NPM = scripts(['test', 'lint:css', 'build', 'typecheck', 'deploy', 'docker:push', 'dev', 'publish-all']);
const MAKE = 'check: ## Check all\n\t@echo checked\n\nclean:\n\trm -rf out\n\ndb-reset:\n\t@echo x\n';
const JUST = '# Run the tests\ntest:\n  echo tested\n\nrelease:\n  echo x\n';
const POE = '[tool.poe.tasks]\ntest = "pytest"\nunit-tests = "pytest -q"\nprune = "echo x"\nfmt = "ruff format"\n';

const REPOSITORIES: Readonly<Record<string, [Record<string, string>, string[]]>> = {
  npm: [{ 'package.json': NPM }, ['npm-build', 'npm-lint-css', 'npm-test', 'npm-typecheck']],
  make: [{ Makefile: MAKE }, ['make-check']],
  just: [{ justfile: JUST }, ['just-test']],
  python: [{ 'pyproject.toml': POE }, ['poe-test', 'poe-unit-tests']],
  mixed: [
    {
      'package.json': NPM,
      Makefile: MAKE,
      justfile: JUST,
      'pyproject.toml': POE,
      'composer.json': '{"scripts":{"test":"phpunit"}}',
    },
    [
      ...['composer-test', 'just-test', 'make-check', 'npm-build', 'npm-lint-css', 'npm-test', 'npm-typecheck'],
      ...['poe-test', 'poe-unit-tests'],
    ],
  ],
};

const configOf = ({ dir }: TaskWorkspace): string => readFileSync(join(dir, '.agents/config.toml'), 'utf8');
const offered = async (workspace: TaskWorkspace): Promise<string[]> =>
  json(await wield(workspace, ['list', '--json'])).tools.map(({ name }: { name: string }) => name);
const linesOf = (text: string): number =>
  text
    .trimEnd()
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0);

describe.concurrent('init in a repository', () => {
  for (const [kind, [files, names]] of Object.entries(REPOSITORIES))
    spec('CLI-39', `offers harmless tasks, on one screen, once: ${kind}`, async () => {
      const workspace = createTasks(files, '');
      const first = await wield(workspace, ['init', '--yes']);
      expect([first.status, first.stderr]).toEqual([0, '']);
      expect(linesOf(first.stdout)).toBeLessThanOrEqual(24);
      expect(first.stdout).toContain('left out: ');
      expect(first.stdout).toMatch(/ in \[tasks\]; include adds more$/m);
      expect((await offered(workspace)).sort()).toEqual(names);
      expect(existsSync(join(workspace.dir, '.agents/tools'))).toBe(false);
      const [, called = ''] = /Try {6}wield call (\S+)/.exec(first.stdout) ?? [];
      if (kind !== 'make' || hasProgram('make')) expect((await wield(workspace, ['call', called])).status).toBe(0);
      expect(json(await wield(workspace, ['explain', called, '--as', 'mcp', '--json'])).verdict).toBe('allow');
      const before = configOf(workspace);
      const second = await wield(workspace, ['init', '--yes']);
      expect(second.stdout).toMatch(/^ {2}exists {3}\.agents\/config\.toml +not changed$/m);
      expect(configOf(workspace)).toBe(before);
      expect(json(await wield(workspace, ['init', '--yes', '--json']))).toMatchObject({ created: [], trusted: true });
      expect(existsSync(join(workspace.dir, '.agents/tools'))).toBe(false);
    });

  spec('CLI-39', 'never offers what deletes, publishes or changes something, in any form or position', async () => {
    const words = [
      'deploy',
      'publish',
      'release',
      'push',
      'clean',
      'prune',
      'drop',
      'reset',
      'delete',
      'rm',
      'wipe',
      'kill',
    ];
    const forms = words.flatMap((word) => {
      const Word = word[0]!.toUpperCase() + word.slice(1);
      const stem = word.replace(/e$/, '');
      return [
        ...[word, `${word}:test`, `test:${word}`, `test-${word}`, `${word}_check`, `build.${word}`, `test${Word}`],
        ...[`${word}Test`, `TEST_${word.toUpperCase()}`, `build:${word}:all:test`, `check:${Word}`, `db-${word}`],
        ...(word.length < 4 || word === 'kill'
          ? []
          : [`test:re${word}`, `test-${stem}ing`, `${word}s-test`, `un${word}:lint`]),
      ];
    });
    const split = [
      'test:de-ploy',
      'test:d_e_p_l_o_y',
      'test:dеploy',
      'test:fix',
      'lint:write',
      'test:watch',
      'db:migrate:test',
    ];
    const bodies = {
      'test:a': 'npm run deploy && vitest',
      'test:b': 'rm -rf x && vitest',
      'test:c': './redeploy.sh',
      'lint:d': 'eslint . --fix',
      'build:e': 'rimraf dist && tsc',
      'test:f': 'vitest',
      'posttest:f': 'wrangler pages',
      'test:g': 'npm run go',
      go: 'gh release create',
      'build:h': 'tsc && npm run test:g',
      'test:i': 'prisma migrate reset --force',
      'check:j': 'node scripts/dbreset.mjs',
    };
    const all = [...forms, ...split];
    const text = {
      scripts: { ...Object.fromEntries(all.map((name) => [name, 'echo x'])), ...bodies, lint: 'eslint .' },
    };
    const workspace = createTasks({ 'package.json': JSON.stringify(text) }, '');
    const run = json(await wield(workspace, ['init', '--yes', '--json']));
    expect(run.offered).toEqual(['npm-lint']);
    expect(await offered(workspace)).toEqual(['npm-lint']);
  });

  spec('CLI-39', 'what a task runs is judged in every file of tasks, also by the tasks that it names', async () => {
    const files: Readonly<Record<string, string>> = {
      Makefile: [
        'test: prepare ## Run all tests\n\t@echo x\n',
        'prepare: _go\n',
        '_go:\n\tkubectl get pods\n',
        'check: ## Check\n\tgit push origin HEAD\n',
        'verify: ## Check, then deploy\n\t@echo x\n',
        'lint:\n\tcargo build --release\n',
      ].join('\n'),
      justfile:
        '# Test\ntest: _go\n  echo x\n\n_go:\n  scp a b:\n\n# Build\nbuild:\n  rm -rf out\n\nlint:\n  eslint .\n',
      'Taskfile.yml':
        'version: "3"\ntasks:\n  test:\n    desc: Test\n    deps: [go]\n  go:\n    internal: true\n    cmds: [docker push x]\n  lint:\n    cmds: [eslint .]\n',
      'deno.json': '{"tasks":{"test":{"description":"Test","command":"deno run redeploy.ts"},"lint":"deno lint"}}',
      'composer.json':
        '{"scripts":{"test":["@go"],"go":"cleanup","lint":"phpcs"},"scripts-descriptions":{"test":"Test"}}',
      'pyproject.toml':
        '[tool.poe.tasks]\n_go = "twine upload"\ntest = { sequence = ["_go"], help = "Test" }\nlint = "ruff check"\n',
      'mise.toml':
        '[tasks.test]\ndescription = "Test"\nrun = ["echo", "terraform apply"]\n[tasks.lint]\nrun = "eslint ."\n',
    };
    const workspace = createTasks(files, '');
    const { offered: names } = json(await wield(workspace, ['init', '--yes', '--json']));
    expect(names.toSorted()).toEqual(
      ['composer', 'deno', 'just', 'make', 'mise', 'poe', 'task'].map((program) => `${program}-lint`),
    );
  });

  spec('CLI-39', 'offers only what runs nothing but known commands and tasks that do', async () => {
    const offeredOf = async (files: Record<string, string>): Promise<string[]> => {
      const run = json(await wield(createTasks(files, ''), ['init', '--yes', '--json']));
      return (run.offered ?? []).toSorted();
    };
    const known = [
      ...[
        'tsc',
        'tsc --noEmit && eslint .',
        'biome check',
        'vitest run',
        'vitest',
        'jest --watch=false',
        'mocha "test/**/*.js"',
      ],
      ...[
        'node --test',
        'node --import tsx --test',
        'node scripts/check.mjs',
        './check.sh',
        'prettier --check .',
        'ruff check',
      ],
      ...[
        'pytest -ra',
        'python -m pytest',
        'uv run mypy src',
        'ruff format --check',
        'cargo test',
        'cargo clippy -- -D warnings',
      ],
      ...[
        'cargo fmt --check',
        'go test ./...',
        'go vet ./... && go build -o x .',
        'vite build',
        'next build',
        'turbo run ok',
      ],
      ...[
        'NODE_ENV=production webpack --mode production',
        'cross-env CI=1 npx playwright test',
        'yarn tsc',
        'run-p ok ok:b',
      ],
      ...['npm run ok && npm run ok:b', 'pnpm ok', 'npm run ok -- --verbose', 'golangci-lint run', 'deno run x.ts'],
    ];
    const unknown = [
      // Does not end.
      ...[
        'webpack --watch',
        'tsc -w',
        'jest --watch',
        'jest --watchAll',
        'nodemon x',
        'vite build && vite preview',
        'next dev',
        'vite',
      ],
      ...['docker compose up', 'tail -f x', 'vitest watch', 'esbuild --servedir=x', 'deno run --watch x.ts'],
      // Changes something.
      ...[
        'black .',
        'gofmt -w .',
        'sed -i s/a/b/ x',
        'cargo fmt',
        'php-cs-fixer fix',
        'vitest run -u',
        'jest --updateSnapshot',
      ],
      ...[
        'composer update',
        'git commit -am wip',
        'git checkout -- .',
        'gh pr merge',
        'aws s3 cp a b',
        'npm version patch',
      ],
      ...[
        'changeset version',
        'alembic downgrade base',
        'docker compose down -v',
        'curl -X POST x',
        'dd of=/dev/sda',
        'prettier .',
      ],
      // Leads to one of these, or cannot be followed.
      ...[
        'run-p bad:*',
        "npm-run-all 'bad:*'",
        'concurrently npm:bad',
        'npm run bad',
        'yarn bad',
        'turbo run bad',
        'npm run none',
      ],
      ...[
        'npm run ok -- --fix',
        'make ok',
        'tsc; $X',
        'tsc $(x)',
        'tsc `x`',
        'tsc > x',
        'tsc & x',
        'tsc | x',
        'tsc "$X"',
        'eval tsc',
      ],
      ...[
        'sh -c tsc',
        'node -e 1',
        'node x',
        'python -c 1',
        '/bin/x',
        '../x.sh',
        'tsc \\',
        '(x)',
        'tsc\nx',
        'npm --prefix a run ok',
      ],
    ];
    const toNames = (start: string, texts: readonly string[]): [string, string][] =>
      texts.map((text, at) => [`test:${start}${at}`, text]);
    const entries = [...toNames('a', known), ...toNames('z', unknown)];
    const fixed = { ok: 'echo ok', 'ok:b': 'tsc', bad: 'x', 'bad:b': 'x' };
    const scripts = Object.fromEntries([...entries, ...Object.entries(fixed)]);
    const found = await offeredOf({ 'package.json': JSON.stringify({ scripts }) });
    expect(entries.filter(([name]) => found.includes(`npm-${name.replace(':', '-')}`)).map(([, text]) => text)).toEqual(
      known,
    );
    const makefile = (text: string): Record<string, string> => ({ Makefile: text.replaceAll('    ', '\t') });
    const followed: Record<string, string>[] = [
      makefile(
        'GO ?= go\nGOTEST = $(GO) test\nDEPS = other main.go\ntest: $(DEPS)\n    @$(GOTEST) ./...\nother:\n    $(MAKE) last\nlast:\n    echo x\n',
      ),
      { justfile: 'test: other\n    @tsc # all\n\nother:\n    just last\n\nlast:\n    echo x\n' },
      {
        'Taskfile.yml':
          'version: "3"\ntasks:\n  test: { deps: [other], cmds: [tsc, { task: ":last" }] }\n  other: tsc\n  last: task other\n',
      },
      {
        'mise.toml':
          '[tasks.test]\nrun = "tsc"\ndepends = ["other"]\n[tasks.other]\nrun = "mise run last"\n[tasks.last]\nrun = "tsc"\n',
      },
      {
        'deno.json':
          '{"tasks":{"test":{"command":"deno test","dependencies":["other"]},"other":"deno task last","last":"deno check"}}',
      },
      {
        'composer.json': '{"scripts":{"test":["@other","phpunit"],"other":"@last","last":"phpcs"}}',
      },
      { 'pyproject.toml': '[tool.poe.tasks]\ntest = ["other"]\nother.cmd = "poe last"\nlast = "pytest"\n' },
      {
        'pyproject.toml':
          '[tool.pdm.scripts]\ntest = { composite = ["other"] }\nother = "pdm run last"\nlast = "pytest"\n',
      },
    ];
    for (const files of followed) {
      const names = (await offeredOf(files)).map((name) => name.replace(/^\w+-/, ''));
      expect([files, names]).toEqual([files, ['test']]);
      // The last one of a chain.
      const broken = Object.entries(files).map(([file, text]) => {
        const at = text.lastIndexOf('last');
        return [
          file,
          text.slice(0, at) + text.slice(at).replace(/echo x|tsc|task other|deno check|phpcs|pytest/, 'terra x'),
        ];
      });
      expect([broken, await offeredOf(Object.fromEntries(broken))]).toEqual([broken, []]);
    }
    for (const files of [
      makefile('test: $(DEPS)\n    echo x\n'),
      makefile('DEPS = other\ntest: $(DEPS)\n    echo x\nother:\n    x\n'),
      makefile('FIX = echo x && x\ntest:\n    @$(FIX)\n'),
      makefile('test: check-a\n    echo x\ncheck-%:\n    x $@\n'),
      makefile('test: out/x.txt\n    echo x\n$(OUT):\n    x\n'),
      makefile('test:\n    echo x\nifdef CI\n    x\nendif\n'),
      makefile('test: none\n    echo x\n'),
      { justfile: 'test: (other "x")\n    tsc\n\nother a:\n    echo {{a}}\n' },
      { justfile: 'test:\n    #!/bin/sh\n    x\n' },
      { 'Taskfile.yml': 'tasks:\n  test: { vars: { CMD: x }, cmds: ["{{.CMD}}"] }\n' },
      { 'Taskfile.yml': 'tasks:\n  test: { watch: true, cmds: [tsc] }\n' },
      { 'Taskfile.yml': 'tasks:\n  test: { cmds: [{ task: ":other" }] }\n  other: x\n' },
      { 'mise.toml': '[tasks.test]\nrun = "tsc"\ndepends = ["oth*"]\n[tasks.other]\nrun = "x"\n' },
      { 'deno.json': '{"tasks":{"test":"deno task \'oth*\'","other":"x"}}' },
      { 'composer.json': '{"scripts":{"test":"App\\\\Run::all"}}' },
      { 'pyproject.toml': '[tool.poe.tasks.test]\nscript = "app:run"\n' },
      { 'pyproject.toml': '[tool.pdm.scripts]\ntest = "pytest"\npre_test = "x"\n' },
    ])
      expect([files, await offeredOf(files)]).toEqual([files, []]);
  });

  spec('CLI-39', 'the first call that it proposes is a check that can run here', async () => {
    const make = 'build: ## Build\n\t@echo x\n\ntest:\n\t@echo x\n\nlint:\n\t@echo x\n';
    const both = createTasks({ Makefile: make, 'deno.json': '{"tasks":{"check":"deno check"}}' }, '');
    expect((await wield(both, ['init', '--yes'])).stdout).toMatch(/Try {6}wield call (?:make-lint|deno-check)\n/);
    const env = { ...both.env, PATH: '/nonexistent' };
    const none = createTasks({ 'deno.json': '{"tasks":{"build":"tsc","check":"deno check"}}' }, '');
    const { stdout } = await wield({ ...none, env: { ...none.env, PATH: env.PATH } }, ['init', '--yes']);
    expect(stdout).toMatch(/Try {6}wield call deno-check {3}needs deno, which is not installed\n/);
  });

  spec('CLI-39 TSK-3', 'a task that several files lead to is shown once', async () => {
    const workspace = createTasks({ 'mise.toml': '[tasks.build]\nrun = "tsc"\n', '.mise.toml': '' }, '');
    workspace.write('.mise/tasks/lint', '#!/bin/sh\n', 0o755);
    workspace.write('.mise/tasks/build', '#!/bin/sh\n', 0o755);
    expect(json(await wield(workspace, ['init', '--yes', '--json'])).offered.toSorted()).toEqual([
      'mise-build',
      'mise-lint',
    ]);
    workspace.write('.agents/config.toml', '[tasks]\nfrom = ["mise.toml", ".mise.toml", ".mise/tasks"]\n');
    const { tools, shadowed } = json(await wield(workspace, ['list', '--all', '--json']));
    expect([tools.length, shadowed ?? []]).toEqual([2, []]);
  });

  spec('CLI-39', 'a name that would include a task of that name is not offered', async () => {
    const workspace = createTasks(
      { Makefile: 'test:\n\t@echo x\n', 'package.json': '{"scripts":{"make-test":"npm publish","lint":"eslint ."}}' },
      '',
    );
    await wield(workspace, ['init', '--yes']);
    expect(await offered(workspace)).toEqual(['npm-lint']);
  });

  spec('CLI-39 CLI-31', 'without a terminal and --yes it shows tasks, and offers none', async () => {
    const workspace = createTasks({ 'package.json': NPM }, '');
    const dry = await wield(workspace, ['init', '--yes', '--dry-run']);
    expect(dry.stdout).toMatch(/offers npm-test.*\n[\s\S]*create {3}\.agents\/config\.toml/);
    expect(existsSync(join(workspace.dir, '.agents'))).toBe(false);
    const run = await wield(workspace, ['init'], { stdin: 'y\n' });
    expect(run.stderr).toBe('');
    expect(run.stdout).toMatch(/could offer: npm-test[\s\S]*wield init --yes/);
    expect(await offered(workspace)).toEqual(['hello']);
    const later = await wield(workspace, ['init', '--yes']);
    expect(later.stdout).toMatch(/changed {2}\.agents\/config\.toml/);
    expect(configOf(workspace)).toMatch(
      /^#:schema .*\n# Settings of this workspace[\s\S]*\n\[tasks\]\nfrom = \["package\.json"\]\n/,
    );
    expect(await offered(workspace)).toEqual(['hello', 'npm-build', 'npm-lint-css', 'npm-test', 'npm-typecheck']);
    expect(json(await wield(workspace, ['trust', '--list', '--json'])).workspaces).toHaveLength(1);
  });

  spec('CLI-39', 'keeps a configuration, and does not change one with [tasks] or an error', async () => {
    const own = '# mine\r\nrepair = false # why\r\n';
    const workspace = createTasks({ 'package.json': NPM }, own);
    await wield(workspace, ['init', '--yes']);
    expect(configOf(workspace).startsWith(own)).toBe(true);
    expect(await offered(workspace)).toHaveLength(4);
    for (const [text, status] of [
      ['[tasks]\nexclude = ["x"]\n', 0],
      ['[tasks\n', 2],
    ] as const) {
      workspace.write('.agents/config.toml', text);
      const run = await wield(workspace, ['init', '--yes']);
      expect([text, run.status === 0, configOf(workspace)]).toEqual([text, status === 0, text]);
      if (status !== 0) expect(run.stderr).toContain('fix the file, then run: wield init');
    }
  });

  spec('CLI-39', 'says how to offer tasks if it offers none', async () => {
    const workspace = createTasks({ 'package.json': '{"scripts":{"test":"x"}}' }, '');
    const { stdout } = await wield(workspace, ['init', '--yes']);
    expect(stdout).toMatch(/left out: npm-test\n[\s\S]*Offer {4}wield init {3}at a terminal/);
  });

  spec('CLI-39', 'does not write through a link out of the workspace', async () => {
    const file = createTasks({ 'package.json': NPM }, '');
    const directory = createTasks({ 'package.json': NPM }, '');
    const target = join(file.home, 'config.toml');
    writeFileSync(target, '# user\n');
    mkdirSync(join(file.dir, '.agents'));
    symlinkSync(target, join(file.dir, '.agents/config.toml'));
    mkdirSync(join(directory.home, 'other'));
    symlinkSync(join(directory.home, 'other'), join(directory.dir, '.agents'));
    for (const workspace of [file, directory]) {
      const run = await wield(workspace, ['init', '--yes']);
      expect([run.status === 0, run.stderr]).toEqual([false, expect.stringContaining('leads out of')]);
    }
    expect(readFileSync(target, 'utf8')).toBe('# user\n');
    expect(existsSync(join(directory.home, 'other/config.toml'))).toBe(false);
  });

  spec('CLI-39', 'shows scripts with a header and servers of clients, with commands that add them', async () => {
    const workspace = createTasks({ '.cursor/mcp.json': '{"mcpServers":{"x":{"command":"ls"}}}' }, '');
    workspace.write('scripts/check-all.sh', '#!/bin/sh\n# @description Check all.\necho checked\n', 0o755);
    workspace.write('scripts/plain.sh', '#!/bin/sh\necho x\n', 0o755);
    workspace.write('bin/other', '#!/bin/sh\n# @description Not executable.\n');
    const run = await wield(workspace, ['init']);
    expect(run.stdout).toContain('1 server in .cursor/mcp.json wield mcp import cursor --scope project');
    const [, source = '', link = ''] = /1 script in scripts\/ +ln -s (\S+) (\S+)/.exec(run.stdout) ?? [];
    symlinkSync(source, join(workspace.dir, link));
    expect(await offered(workspace)).toEqual(['check-all', 'hello']);
    expect((await wield(workspace, ['init'])).stdout).not.toContain('script in');
  });

  specIf(hasPty, NO_PTY, 'CLI-39', 'at a terminal, offers what is chosen from the list', async () => {
    const answer = async (text: string): Promise<[TaskWorkspace, string]> => {
      const workspace = createTasks({ 'package.json': NPM }, '');
      const { screen } = await wieldAtTerminal(workspace, ['init'], { answers: [['to switch: ', text]] });
      return [workspace, screen];
    };
    const [[chosen, screen], [none], [ended]] = await Promise.all([
      answer('1 npm-deploy\n'),
      answer('\n'),
      answer('\u0004'),
    ] as const);
    expect(screen).toMatch(/ 1 \[x\] npm-test[\s\S]* \[ \] npm-deploy/);
    expect(linesOf(screen)).toBeLessThanOrEqual(24);
    expect((await offered(chosen)).sort()).toEqual(['npm-build', 'npm-deploy', 'npm-lint-css', 'npm-typecheck']);
    for (const workspace of [none, ended]) expect(await offered(workspace)).toEqual(['hello']);
  });
});
