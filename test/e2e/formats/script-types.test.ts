// Script parameters with choices, ranges, items and defaults, and scripts of other authors, through the doors.

import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { finding } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

const BUILD = `#!/usr/bin/env bash
# @description Build the site.
# @param mode enum(fast|slow)=fast  How thoroughly
# @param jobs integer(1..10)=3      Processes
# @param *files string[1..]         What to build
# @param levels enum(info|debug)[]  What to log
# @param ratio number(0..)          Part
# @param label string(1..8)         Name
printf '%s %s %s|' "$WIELD_PARAM_MODE" "$OCTOMIND_PARAM_JOBS" "$WIELD_PARAM_FILES"
cat
`;

function createBuild(): Workspace {
  const workspace = createWorkspace();
  workspace.script('build', BUILD);
  return workspace;
}

describe('types of parameters', () => {
  finding('N8 SCR-26 SCR-8', 'are published to a model as JSON Schema', async () => {
    const workspace = createBuild();
    const client = await connectStdio(workspace, 'newer');
    const { tools } = await client.listTools();
    const build = tools.find(({ name }) => name === 'build');
    expect(build?.inputSchema).toEqual({
      type: 'object',
      properties: {
        mode: { type: 'string', enum: ['fast', 'slow'], default: 'fast', description: 'How thoroughly' },
        jobs: { type: 'integer', minimum: 1, maximum: 10, default: 3, description: 'Processes' },
        files: { type: 'array', items: { type: 'string' }, minItems: 1, description: 'What to build' },
        levels: { type: 'array', items: { type: 'string', enum: ['info', 'debug'] }, description: 'What to log' },
        ratio: { type: 'number', minimum: 0, description: 'Part' },
        label: { type: 'string', minLength: 1, maxLength: 8, description: 'Name' },
      },
      required: ['files'],
    });
    const called = await client.callTool({ name: 'build', arguments: { files: ['a'], mode: 'slow' } });
    expect(JSON.stringify(called.content)).toContain('slow 3');
  });

  finding('N8 SCR-27', 'fill in defaults for the variable, stdin and the rules', async () => {
    const workspace = createBuild();
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('build', { files: ['a', 'b'] }))).toBe(
      'fast 3 ["a","b"]|{"files":["a","b"],"mode":"fast","jobs":3}',
    );
    workspace.config('[trust]\nrules = ["build(mode=fast,$policy=deny)"]\n');
    expect((await workspace.toolbox().call('build', { files: ['a'] })).error?.code).toBe('denied');
    expect((await workspace.toolbox().call('build', { files: ['a'], mode: 'slow' })).ok).toBe(true);
  });

  const refused: [string[], string][] = [
    [['--mode', 'fest', 'x'], 'mode must be one of "fast", "slow"'],
    [['--jobs', '11'], 'jobs must be'],
    [['--jobs', '1.5'], 'jobs must be'],
    [['--levels', 'loud'], 'levels/0 must be one of'],
    [['--label', ''], 'label must be'],
    [['--ratio', '-1'], 'ratio must be'],
  ];
  for (const [flags, message] of refused) {
    finding('N8 SCR-26 SCR-9', `${flags.join(' ')} is refused before anything runs`, async () => {
      const run = await wield(createBuild(), ['call', 'build', '--files', 'a', ...flags.slice(0, 2)]);
      expect(run.status).toBe(2);
      expect(run.stdout).toBe('');
      expect(run.stderr).toContain(message);
    });
  }

  finding('N8 SCR-26', 'are shown in help and completed', async () => {
    const workspace = createBuild();
    const { stdout } = await wield(workspace, ['build', '--help']);
    for (const text of [
      'How thoroughly; one of fast, slow; default fast',
      'Processes; 1 to 10; default 3',
      'What to build; at least 1 item',
      'What to log; each one of info, debug',
      'Part; at least 0',
      'Name; 1 to 8 characters',
    ])
      expect(stdout).toContain(text);
    const complete = async (...words: string[]) =>
      (await wield(workspace, ['__complete', 'fish', 'wield', ...words])).stdout;
    expect(await complete('build', '--mode', '')).toMatch(/fast\b[\s\S]*slow\b/);
    expect(await complete('build', '--levels', 'd')).toContain('debug');
  });

  finding('N8 SCR-26', 'a mistake is explained by check, doctor and a call, with line and column', async () => {
    const workspace = createWorkspace();
    workspace.script('bad', '#!/bin/sh\n# @description D\n# @param n integer(10..1)=3 Number\n');
    const check = await wield(workspace, ['check']);
    expect(check.status).toBe(1);
    expect(check.stdout).toContain('3:20  @param n: the range 10..1 is empty');
    expect(json(await wield(workspace, ['check', '--json'])).findings).toMatchObject([{ line: 3, column: 20 }]);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('.agents/tools/bad:3:20');
    expect((await wield(workspace, ['call', 'bad'])).stderr).toContain('.agents/tools/bad:3:20 @param n');
  });
});

describe('scripts of other authors', () => {
  finding('003-43 SCR-11', 'null is null on stdin and an empty variable', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'show',
      '#!/bin/sh\n# @description D\n# @param a string A\n# @param b int B\nset -u\nprintf "[%s%s]" "$OCTOMIND_PARAM_A" "$WIELD_PARAM_B"\ncat\n',
    );
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('show', { a: null, b: null }))).toBe('[]{"a":null,"b":null}');
    expect((await toolbox.call('show', { a: null })).error?.code).toBe('tool_failed');
  });

  finding('003-34 SCR-6 SCR-11', 'a parameter with a dot keeps its name, and gets a variable', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'cat-file',
      '#!/bin/sh\n# @description D\n# @param *file.path string F\nprintf "%s " "$OCTOMIND_PARAM_FILE_PATH"\ncat\n',
    );
    const run = await wield(workspace, ['call', 'cat-file', '--file-path', 'a.txt']);
    expect(run.stdout).toBe('a.txt {"file.path":"a.txt"}');
    expect((await wield(workspace, ['check'])).stdout).toContain('is passed as WIELD_PARAM_FILE_PATH');
  });

  finding('003-4 SCR-21', 'scripts are of the server local, in JSON and over MCP', async () => {
    const workspace = createBuild();
    const list = json(await wield(workspace, ['list', '--json']));
    expect(list.tools.find((tool: { name: string }) => tool.name === 'build').server).toBe('local');
    expect((await workspace.toolbox().find('build')).origin.server).toBe('local');
    const client = await connectStdio(workspace, 'older');
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'build')?._meta).toEqual({ 'wield/server': 'local' });
  });

  finding('003-2 POL-20', "the first call of a model says what to do, and a person's call needs nothing", async () => {
    const workspace = createBuild();
    expect((await wield(workspace, ['call', 'build', '--files', 'a'])).status).toBe(0);
    const refused = await workspace.toolbox().call('build', { files: ['a'] }, MODEL);
    expect(refused.error).toMatchObject({ code: 'needs_trust', hint: expect.stringContaining('wield trust') });
  });

  const READERS: [string, string][] = [
    [
      'bash',
      '#!/usr/bin/env bash\n# @description D\ncurl -H "Authorization: $GITHUB_TOKEN" --nope 2>/dev/null; exit 3\n',
    ],
    ['sh with -u', '#!/bin/sh\n# @description D\nset -u\necho "${GITHUB_TOKEN}"\n'],
    ['python', '#!/usr/bin/env python3\n# @description D\nimport os\nos.environ["GITHUB_TOKEN"]\n'],
    ['node', '#!/usr/bin/env node\n// @description D\nif (!process.env.GITHUB_TOKEN) throw new Error("no token");\n'],
  ];
  for (const [language, text] of some(READERS, 2)) {
    finding(
      '003-47 SCR-28',
      `a ${language} script that misses a variable gets the line that passes it on`,
      async () => {
        const workspace = createWorkspace();
        workspace.script('release', text);
        const env = { ...workspace.env, GITHUB_TOKEN: 'ghp_secret', SSH_AUTH_SOCK: '/x' };
        const failed = await workspace.toolbox({ env }).call('release', {});
        expect(failed.error?.code).toBe('tool_failed');
        expect(failed.error?.hint).toContain('[env]  pass = ["GITHUB_TOKEN"]');
        expect(JSON.stringify(failed)).not.toMatch(/ghp_secret|SSH_AUTH_SOCK/);
        workspace.config('[env]\npass = ["GITHUB_TOKEN"]\n');
        const passed = await workspace.toolbox({ env }).call('release', {});
        expect(passed.error?.hint ?? '').not.toContain('pass =');
      },
    );
  }

  finding('003-47 SCR-28', 'a variable that nobody set is named if the script reports it', async () => {
    const workspace = createWorkspace();
    workspace.script('a', '#!/bin/sh\n# @description D\n: "${DEPLOY_KEY:?missing}"\n');
    workspace.script('b', '#!/bin/sh\n# @description D\nLOCAL=1\necho "$LOCAL LOCAL $WIELD_PARAM_X" >&2; exit 1\n');
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('a', {})).error?.hint).toContain('and set DEPLOY_KEY');
    expect((await toolbox.call('b', {})).error?.hint).toBe('see its output; change the input, or fix the tool');
  });

  // The flags that the scripts of octomind's documentation have, and some of wield's.
  finding('003-71 N20', 'a documented script runs unmodified with every flag', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'project_check',
      `#!/usr/bin/env bash
# @description Check the project.
# @param target string What to check
# @param verbose boolean Print more
# @param dry_run boolean Change nothing
# @param timeout integer Seconds
# @param json boolean Machine-readable output
set -euo pipefail
[[ "\${OCTOMIND_PARAM_VERBOSE:-false}" == "true" ]] && echo "verbose"
echo "\${OCTOMIND_PARAM_TARGET:-all} \${OCTOMIND_PARAM_DRY_RUN:-false} \${OCTOMIND_PARAM_TIMEOUT:-0} \${OCTOMIND_PARAM_JSON:-false}"
`,
    );
    const run = await wield(workspace, [
      'project_check',
      '--verbose',
      '--dry-run',
      '--timeout',
      '5',
      '--json',
      '--target',
      'x',
    ]);
    expect(run).toEqual({ status: 0, stdout: 'verbose\nx true 5 true\n', stderr: '' });
  });
});
