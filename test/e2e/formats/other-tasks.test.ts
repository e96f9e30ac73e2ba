// Tasks of Task, Deno, Composer, Poe the Poet, PDM and mise.

import { describe, expect } from 'vitest';
import type { JsonObject } from '../../../src/index.js';
import { spec } from '../../support/spec.js';
import { createTasks, type TaskWorkspace } from '../../support/tasks.js';

async function read(workspace: TaskWorkspace): Promise<{ tools: string[][]; problems: string[] }> {
  const toolbox = workspace.toolbox();
  const tools = (await toolbox.list()).map(({ name, description, input }) => [
    name,
    description,
    Object.keys(input.json.properties ?? {}).join(),
  ]);
  return { tools, problems: (await toolbox.catalog.problems()).map(({ message }) => message) };
}

async function codeOf(workspace: TaskWorkspace, tool: string, input: JsonObject): Promise<string | undefined> {
  return (await workspace.toolbox().call(tool, input)).error?.code;
}

describe.concurrent('other files of tasks', () => {
  spec('TSK-11 TSK-4 TSK-6', 'Taskfile.yml', async () => {
    const text = `version: '3'
includes: { docs: ./docs }
vars: { OUT: dist }
tasks:
  default: echo hi
  build:
    desc: Build it
    summary: |
      Long.
    vars: { MODE: '{{.MODE | default "dev"}}', DIR: '{{.OUT}}/x' }
    cmds: [go build -o {{.MODE}} {{.CLI_ARGS}}]
  'docs:serve': [a, b]
  'run:*': { cmds: [x] }
  ask: { prompt: Sure?, cmds: [x] }
  hidden: { internal: true, cmds: [x] }
  ship:
    requires: { vars: [VERSION, { name: ENV, enum: [dev, prod] }] }
    cmds: ['echo {{.VERSION}}']
`.replace('[go build -o {{.MODE}} {{.CLI_ARGS}}]', "['go build -o {{.MODE}} {{.CLI_ARGS}}']");
    const workspace = createTasks({ 'Taskfile.yml': text }, '["Taskfile.yml"]');
    expect(await read(workspace)).toEqual({
      tools: [
        ['task-build', 'Build it', 'MODE,args'],
        ['task-default', 'Run task default', ''],
        ['task-docs-serve', 'Run task docs:serve', ''],
        ['task-ship', 'Run task ship', 'VERSION,ENV'],
      ],
      problems: [
        'tasks of included files are left out: docs',
        'left out: run:*: a pattern, not a name',
        'left out: ask: it asks for confirmation at a terminal',
      ],
    });
    expect(await workspace.plan('task-build', { args: ['-v', 'x'] })).toEqual(['task', 'build', '--', '-v', 'x']);
    expect(await workspace.plan('task-ship', { VERSION: '1.0', ENV: 'dev' })).toEqual([
      'task',
      'ship',
      'VERSION=1.0',
      'ENV=dev',
    ]);
    for (const [VERSION, ENV] of [
      ['1', null],
      ['$(id)', 'dev'],
      ['1', 'other'],
    ] as const)
      expect(await codeOf(workspace, 'task-ship', { VERSION, ENV })).toBe('invalid_input');
    const broken = createTasks({ 'Taskfile.yml': 'tasks:\n  a: [\n' }, '["Taskfile.yml"]');
    expect((await read(broken)).problems).toEqual([expect.stringContaining('is not valid YAML')]);
  });

  spec('TSK-11 TSK-6', 'CLI_ARGS of Task may be any text only where they certainly stay words', async () => {
    const withTasks = (tasks: string, rest = ''): string => `version: '3'\n${rest}tasks:\n${tasks}`;
    const plain = '  say: { cmds: [\'echo {{.CLI_ARGS}} "x"\'] }\n';
    const codeWith = (text: string, args: string[]): Promise<string | undefined> =>
      codeOf(createTasks({ 'Taskfile.yml': text }, '["Taskfile.yml"]'), 'task-say', { args });
    for (const text of [
      withTasks(plain),
      withTasks('  say: echo --all={{ .CLI_ARGS }}\n'),
      withTasks('  say:\n    cmds:\n      - task: other\n      - cmd: echo {{.CLI_ARGS}}\n  other: [a]\n'),
    ])
      expect([text, await codeWith(text, ['$(id)', "it's", '-v'])]).toEqual([text, undefined]);
    for (const text of [
      withTasks(`  say: { cmds: ['echo "{{.CLI_ARGS}}"'] }\n`),
      withTasks(`  say: { cmds: ["echo '{{.CLI_ARGS}}'"] }\n`),
      withTasks('  say: { cmds: [\'echo {{join " " .CLI_ARGS_LIST}} {{.CLI_ARGS}}\'] }\n'),
      withTasks("  say: { cmds: ['sh -c {{.CLI_ARGS}}'] }\n"),
      withTasks('  say:\n    cmds:\n      - |\n        cat <<EOF\n        {{.CLI_ARGS}}\n        EOF\n'),
      withTasks("  say: { vars: { A: '{{.CLI_ARGS}}' }, cmds: ['echo {{.A}}'] }\n"),
      withTasks(`${plain}  other: { cmds: ['echo "{{.CLI_ARGS}}"'] }\n`),
      withTasks(plain, "vars: { A: '{{.CLI_ARGS}}' }\n"),
      withTasks(plain, 'includes: { docs: ./docs }\n'),
    ]) {
      expect([text, await codeWith(text, ['$(id)'])]).toEqual([text, 'invalid_input']);
      expect([text, await codeWith(text, ['-v', 'two words'])]).toEqual([text, undefined]);
    }
  });

  spec('TSK-11 TSK-6', 'deno.json', async () => {
    const text = `{
  // Comments are allowed.
  "tasks": {
    "dev": "deno run --watch main.ts",
    "check": { "description": "Check it", "command": "deno check", },
    "all": { "dependencies": ["check"] },
    "odd": 3,
  },
}`;
    const workspace = createTasks({ 'deno.jsonc': text }, '["deno.jsonc"]');
    expect(await read(workspace)).toEqual({
      tools: [
        ['deno-all', 'Run deno task all', 'args'],
        ['deno-check', 'Check it', 'args'],
        ['deno-dev', 'Run deno run --watch main.ts', 'args'],
      ],
      problems: ['left out: odd: it has no command'],
    });
    expect(await workspace.plan('deno-check', { args: ['--all', 'a b'] })).toEqual([
      'deno',
      'task',
      'check',
      '--all',
      'a b',
    ]);
    for (const arg of ['$(id)', '\\"; id #', 'a`b`', 'x\\'])
      expect(await codeOf(workspace, 'deno-check', { args: [arg] })).toBe('invalid_input');
    const broken = createTasks({ 'deno.json': '{"tasks": {"a" "b"}}' }, '["deno.json"]');
    expect((await read(broken)).problems).toEqual([expect.stringContaining('is not valid JSON')]);
  });

  spec('TSK-11', 'composer.json', async () => {
    const document = {
      scripts: {
        test: ['@lint', 'phpunit'],
        lint: 'phpcs',
        'post-install-cmd': 'x',
        'post-autoload-dump': ['x'],
        odd: 3,
      },
      'scripts-descriptions': { lint: 'Check the style' },
    };
    const workspace = createTasks({ 'composer.json': JSON.stringify(document) }, '["composer.json"]');
    expect(await read(workspace)).toEqual({
      tools: [
        ['composer-lint', 'Check the style', 'args'],
        ['composer-test', 'Run @lint && phpunit', 'args'],
      ],
      problems: ['left out: odd: not a string or a list of strings'],
    });
    expect(await workspace.plan('composer-test', { args: ['--filter', 'x'] })).toEqual([
      ...['composer', 'run-script', 'test', '--', '--filter', 'x'],
    ]);
    expect(await workspace.plan('composer-test', {})).toEqual(['composer', 'run-script', 'test']);
  });

  spec('TSK-11 TSK-6', 'pyproject.toml', async () => {
    const text = `[project]
name = "x"
[tool.poe.tasks]
test = "pytest"
_hidden = "x"
all = ["test", "serve"]
[tool.poe.tasks.serve]
help = "Serve it"
script = "app:run"
args = [
  { name = "host", options = ["-h", "--host"], default = "localhost", help = "Where" },
  { name = "port", type = "integer" },
  { name = "verbose", type = "boolean" },
  { name = "files", positional = true, multiple = true },
]
[tool.poe.tasks.flag]
cmd = "x"
args = [{ name = "yes", type = "boolean", required = true }]
[tool.poe.tasks.table.args.who]
positional = true
[tool.pdm.scripts]
_ = { env_file = ".env" }
lint = "ruff check"
docs = { shell = "mkdocs build | tee x", help = "Build the docs" }
`;
    const workspace = createTasks({ 'pyproject.toml': text }, '["pyproject.toml"]');
    expect(await read(workspace)).toEqual({
      tools: [
        ['pdm-docs', 'Build the docs', 'args'],
        ['pdm-lint', 'Run ruff check', 'args'],
        ['poe-all', 'Run poe all', 'args'],
        ['poe-serve', 'Serve it', 'host,port,files'],
        ['poe-table', 'Run poe table', 'who'],
        ['poe-test', 'Run pytest', 'args'],
      ],
      problems: ['left out: flag: its argument "yes" cannot be passed'],
    });
    expect(await workspace.plan('poe-serve', { files: ['a', 'b'], port: 80, host: '-x' })).toEqual([
      ...['poe', 'serve', '--host=-x', '--port=80', 'a', 'b'],
    ]);
    expect(await workspace.plan('pdm-docs', { args: ['-q'] })).toEqual(['pdm', 'run', 'docs', '-q']);
    expect(await codeOf(workspace, 'pdm-docs', { args: ['$(id)'] })).toBe('invalid_input');
    expect(await codeOf(workspace, 'poe-table', {})).toBe('invalid_input');
    const broken = createTasks({ 'pyproject.toml': '[tool\n' }, '["pyproject.toml"]');
    expect((await read(broken)).problems).toEqual([expect.stringContaining('is not valid TOML')]);
  });

  spec('TSK-11 TSK-6 TSK-5', 'mise.toml and its task directories', async () => {
    const text = `[tools]
node = "22"
[tasks]
lint = "eslint ."
[tasks.build]
description = "Build it"
run = ["a", "b"]
[tasks.secret]
hide = true
run = "x"
[tasks.drop]
confirm = "Sure?"
run = "x"
`;
    const workspace = createTasks({ 'app/mise.toml': text, 'app/.mise/tasks/notes.md': 'x' }, '["app/mise.toml"]');
    workspace.write('app/.mise/tasks/db/migrate.sh', '#!/bin/sh\n#MISE description="Migrate it"\necho\n', 0o755);
    workspace.write('app/mise-tasks/old', '#!/bin/sh\n# mise hide=true\n', 0o755);
    expect(await read(workspace)).toEqual({
      tools: [
        ['mise-app-build', 'Build it', 'args'],
        ['mise-app-db-migrate', 'Migrate it', 'args'],
        ['mise-app-lint', 'Run eslint .', 'args'],
      ],
      problems: ['left out: drop: it asks for confirmation at a terminal'],
    });
    expect(await workspace.plan('mise-app-lint', { args: ['--fix'] })).toEqual(['mise', 'run', 'lint', '--', '--fix']);
    expect(await codeOf(workspace, 'mise-app-lint', { args: [':::', 'build'] })).toBe('invalid_input');
    const toolbox = workspace.toolbox();
    const { plan } = await toolbox.plan('mise-app-db-migrate', {});
    expect(plan).toMatchObject({ argv: ['mise', 'run', 'db:migrate'], cwd: `${workspace.dir}/app` });
    const before = (await toolbox.find('mise-app-db-migrate')).origin.digest;
    workspace.write('app/.mise/tasks/db/migrate.sh', '#!/bin/sh\n#MISE description="Migrate it"\necho other\n', 0o755);
    expect((await toolbox.find('mise-app-db-migrate')).origin.digest).not.toBe(before);
    workspace.write('app/.mise/tasks/fresh', '#!/bin/sh\n', 0o755);
    expect((await toolbox.list()).map(({ name }) => name)).toContain('mise-app-fresh');
  });

  spec('TSK-11 TSK-5', 'a task directory of mise without a mise.toml', async () => {
    const workspace = createTasks({ 'other/tasks/x': '' }, '[".mise/tasks", "api/.config/mise/tasks", "other/tasks"]');
    workspace.write('.mise/tasks/build', '#!/bin/sh\n#MISE description="Build it"\n', 0o755);
    workspace.write('api/.config/mise/tasks/db/_default', '#!/bin/sh\n', 0o755);
    expect(await read(workspace)).toEqual({
      tools: [
        ['mise-build', 'Build it', 'args'],
        ['mise-api-db', 'Run mise run db', 'args'],
      ],
      problems: ['is not a directory of tasks'],
    });
    const toolbox = workspace.toolbox();
    expect((await toolbox.plan('mise-build', {})).plan).toMatchObject({
      argv: ['mise', 'run', 'build'],
      cwd: workspace.dir,
    });
    expect((await toolbox.plan('mise-api-db', {})).plan).toMatchObject({
      argv: ['mise', 'run', 'db'],
      cwd: `${workspace.dir}/api`,
    });
    expect((await toolbox.find('mise-build')).origin).toMatchObject({ format: 'mise', owner: 'workspace' });
    workspace.write('.mise/tasks/lint', '#!/bin/sh\n', 0o755);
    workspace.write('.mise/tasks/build', '#!/bin/sh\n#MISE description="Build all"\n', 0o755);
    expect((await toolbox.list()).map(({ description }) => description)).toEqual([
      'Build all',
      'Run mise run lint',
      'Run mise run db',
    ]);
  });
});
