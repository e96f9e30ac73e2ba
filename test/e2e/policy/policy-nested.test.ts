// Nested calls and commands: the policies of all calling tools apply.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createToolbox, type ToolDefinition } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { list, MODEL, outcome, ruled, tool, trust } from '../../support/ruled.js';
import { spec } from '../../support/spec.js';

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

  spec('RUN-11', 'are subject to the rules of the caller and of every calling tool', async () => {
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
    const rows = await Promise.all(tools.slice(1).map(async ({ name }) => [name, await inner(toolbox, name)]));
    expect(Object.fromEntries(rows)).toEqual({
      free: 'allow',
      bound: 'allow',
      narrow: 'denied',
      none: 'denied',
      denying: 'denied',
      outer: 'allow',
      // `free` has no list; that of the calling tool applies.
      relay: 'denied',
    });
    const ruledBox = ruled({ user: list('*', 'leaf($deny)') }, tools);
    expect(await inner(ruledBox, 'free')).toBe('denied');
    expect(await inner(ruledBox, 'bound')).toBe('denied');
    const asking = ruled({ user: trust('leaf') }, tools);
    expect(await inner(asking, 'bound')).toBe('needs_approval');
  });

  spec('RUN-11', 'a list applies to its own call only', async () => {
    const toolbox = createToolbox({ tools: [tool('leaf'), calling('narrow', 'leaf', { allowedTools: [] })] });
    const answers = await Promise.all([
      inner(toolbox, 'narrow'),
      inner(toolbox, 'leaf'),
      inner(toolbox, 'narrow'),
      inner(toolbox, 'leaf'),
    ]);
    expect(answers).toEqual(['denied', 'leaf ran', 'denied', 'leaf ran']);
  });

  spec('RUN-11 POL-8', 'tools outside the list are not named to the calling tool', async () => {
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

  test('rejects a definition with invalid selectors; tools of a skill with invalid selectors can call nothing', async () => {
    expect(() => tool('bad', { allowedTools: ['a('] })).toThrow(/allowedTools is invalid/);
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
