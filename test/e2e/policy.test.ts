// Rules of the configuration through the doors: what runs, what asks, what is refused, and what is not even named.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/core/json.js';
import { type Caller, createToolbox, defineTool, type ToolDefinition } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { serveStdio } from '../support/server.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };
const PERSON: Caller = { kind: 'person', door: 'cli' };

const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    inputSchema: {
      type: 'object',
      properties: { op: { type: 'string' }, force: { type: 'boolean' }, allowedTools: { type: 'string' } },
    },
    execute: () => `${name} ran`,
    ...more,
  });

interface Files {
  readonly user?: string;
  readonly project?: string;
}

/** A toolbox with these tools under these files. */
function ruled(files: Files, tools: readonly ToolDefinition[]): NodeToolbox {
  return write(createWorkspace(), files).toolbox({ tools, trust: true });
}

function write(workspace: Workspace, { user, project }: Files): Workspace {
  if (user !== undefined) workspace.config(user);
  if (project !== undefined) workspace.write('.agents/config.toml', project);
  return workspace;
}

const list = (...selectors: string[]): string => `allowed-tools = ${JSON.stringify(selectors.join(' '))}\n`;
const trust = (...selectors: string[]): string => `[trust]\nrules = ${JSON.stringify(selectors.join(' '))}\n`;

/** What becomes of a call: `allow` where it ran, `ask` or `deny` where it did not. */
async function outcome(toolbox: NodeToolbox, name: string, input: Json = {}, caller?: Caller) {
  const result = await toolbox.call(name, input, caller === undefined ? {} : { caller });
  if (result.ok) return 'allow';
  if (result.error!.code === 'needs_approval') return 'ask';
  expect(result.error!.code).toBe('denied');
  return 'deny';
}

describe('allowed-tools', () => {
  spec('POL-2', 'absent: everything is allowed, local scripts too; set: only what it selects', async () => {
    const workspace = createWorkspace();
    workspace.script('local', shellScript('echo ran'));
    const toolbox = workspace.toolbox({ tools: [tool('a'), tool('b')], trust: true });
    for (const name of ['a', 'b', 'local']) expect(await outcome(toolbox, name, {}, MODEL)).toBe('allow');
    write(workspace, { user: list('a', 'lo*') });
    expect(await outcome(toolbox, 'a')).toBe('allow');
    expect(await outcome(toolbox, 'local', {}, MODEL)).toBe('allow');
    expect(await outcome(toolbox, 'b')).toBe('deny');
    for (const empty of ['allowed-tools = ""\n', 'allowed-tools = []\n', 'allowed-tools = ["", " "]\n']) {
      write(workspace, { user: empty });
      for (const name of ['a', 'b', 'local']) expect(await outcome(toolbox, name)).toBe('deny');
    }
  });

  spec('POL-2 POL-11', 'every layer must select: a project narrows and never widens', async () => {
    const tools = [tool('a'), tool('b'), tool('c')];
    const each = async (files: Files) => {
      const toolbox = ruled(files, tools);
      return Promise.all(['a', 'b', 'c'].map((name) => outcome(toolbox, name)));
    };
    expect(await each({ user: list('a', 'b'), project: list('b', 'c') })).toEqual(['deny', 'allow', 'deny']);
    expect(await each({ user: list('a'), project: list('*') })).toEqual(['allow', 'deny', 'deny']);
    expect(await each({ project: list('c') })).toEqual(['deny', 'deny', 'allow']);
    expect(await each({ user: list('b($deny)', '*'), project: list('b', 'a') })).toEqual([
      'allow',
      'deny',
      'deny',
    ]);
  });

  spec('POL-3', '$deny wins over every allow, whatever the order, the file and the key', async () => {
    const tools = [tool('a'), tool('b')];
    const files: Files[] = [
      { user: list('*', 'a($deny)') },
      { user: list('a($deny)', '*', 'a') },
      { user: list('a', 'b', 'a($policy=deny)') },
      { user: list('*'), project: list('*', 'a($deny)') },
      { project: list('a($deny)', '*') },
      { user: trust('a($policy=allow)', 'a($deny)') },
      { user: trust('a($deny)', '*($policy=allow)') },
      { user: `${list('*')}${trust('*($policy=allow)')}`, project: trust('*($policy=allow)', 'a($deny)') },
    ];
    for (const one of files) {
      const toolbox = ruled(one, tools);
      expect([JSON.stringify(one), await outcome(toolbox, 'a')]).toEqual([JSON.stringify(one), 'deny']);
      const other = await outcome(toolbox, 'b');
      expect([JSON.stringify(one), other]).not.toEqual([JSON.stringify(one), 'deny']);
    }
  });

  spec('POL-12', 'readers are always allowed unless a rule denies them', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes');
    const toolbox = workspace.toolbox({ trust: true });
    const read = () => outcome(toolbox, 'read_skill', { skill_name: 'notes' }, MODEL);
    for (const user of [list(), list('other'), trust('*'), list('other') + trust('read_*($policy=ask)')]) {
      workspace.config(user);
      expect([user, await read()]).toEqual([user, 'allow']);
      expect((await toolbox.list({ caller: MODEL })).map(({ name }) => name)).toContain('read_skill');
    }
    for (const user of [list('*', 'read_skill($deny)'), list('$read_*($deny)'), trust('*($policy=deny)')]) {
      workspace.config(user);
      expect([user, await read()]).toEqual([user, 'deny']);
    }
    // Only wield's own: a tool of that name given by code is a tool like others.
    const taken = ruled({ user: list('other') }, [tool('read_skill')]);
    expect(await outcome(taken, 'read_skill')).toBe('deny');
  });
});

describe('arguments', () => {
  spec('POL-4', 'bind the input as the tool gets it, after repair and defaults', async () => {
    const git = defineTool({
      name: 'git',
      description: 'Version control.',
      inputSchema: {
        type: 'object',
        properties: {
          op: { type: 'string', default: 'push' },
          force: { type: 'boolean' },
          depth: { type: 'integer' },
        },
      },
      execute: () => 'ran',
    });
    const toolbox = ruled(
      { user: list('*', 'git(op={push,reset},$deny)', 'git(force=true,$deny)', 'git(depth=1?,$deny)') },
      [git],
    );
    expect(await outcome(toolbox, 'git', { op: 'log' })).toBe('allow');
    expect(await outcome(toolbox, 'git', { op: 'push' })).toBe('deny');
    expect(await outcome(toolbox, 'git', { op: 'reset' })).toBe('deny');
    // The default says push.
    expect(await outcome(toolbox, 'git', {})).toBe('deny');
    // Text that repair turns into what the schema asks for.
    expect(await outcome(toolbox, 'git', { op: 'log', force: 'true' })).toBe('deny');
    expect(await outcome(toolbox, 'git', { op: 'log', force: false })).toBe('allow');
    expect(await outcome(toolbox, 'git', { op: 'log', depth: '12' })).toBe('deny');
    expect(await outcome(toolbox, 'git', { op: 'log', depth: 1 })).toBe('allow');
  });

  spec('POL-4', 'bind what the declaration of a command makes of the input', async () => {
    const workspace = createSkillWorkspace();
    const args = [
      { param: 'a', absentDefault: 'push' },
      { param: 'b', normalizeNewlines: true, optional: true },
    ];
    workspace.skill('own', { 'tools.json': declare(args) });
    workspace.config(`allowed-tools = ["*", 'run(a=push,$deny)', "run(b=x\\ny,$deny)"]\n`);
    const toolbox = workspace.toolbox({ trust: true });
    expect(await outcome(toolbox, 'run', { a: 'log' })).toBe('allow');
    expect(await outcome(toolbox, 'run', {})).toBe('deny');
    expect(await outcome(toolbox, 'run', { a: 'log', b: 'x\\ny' })).toBe('deny');
    const { verdict } = await toolbox.explain('run', {});
    expect(verdict.rule).toBe('run(a=push,$deny)');
  });
});

describe('trust.rules', () => {
  spec('POL-5', 'the first match decides: allow runs, a plain match asks, deny refuses', async () => {
    const tools = ['a', 'b', 'c', 'd'].map((name) => tool(name));
    const toolbox = ruled(
      { user: trust('a($policy=allow)', 'b', 'c($policy=ask)', 'd(op=x,$policy=allow)', '*($policy=deny)') },
      tools,
    );
    expect(await outcome(toolbox, 'a')).toBe('allow');
    expect(await outcome(toolbox, 'b')).toBe('ask');
    expect(await outcome(toolbox, 'c')).toBe('ask');
    expect(await outcome(toolbox, 'd')).toBe('deny');
    expect(await outcome(toolbox, 'd', { op: 'x' })).toBe('allow');
    const ordered = ruled({ user: trust('*($policy=ask)', 'a($policy=allow)') }, tools);
    expect(await outcome(ordered, 'a')).toBe('ask');
  });

  spec('POL-5 POL-11', "a project's rule counts only where it is stricter", async () => {
    const policies = ['allow', 'ask', 'deny'] as const;
    for (const [above, user] of policies.entries()) {
      for (const [below, project] of policies.entries()) {
        const toolbox = ruled(
          { user: trust(`a($policy=${user})`), project: trust(`a($policy=${project})`) },
          [tool('a')],
        );
        expect([user, project, await outcome(toolbox, 'a')]).toEqual([
          user,
          project,
          policies[Math.max(above, below)],
        ]);
      }
    }
    const own = ruled({ project: trust('a($policy=allow)', '*') }, [tool('a'), tool('b')]);
    expect(await outcome(own, 'a')).toBe('allow');
    expect(await outcome(own, 'b')).toBe('ask');
  });

  spec('POL-5', 'no rule: own tools run, destructive ones too; a list may ask', async () => {
    const toolbox = ruled({}, [tool('a', { destructive: true })]);
    expect(await outcome(toolbox, 'a', {}, MODEL)).toBe('allow');
    const asking = ruled({ user: list('*', 'a($policy=ask)') }, [tool('a'), tool('b')]);
    expect(await outcome(asking, 'a')).toBe('ask');
    expect(await outcome(asking, 'b')).toBe('allow');
  });
});

describe('patterns of the seed', () => {
  const tools = [
    tool('custom-tool'),
    tool('other-tool'),
    tool('wipe', { tags: ['destructive'] }),
    tool('shred', { destructive: true }),
    tool('context-manager'),
    tool('file-read'),
    tool('file-write'),
    tool('agent'),
    tool('callback-1a2b3c4d'),
    tool('forged', { tags: ['meta-internal'] }),
  ];
  type Case = readonly [string, readonly (readonly [string, Json, string])[]];
  const cases: readonly Case[] = [
    [
      list('#meta-internal custom-tool'),
      [
        ['workdir', {}, 'allow'],
        ['custom-tool', {}, 'allow'],
        ['other-tool', {}, 'deny'],
        ['forged', {}, 'deny'],
      ],
    ],
    [
      list('* #destructive($deny)'),
      [
        ['other-tool', {}, 'allow'],
        ['wipe', {}, 'deny'],
        ['shred', {}, 'deny'],
      ],
    ],
    [
      list('* context-manager(op={finish,fail},$deny)'),
      [
        ['context-manager', { op: 'finish' }, 'deny'],
        ['context-manager', { op: 'fail' }, 'deny'],
        ['context-manager', { op: 'fork' }, 'allow'],
        ['context-manager', {}, 'allow'],
        ['wipe', { op: 'finish' }, 'allow'],
      ],
    ],
    [
      list('file-read agent(allowedTools=file-read)'),
      [
        ['file-read', {}, 'allow'],
        ['file-write', {}, 'deny'],
        ['agent', { allowedTools: 'file-read' }, 'allow'],
        ['agent', { allowedTools: 'file-read file-write' }, 'deny'],
        ['agent', {}, 'deny'],
      ],
    ],
    [
      list('file-read callback-*'),
      [
        ['callback-1a2b3c4d', {}, 'allow'],
        ['file-read', {}, 'allow'],
        ['agent', {}, 'deny'],
      ],
    ],
    [
      trust('#meta-internal($policy=allow) *'),
      [
        ['workdir', {}, 'allow'],
        ['custom-tool', {}, 'ask'],
        ['forged', {}, 'ask'],
      ],
    ],
  ];
  for (const [user, calls] of cases) {
    spec('POL-2 POL-3 POL-4 POL-5', `decide as it says: ${user.trim().replace('\n', ' ')}`, async () => {
      const toolbox = ruled({ user }, tools);
      for (const [name, input, expected] of calls)
        expect([name, input, await outcome(toolbox, name, input)]).toEqual([name, input, expected]);
    });
  }
});

describe('what is denied', () => {
  const words = { description: 'Publish the website somewhere.' };
  const tools = [tool('deploy', words), tool('deplore'), tool('publish', words)];

  spec('POL-8', 'is not listed, not found by search, not named in hints, to anybody', async () => {
    const toolbox = ruled({ user: list('*', 'deploy($deny)') }, tools);
    for (const caller of [MODEL, PERSON, undefined]) {
      const options = caller === undefined ? {} : { caller };
      const names = (await toolbox.list(options)).map(({ name }) => name);
      expect(names).toEqual(['deplore', 'publish']);
      expect((await toolbox.search('deploy', 10, options)).map(({ name }) => name)).not.toContain('deploy');
      expect((await toolbox.search('website', 10, options)).map(({ name }) => name)).toEqual(['publish']);
      const missed = await toolbox.call('deplo', {}, options);
      expect(missed.error!.code).toBe('not_found');
      expect(missed.error!.hint).toContain('deplore');
      expect(JSON.stringify(missed)).not.toContain('deploy');
    }
    const { denied } = await toolbox.survey();
    expect(denied.map(({ tool: { name }, verdict }) => [name, verdict.rule])).toEqual([
      ['deploy', 'deploy($deny)'],
    ]);
  });

  spec('POL-8', 'says nothing about itself: neither what it takes nor what it would run', async () => {
    const ran: unknown[] = [];
    const secretive = tool('deploy', { execute: (input) => ran.push(input) });
    const toolbox = ruled({ user: list('*', 'deploy($deny)') }, [secretive]);
    const result = await toolbox.call('deploy', { wrong: 1 }, { caller: MODEL });
    expect(result.error!.code).toBe('denied');
    expect(JSON.stringify(result)).not.toContain('force');
    expect(ran).toEqual([]);
  });

  spec('POL-8', 'only some input of it: it stays listed', async () => {
    for (const user of [
      list('*', 'deploy(op=x,$deny)'),
      list('deploy(op=x)', 'publish', 'deplore'),
      trust('deploy(op=x,$policy=allow)', 'deploy($policy=deny)'),
      trust('deploy'),
    ]) {
      const toolbox = ruled({ user }, tools);
      expect([user, (await toolbox.list()).map(({ name }) => name)]).toEqual([
        user,
        ['deplore', 'deploy', 'publish'],
      ]);
    }
    for (const user of [
      list('publish', 'deplore'),
      trust('deploy($policy=deny)'),
      trust('deploy(op=x,$policy=deny)', 'deploy($policy=deny)', '*($policy=allow)'),
    ]) {
      const toolbox = ruled({ user }, tools);
      expect([user, (await toolbox.list()).map(({ name }) => name)]).toEqual([user, ['deplore', 'publish']]);
    }
  });

  spec('POL-8', 'at the shell: list, search and call; list --all shows it with its rule', async () => {
    const workspace = createWorkspace();
    workspace.script('deploy', shellScript('echo ran'));
    workspace.script('deplore', shellScript('echo ran'));
    workspace.config(list('*', 'deploy($deny)'));
    expect((await wield(workspace, ['list'])).stdout).not.toContain('deploy');
    expect((await wield(workspace, ['search', 'deploy'])).stdout).not.toContain('deploy ');
    const all = await wield(workspace, ['list', '--all']);
    expect(all.stdout).toMatch(/deploy .*denied: deploy\(\$deny\)/);
    const { tools: shown } = json(await wield(workspace, ['list', '--all', '--json']));
    expect(shown.map(({ name, deniedBy }: Record<string, string>) => [name, deniedBy])).toEqual([
      ['deplore', null],
      ['deploy', 'deploy($deny)'],
    ]);
    const called = await wield(workspace, ['call', 'deploy']);
    expect([called.status, called.stdout]).toEqual([5, '']);
    expect(called.stderr).toContain('deploy($deny)');
    workspace.config(list());
    expect((await wield(workspace, ['list'])).stdout).toContain('wield list --all');
  });

  spec('POL-8', 'the tool that reads skills: a model is not told to call it', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes');
    const toolbox = workspace.toolbox({ trust: true });
    expect(await toolbox.instructions()).toContain('read_skill');
    workspace.config(list('*', 'read_skill($deny)'));
    expect(await toolbox.instructions()).toBe('');
    workspace.config(`${list('*', 'read_skill($deny)')}[skills]\ncontext-mode = "full"\n`);
    expect(await toolbox.instructions()).toContain('Text of notes.');
  });

  spec('POL-8', 'over the protocol: gone from the list at once, and told', async () => {
    const workspace = createWorkspace();
    workspace.script('deploy', shellScript('echo ran'));
    workspace.script('deplore', shellScript('echo ran'));
    workspace.config('repair = true\n');
    const server = serveStdio(workspace);
    await server.initialize();
    const names = async (id: string) =>
      (await server.request(id, 'tools/list')).result.tools.map(({ name }: { name: string }) => name);
    expect(await names('before')).toEqual(['deplore', 'deploy']);
    workspace.config(list('*', 'deploy($deny)'));
    await server.receive((message) => message.method === 'notifications/tools/list_changed');
    expect(await names('after')).toEqual(['deplore']);
    const { result } = await server.request('call', 'tools/call', { name: 'deploy', arguments: {} });
    expect(result._meta['wield/error'].code).toBe('denied');
    const missed = await server.request('miss', 'tools/call', { name: 'deplo', arguments: {} });
    expect(JSON.stringify(missed)).toContain('deplore');
    expect(JSON.stringify(missed)).not.toContain('deploy');
  });
});

describe('rules that cannot be read', () => {
  const bad: readonly (readonly [string, string])[] = [
    ['repair = true\nallowed-tools = "* a($denied)"\n', ':2: allowed-tools: an unknown directive'],
    [
      'allowed-tools = [\n  "*",\n  # a comment\n  "x !b",\n]\n',
      ':4: entry 2 of allowed-tools: a leading "!" at column 3',
    ],
    ['[trust]\nrules = "* bash("\n', ':2: trust.rules: a specifier that is not closed at column 7'],
    ['allowed-tools = 5\n', ':1: allowed-tools must be selectors'],
    ['allowed-tools = [1]\n', ':1: allowed-tools must be selectors'],
    ['trust = { rules = true }\n', ':1: trust.rules must be selectors'],
    ['[allowed-tools]\nx = 1\n', ':1: allowed-tools must be selectors'],
    [`allowed-tools = "${'a'.repeat(1001)}"\n`, ':1: allowed-tools: a pattern longer than'],
    [`allowed-tools = "${'a '.repeat(5001)}"\n`, ':1: allowed-tools has more than 5000 selectors'],
  ];
  for (const layer of ['user', 'project'] as const) {
    spec('POL-9', `deny every call and say why, in the ${layer}'s file`, async () => {
      for (const [text, said] of bad) {
        const toolbox = ruled({ [layer]: text }, [tool('a')]);
        for (const caller of [MODEL, PERSON]) {
          const { error } = await toolbox.call('a', {}, { caller });
          expect(error).toMatchObject({ code: 'denied' });
          expect(error!.message).toContain(`config.toml${said}`);
        }
        expect(await toolbox.list({ caller: MODEL })).toEqual([]);
        expect(await toolbox.search('a', 5, { caller: MODEL })).toEqual([]);
        expect((await toolbox.list({ caller: PERSON })).map(({ name }) => name)).toEqual(['a']);
        expect((await toolbox.problems()).map(({ severity }) => severity)).toEqual(['error']);
      }
    });
  }

  test('a list that only denies is a problem, since it selects nothing', async () => {
    const toolbox = ruled({ user: list('a($deny)', 'b($policy=deny)') }, [tool('a'), tool('c')]);
    expect(await outcome(toolbox, 'c')).toBe('deny');
    expect(await toolbox.problems()).toMatchObject([{ severity: 'warning', hint: 'begin it with *' }]);
    for (const fine of [list(), list('*', 'a($deny)'), trust('a($deny)')])
      expect(await ruled({ user: fine }, [tool('a')]).problems()).toEqual([]);
  });

  spec('POL-9', 'an unknown key is a problem and denies nothing', async () => {
    const toolbox = ruled({ user: 'allowed_tools = "b"\n[trust]\nrule = "*"\n' }, [tool('a')]);
    expect(await outcome(toolbox, 'a')).toBe('allow');
    const problems = await toolbox.problems();
    expect(problems.map(({ hint }) => hint)).toEqual([
      'did you mean allowed-tools?',
      'did you mean trust.rules?',
    ]);
  });

  spec('POL-9', 'a change is seen by the next call, however soon it comes', async () => {
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox({ tools: [tool('a'), tool('b')] });
    for (let round = 0; round < 50; round++) {
      // The same length, so that only the bytes tell.
      const [one, other] = round % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
      workspace.config(list(one!));
      expect([round, await outcome(toolbox, one!)]).toEqual([round, 'allow']);
      expect([round, await outcome(toolbox, other!)]).toEqual([round, 'deny']);
    }
  });
});

describe('wield explain', () => {
  const RULES = `# who may do what\n${list('*')}\n[trust]\nrules = [\n  "deploy(branch=main,$deny)",\n  "other",\n  "deploy($policy=ask)",\n]\n`;
  const createDeploy = (user: string): Workspace => {
    const workspace = createWorkspace();
    const mark = join(workspace.dir, 'ran');
    workspace.script('deploy', shellScript(`touch ${mark}`, '@param *branch string Branch'));
    workspace.config(user);
    return workspace;
  };

  spec('POL-10', 'prints the verdict, the rule with file and line, and what does not match', async () => {
    const workspace = createDeploy(RULES);
    const file = join(workspace.env.WIELD_HOME!, 'config.toml');
    const run = await wield(workspace, ['explain', 'deploy', '--input', '{"branch":"main"}', '--as', 'mcp']);
    expect(run.status).toBe(0);
    expect(run.stdout.split('\n')[0]).toBe('  deny   ~/.wield/config.toml:6   deploy(branch=main,$deny)');
    expect(run.stdout).toContain('~/.wield/config.toml:7   other');
    expect(run.stdout).not.toContain(':8');
    const explain = async (...args: string[]) =>
      json(await wield(workspace, ['explain', 'deploy', '--json', ...args]));
    expect(await explain('--input', '{"branch":"main"}', '--as', 'user')).toEqual({
      ok: true,
      schema: 1,
      verdict: 'deny',
      rule: { text: 'deploy(branch=main,$deny)', file, line: 6 },
      reason: 'a rule denies it: deploy(branch=main,$deny)',
      unmatched: [{ text: 'other', file, line: 7 }],
    });
    expect(await explain('--input', '{"branch":"next"}', '--as', 'code')).toMatchObject({
      verdict: 'ask',
      rule: { text: 'deploy($policy=ask)', file, line: 8 },
      unmatched: [
        { text: 'deploy(branch=main,$deny)', line: 6 },
        { text: 'other', line: 7 },
      ],
    });
    // Without an input rules about arguments do not match, whatever is required.
    expect(await explain()).toMatchObject({ verdict: 'ask', rule: { line: 8 } });
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  spec(
    'POL-10',
    'says what no rule decides: trust, a list, the default, a file that cannot be read',
    async () => {
      const workspace = createDeploy('');
      const explain = async (...args: string[]) =>
        json(await wield(workspace, ['explain', 'deploy', '--json', ...args]));
      expect(await explain('--as', 'mcp')).toMatchObject({ verdict: 'deny', rule: null, unmatched: [] });
      expect((await explain('--as', 'mcp')).reason).toContain('not trusted');
      expect(await explain()).toMatchObject({ verdict: 'allow', rule: null, reason: 'no rule names it' });
      expect((await wield(workspace, ['explain', 'deploy'])).stdout).toBe('  allow  no rule names it\n');
      workspace.config(list('hello'));
      const file = join(workspace.env.WIELD_HOME!, 'config.toml');
      expect(await explain()).toEqual({
        ok: true,
        schema: 1,
        verdict: 'deny',
        rule: null,
        reason: `allowed-tools does not select it (${file}:1)`,
        unmatched: [{ text: 'hello', file, line: 1 }],
      });
      workspace.config('allowed-tools = "("\n');
      expect((await explain()).reason).toContain(`${file}:1`);
    },
  );

  spec('POL-10', 'ends with the status of its own question: 0, 2 or 3', async () => {
    const workspace = createDeploy(list());
    expect((await wield(workspace, ['explain', 'deploy'])).status).toBe(0);
    expect((await wield(workspace, ['explain', 'deplyo'])).status).toBe(3);
    expect((await wield(workspace, ['explain'])).status).toBe(2);
    expect((await wield(workspace, ['explain', 'deploy', '--as', 'root'])).status).toBe(2);
    expect((await wield(workspace, ['explain', 'deploy', '--input', '{"x":1}'])).status).toBe(2);
  });

  test('show and a dry run name the rule and its place', async () => {
    const workspace = createDeploy(RULES);
    const shown = await wield(workspace, ['show', 'deploy']);
    expect(shown.stdout).toMatch(/you +ask: a rule asks first: deploy\(\$policy=ask\) \(.*config\.toml:8\)/);
    const dry = await wield(workspace, ['call', 'deploy', '--branch', 'main', '--dry-run']);
    expect(dry.stdout).toMatch(
      /policy +deny +a rule denies it: deploy\(branch=main,\$deny\) .*config\.toml:6/,
    );
    const { verdict } = json(
      await wield(workspace, ['call', 'deploy', '--branch', 'main', '--dry-run', '--json']),
    );
    expect(verdict).toMatchObject({ verdict: 'deny', source: { line: 6 } });
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });
});

describe('calls that tools make', () => {
  const calling = (name: string, target: string, more: Partial<ToolDefinition> = {}) =>
    tool(name, {
      execute: async (_input: unknown, { toolbox }) => {
        const { ok, error } = await toolbox.call(target, {});
        return ok ? 'allow' : error!.code;
      },
      ...more,
    });
  const inner = async (toolbox: Pick<NodeToolbox, 'call'>, name: string) => {
    const { content, error } = await toolbox.call(name, {});
    return error?.code ?? (content[0] as { text: string }).text;
  };

  spec('RUN-11', "are held to the caller's rules and to those of every tool on the way", async () => {
    const tools = [
      tool('leaf'),
      calling('free', 'leaf'),
      calling('bound', 'leaf', { allowedTools: ['other', 'le*'] }),
      calling('narrow', 'leaf', { allowedTools: ['other'] }),
      calling('none', 'leaf', { allowedTools: [] }),
      calling('denying', 'leaf', { allowedTools: ['*', 'leaf($deny)'] }),
      calling('outer', 'bound', { allowedTools: ['bound'] }),
      tool('relay', {
        allowedTools: ['bound', 'free'],
        execute: async (_input: unknown, { toolbox }) => {
          const { content } = await toolbox.call('free', {});
          return (content[0] as { text: string }).text;
        },
      }),
    ];
    const toolbox = createToolbox({ tools });
    const rows = await Promise.all(
      tools.slice(1).map(async ({ name }) => [name, await inner(toolbox, name)]),
    );
    expect(Object.fromEntries(rows)).toEqual({
      free: 'allow',
      bound: 'allow',
      narrow: 'denied',
      none: 'denied',
      denying: 'denied',
      outer: 'allow',
      // `free` has no list of its own, and is bound by that of the tool that called it.
      relay: 'denied',
    });
    const ruledBox = ruled({ user: list('*', 'leaf($deny)') }, tools);
    expect(await inner(ruledBox, 'free')).toBe('denied');
    expect(await inner(ruledBox, 'bound')).toBe('denied');
    const asking = ruled({ user: trust('leaf') }, tools);
    expect(await inner(asking, 'bound')).toBe('needs_approval');
  });

  spec('RUN-11', 'a list does not outlive the call that it belongs to, nor reach another', async () => {
    const toolbox = createToolbox({ tools: [tool('leaf'), calling('narrow', 'leaf', { allowedTools: [] })] });
    const answers = await Promise.all([
      inner(toolbox, 'narrow'),
      inner(toolbox, 'leaf'),
      inner(toolbox, 'narrow'),
      inner(toolbox, 'leaf'),
    ]);
    expect(answers).toEqual(['denied', 'leaf ran', 'denied', 'leaf ran']);
  });

  spec('RUN-11 POL-8', 'what is outside the list is not named to the tool either', async () => {
    const seen: string[] = [];
    const curious = tool('curious', {
      allowedTools: ['leaf-b'],
      execute: async (_input: unknown, { toolbox }) => {
        seen.push(JSON.stringify(await toolbox.call('leaf', {})));
        return 'ran';
      },
    });
    await createToolbox({ tools: [tool('leaf-a'), tool('leaf-b'), curious] }).call('curious', {});
    expect(seen[0]).toContain('leaf-b');
    expect(seen[0]).not.toContain('leaf-a');
  });

  test('a definition with selectors that are none is refused; a skill with them lets its tools call nothing', async () => {
    expect(() => tool('bad', { allowedTools: ['a('] })).toThrow(/allowedTools cannot be read/);
    const workspace = createSkillWorkspace();
    workspace.skill('own', {
      'tools.json': declare([{ param: 'a' }]),
      'SKILL.md': '---\nname: own\ndescription: Own.\nallowed-tools: file-read git(op=log)\n---\n',
    });
    workspace.skill('broken', {
      'tools.json': declare([], { tool: 'second' }),
      'SKILL.md': 'no frontmatter',
    });
    workspace.skill('plain', { 'tools.json': declare([], { tool: 'third' }) });
    const toolbox = workspace.toolbox();
    const allowed = async (name: string) => (await toolbox.find(name)).traits.allowedTools;
    expect(await allowed('run')).toEqual(['file-read', 'git(op=log)']);
    expect(await allowed('second')).toEqual([]);
    expect(await allowed('third')).toBeUndefined();
  });
});

describe('commands around a command', () => {
  spec('POL-1', 'resolvers and post-processing run only with a call that may run', async () => {
    const workspace = createSkillWorkspace();
    const mark = join(workspace.home, 'mark');
    workspace.program('look-up', `#!/bin/sh\ntouch ${mark}\necho found\n`);
    workspace.skill('own', {
      'tools.json': declare([{ param: 'a', resolveCommand: { binary: 'look-up', args: ['$param'] } }], {
        allowlist: { args: [''], 'look-up': [''] },
      }),
    });
    const toolbox = workspace.toolbox({ trust: true });
    for (const [user, expected] of [
      [list('*', 'run(a=x,$deny)'), 'deny'],
      [list('other'), 'deny'],
      [trust('run'), 'ask'],
      [list('run'), 'allow'],
    ] as const) {
      workspace.config(user);
      await toolbox.plan('run', { a: 'x' });
      expect([user, await outcome(toolbox, 'run', { a: 'x' }, MODEL)]).toEqual([user, expected]);
      expect([user, existsSync(mark)]).toEqual([user, expected === 'allow']);
    }
  });
});
