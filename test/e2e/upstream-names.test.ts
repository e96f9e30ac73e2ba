// The names of servers' tools: how they are made, what stands before and behind them, which are chosen.

import { createHash } from 'node:crypto';
import { describe, expect } from 'vitest';
import { type Caller, defineTool } from '../../src/index.js';
import { json, wield } from '../support/cli.js';
import { connectStdio } from '../support/clients.js';
import { spec } from '../support/spec.js';
import { configureServers, countedServer, said } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };

/** A server with tools of these names; each answers `called`. */
function serverWith(workspace: Workspace, name: string, tools: readonly string[], more: object = {}): object {
  const list = tools.map((tool) => ({
    name: tool,
    description: `The tool ${tool}.`,
    inputSchema: { type: 'object' },
  }));
  const file = workspace.write(`${name}.json`, JSON.stringify(list));
  return { ...countedServer(workspace, name, { args: ['changing'], more: [file] }).entry, ...more };
}

const namesOf = async (workspace: Workspace): Promise<string[]> =>
  (await workspace.toolbox().list()).map(({ name }) => name);

describe('the name of a tool of a server', () => {
  spec('UPS-2', 'is that of the server and its own, in letters that every client takes', async () => {
    const workspace = createWorkspace();
    const long = `${'x'.repeat(80)}1`;
    const other = `${'x'.repeat(80)}2`;
    configureServers(workspace, {
      'my.far': serverWith(workspace, 'far', ['plain', 'with.dot', 'with/slash', 'größe', long, other]),
    });
    const cut = (tool: string): string =>
      `my_far_${'x'.repeat(48)}_${createHash('sha256').update(`my.far_${tool}`).digest('hex').slice(0, 8)}`;
    const expected = ['my_far_gr__e', 'my_far_plain', 'my_far_with_dot', 'my_far_with_slash'];
    expect(await namesOf(workspace)).toEqual([...expected, cut(long), cut(other)].sort());
    const toolbox = workspace.toolbox();
    for (const [ref, name, uri] of [
      ['my_far_with_slash', 'my_far_with_slash', 'mcp://my.far/with%2Fslash'],
      ['mcp://my.far/plain', 'my_far_plain', 'mcp://my.far/plain'],
      ['mcp://my.far/with%2Fslash', 'my_far_with_slash', 'mcp://my.far/with%2Fslash'],
      [`mcp://my.far/${other}`, cut(other), `mcp://my.far/${other}`],
    ] as const) {
      const tool = await toolbox.find(ref);
      expect([tool.name, tool.origin.uri, tool.origin.server]).toEqual([name, uri, 'my.far']);
      expect(said(await toolbox.call(ref, {}))).toBe('called');
    }
  });

  spec('UPS-2', 'is given once, and the other tool is told of', async () => {
    const workspace = createWorkspace();
    configureServers(workspace, { far: serverWith(workspace, 'far', ['a.b', 'a/b', 'c']) });
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['far_a_b', 'far_c']);
    const problems = await toolbox.problems();
    expect(problems.map(({ message }) => message).join('\n')).toMatch(
      /mcp:\/\/far\/a%2Fb is not offered: .*far_a_b.*mcp:\/\/far\/a\.b/,
    );
  });

  spec('UPS-2', 'is chosen by selectors of its server, by either name', async () => {
    const workspace = createWorkspace();
    const all = ['read_one', 'read_two', 'write_one'];
    configureServers(workspace, {
      near: serverWith(workspace, 'near', all, { allow: ['read_*'], deny: ['near_read_two'] }),
      far: serverWith(workspace, 'far', all, { deny: ['write_*'] }),
    });
    expect(await namesOf(workspace)).toEqual(['far_read_one', 'far_read_two', 'near_read_one']);
    const toolbox = workspace.toolbox();
    for (const ref of ['near_write_one', 'mcp://near/read_two', 'mcp://far/write_one'])
      expect((await toolbox.call(ref, {})).error?.code).toBe('not_found');
  });
});

describe('tools of servers among the others', () => {
  spec('RES-42', 'come after those of a program and before those of the search path', async () => {
    const workspace = createWorkspace();
    configureServers(workspace, { far: serverWith(workspace, 'far', ['one', 'two', 'three']) });
    for (const name of ['far_one', 'far_two'])
      workspace.script(name, '#!/bin/sh\n# @description A script.\necho script\n');
    const toolbox = workspace.toolbox({
      trust: true,
      tools: [
        defineTool({
          name: 'far_one',
          description: 'A function.',
          inputSchema: { type: 'object' },
          execute: () => 'function',
        }),
      ],
    });
    const answers = [];
    for (const name of ['far_one', 'far_two', 'far_three']) answers.push(said(await toolbox.call(name, {})));
    expect(answers).toEqual(['function', 'called', 'called']);
    expect((await toolbox.list()).map(({ name, origin }) => [name, origin.owner])).toEqual([
      ['far_one', 'program'],
      ['far_three', 'upstream'],
      ['far_two', 'upstream'],
    ]);
    const hidden = (await toolbox.shadowed()).map(({ tool }) => `${tool.name} ${tool.origin.owner}`);
    expect(hidden.sort()).toEqual(['far_one upstream', 'far_one workspace', 'far_two workspace']);
    // A URI names one tool, whatever stands before it; for a model it is no way around the name.
    expect(said(await toolbox.call('mcp://far/one', {}))).toBe('called');
    expect((await toolbox.call('mcp://far/one', {}, { caller: MODEL })).error?.code).toBe('not_found');
    expect(said(await toolbox.call('mcp://far/two', {}, { caller: MODEL }))).toBe('called');
  });

  spec('RES-42', 'take no name of a built-in tool', async () => {
    const workspace = createWorkspace();
    configureServers(workspace, { read: serverWith(workspace, 'read', ['result', 'skill', 'other']) });
    const client = await connectStdio(workspace, 'newer');
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'read_result')?.description).not.toBe('The tool result.');
    expect(tools.find(({ name }) => name === 'read_other')?.description).toBe('The tool other.');
    const shown = json(await wield(workspace, ['show', 'read_result', '--json']));
    expect(JSON.stringify(shown)).not.toContain('The tool result.');
  });
});
