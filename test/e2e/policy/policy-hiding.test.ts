// Denied tools are not named, and unreadable rules deny everything.

import { describe, expect, test } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { createSkillWorkspace } from '../../support/commands.js';
import { list, MODEL, outcome, PERSON, ruled, tool, trust } from '../../support/ruled.js';
import { serveHere } from '../../support/serve.js';
import { shellScript } from '../../support/shell-script.js';
import { finding, spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

describe('a denied tool', () => {
  const words = { description: 'Publish the website somewhere.' };
  const tools = [tool('deploy', words), tool('deplore'), tool('publish', words)];

  spec('POL-8', 'is not listed, found by search or named in hints', async () => {
    const toolbox = ruled({ user: list('*', 'deploy($deny)') }, tools);
    for (const caller of [MODEL, PERSON, undefined]) {
      const options = caller === undefined ? {} : { caller };
      const names = (await toolbox.list(options)).map(({ name }) => name);
      expect(names.filter((name) => !name.endsWith('_result'))).toEqual(['deplore', 'publish']);
      expect((await toolbox.search('deploy', 10, options)).map(({ name }) => name)).not.toContain('deploy');
      expect((await toolbox.search('website', 10, options)).map(({ name }) => name)).toEqual(['publish']);
      const missed = await toolbox.call('deplo', {}, options);
      expect(missed.error!.code).toBe('not_found');
      expect(missed.error!.hint).toContain('deplore');
      expect(JSON.stringify(missed)).not.toContain('deploy');
    }
    const { denied } = await toolbox.catalog.survey();
    expect(denied.map(({ tool: { name }, verdict }) => [name, verdict.rule])).toEqual([['deploy', 'deploy($deny)']]);
  });

  spec('POL-8', 'reveals neither its parameters nor its command', async () => {
    const ran: unknown[] = [];
    const secretive = tool('deploy', { execute: (input) => ran.push(input) });
    const toolbox = ruled({ user: list('*', 'deploy($deny)') }, [secretive]);
    const result = await toolbox.call('deploy', { wrong: 1 }, { caller: MODEL });
    expect(result.error!.code).toBe('denied');
    expect(JSON.stringify(result)).not.toContain('force');
    expect(ran).toEqual([]);
  });

  spec('POL-8', 'stays listed if only some input is denied', async () => {
    for (const user of [
      list('*', 'deploy(op=x,$deny)'),
      list('deploy(op=x)', 'publish', 'deplore'),
      trust('deploy(op=x,$policy=allow)', 'deploy($policy=deny)'),
      trust('deploy'),
    ]) {
      const toolbox = ruled({ user }, tools);
      expect([user, (await toolbox.list()).map(({ name }) => name)]).toEqual([user, ['deplore', 'deploy', 'publish']]);
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

  spec('POL-8', 'is hidden by list, search and call at the shell; list --all shows it with its rule', async () => {
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

  spec('POL-8', 'is not mentioned in instructions if it is read_skill', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes');
    const toolbox = workspace.toolbox({ trust: true });
    expect(await toolbox.workspace.instructions()).toContain('read_skill');
    workspace.config(list('*', 'read_skill($deny)'));
    expect(await toolbox.workspace.instructions()).toBe('');
    workspace.config(`${list('*', 'read_skill($deny)')}[skills]\ncontext-mode = "full"\n`);
    expect(await toolbox.workspace.instructions()).toContain('Text of notes.');
  });

  spec('POL-8', 'disappears from an MCP listing at once, with a notification', async () => {
    const workspace = createWorkspace();
    workspace.script('deploy', shellScript('echo ran'));
    workspace.script('deplore', shellScript('echo ran'));
    workspace.config('repair = true\n');
    const server = serveHere(workspace);
    await server.initialize();
    const names = async (id: string) =>
      (await server.request(id, 'tools/list')).result.tools.map(({ name }: { name: string }) => name);
    expect(await names('before')).toEqual(['deplore', 'deploy', 'query_result', 'read_result']);
    workspace.config(list('*', 'deploy($deny)'));
    await server.receive((message) => message.method === 'notifications/tools/list_changed');
    expect(await names('after')).toEqual(['deplore', 'query_result', 'read_result']);
    const { result } = await server.request('call', 'tools/call', { name: 'deploy', arguments: {} });
    expect(result._meta['wield/error'].code).toBe('denied');
    const missed = await server.request('miss', 'tools/call', { name: 'deplo', arguments: {} });
    expect(JSON.stringify(missed)).toContain('deplore');
    expect(JSON.stringify(missed)).not.toContain('deploy');
  });
});

describe('unreadable rules', () => {
  const bad: readonly (readonly [string, string])[] = [
    ['repair = true\nallowed-tools = "* a($denied)"\n', ':2: allowed-tools: an unknown directive'],
    [
      'allowed-tools = [\n  "*",\n  # a comment\n  "x !b",\n]\n',
      ':4: entry 2 of allowed-tools: a leading "!" at column 3',
    ],
    ['[trust]\nrules = "* bash("\n', ':2: trust.rules: an unclosed specifier at column 7'],
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
        expect((await toolbox.catalog.problems()).map(({ severity }) => severity)).toEqual(['error']);
      }
    });
  }

  test('a list that only denies is reported, because it selects nothing', async () => {
    const toolbox = ruled({ user: list('a($deny)', 'b($policy=deny)') }, [tool('a'), tool('c')]);
    expect(await outcome(toolbox, 'c')).toBe('deny');
    expect(await toolbox.catalog.problems()).toMatchObject([{ severity: 'warning', hint: 'start it with *' }]);
    for (const fine of [list(), list('*', 'a($deny)'), trust('a($deny)')])
      expect(await ruled({ user: fine }, [tool('a')]).catalog.problems()).toEqual([]);
  });

  finding('B26', 'a misspelled key that restricts calls denies, and the call names it', async () => {
    const misspelled = [
      '[trust]\nrule = ["a($deny)"]',
      '[trust]\nallowed_tools = ["b"]',
      'allowed_tools = ["b"]',
      'allowedTools = ["b"]',
      'alowed-tools = ["b"]',
      'Rules = ["b"]',
      '[Trust]\nrules = ["a($deny)"]',
      '[trsut]\nrules = ["a($deny)"]',
      '[env]\npas = ["X"]',
      '[tools.a.evn]\npass = ["X"]',
      '[audit]\nrequierd = true',
      '[audit]\nrequired = "yes"',
      '[sandbox]\nnetwork = false',
      'denied-tools = ["a"]',
      'blocked = ["a"]',
      '[security]\ndeny = ["a"]',
      '[tools.a]\npolicy = "deny"',
      'trust = "a($deny)"',
      '[approvals]\nask = true',
      '[mcp]\ndisabled = "files"',
      '[mcp]\ndisable = ["files"]',
      '[limits]\ntimeuot = "1s"',
      '[ui]\nport = 1',
      'colour = true',
    ];
    for (const text of misspelled) {
      for (const layer of ['user', 'project'] as const) {
        if (layer === 'project' && text.includes('required =')) continue;
        const toolbox = ruled({ [layer]: `${text}\n` }, [tool('a')]);
        const { error } = await toolbox.call('a', {}, { caller: MODEL });
        const key = text.split('\n').at(-1)!.split(' ')[0]!;
        expect([text, error?.code]).toEqual([text, 'denied']);
        expect(error?.message).toMatch(new RegExp(`config\\.toml:\\d+: .*${key}`));
        expect(await toolbox.list({ caller: MODEL })).toEqual([]);
      }
    }
    for (const text of ['[results]\nkep = "1h"', '[model]\nname = "x"', '[skills]\ncolour = true'])
      expect([text, await outcome(ruled({ user: `${text}\n` }, [tool('a')]), 'a')]).toEqual([text, 'allow']);
  });

  finding('B26', 'another spelling of allowed-tools in a skill narrows all the same, and is a warning', async () => {
    for (const key of ['allowed_tools', 'allowedtools', 'allowed-tool', 'Allowed-Tools', 'allowed tools']) {
      const workspace = createWorkspace();
      workspace.script('harm', shellScript('echo harmed'));
      const delegate = 'metadata:\n  delegate: harm\n';
      workspace.write(
        '.agents/skills/narrow/SKILL.md',
        `---\nname: narrow\ndescription: D\n${key}: nothing\n${delegate}---\n`,
      );
      const result = await workspace.toolbox({ trust: true }).call('narrow', {}, { caller: MODEL });
      expect([key, result.ok]).toEqual([key, false]);
      expect((await wield(workspace, ['check'])).stdout).toContain(`"${key}" is read as allowed-tools`);
    }
  });

  finding('B26 B27 SCR-5', 'check warns of a tag that is almost a known one', async () => {
    const workspace = createWorkspace();
    workspace.script('wipe', shellScript('echo wiped', '@destructve', '@author Ada'));
    const { stdout } = await wield(workspace, ['check']);
    expect(stdout).toContain('unknown tag @destructve');
    expect(stdout).toContain('did you mean @destructive?');
    expect(stdout).not.toContain('@author');
  });

  finding('B26', 'doctor warns of rules that match no tool or no parameter', async () => {
    const workspace = createWorkspace();
    workspace.script('deploy', shellScript(':', '@param branch string Branch'));
    workspace.config(
      '[trust]\nrules = ["deply($deny)", "deploy(brnch=main,$deny)", "deploy(branch=main)", "#net", "*"]\n',
    );
    const { warnings } = json(await wield(workspace, ['doctor', '--json']));
    expect(warnings.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringContaining('deply($deny) matches no tool'),
      expect.stringContaining('deploy(brnch=main,$deny) names the argument "brnch"'),
      expect.stringContaining('#net matches no tool'),
    ]);
    expect(warnings[1].hint).toContain('branch');
  });

  spec('POL-9', 'hints name the key that was probably meant', async () => {
    const toolbox = ruled({ user: 'allowed_tools = "b"\n[trust]\nrule = "*"\n' }, [tool('a')]);
    expect(await outcome(toolbox, 'a')).toBe('deny');
    const problems = await toolbox.catalog.problems();
    expect(problems.map(({ hint }) => hint)).toEqual(['did you mean allowed-tools?', 'did you mean trust.rules?']);
  });

  spec('POL-9', 'a change applies to the next call, even immediately after it', async () => {
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox({ tools: [tool('a'), tool('b')] });
    for (let round = 0; round < 50; round++) {
      // The same length, so that only the bytes differ.
      const [one, other] = round % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
      workspace.config(list(one!));
      expect([round, await outcome(toolbox, one!)]).toEqual([round, 'allow']);
      expect([round, await outcome(toolbox, other!)]).toEqual([round, 'deny']);
    }
  });
});
