// Tests of names of upstream tools: encoding, collisions, selection and precedence.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { defineTool, textOf } from '../../../src/index.js';
import { toToolName } from '../../../src/upstream/catalog/name.js';
import { json, wield } from '../../support/cli.js';
import { ALL_TESTS, rounds } from '../../support/effort.js';
import type { Message } from '../../support/server.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createUpstreamWorkspace, remoteTool, type UpstreamWorkspace } from '../../support/upstream-workspace.js';

const TOOL_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

interface Named {
  readonly name: string;
  readonly uri: string;
}

async function survey(workspace: UpstreamWorkspace): Promise<{ tools: Named[]; problems: Message[] }> {
  const { tools, problems } = json(await wield(workspace, ['list', '--json']));
  return { tools: tools.map(({ name, uri }: Message) => ({ name, uri })), problems };
}

function listing(tools: readonly string[], more: Record<string, unknown> = {}): UpstreamWorkspace {
  const workspace = createUpstreamWorkspace({ odd: { mode: 'changing', more } });
  workspace.tools(
    'odd',
    tools.map((name) => remoteTool(name)),
  );
  return workspace;
}

describe('encoding', () => {
  spec.thorough('UPS-2', 'every server and tool name makes a valid name, deterministically', () => {
    const text = fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), fc.string({ minLength: 1 }));
    fc.assert(
      fc.property(text, text, (server, tool) => {
        const name = toToolName(server, tool);
        expect(name).toMatch(TOOL_NAME);
        expect(toToolName(server, tool)).toBe(name);
        const whole = `${server}_${tool}`;
        const encoded = whole.replace(/[^A-Za-z0-9_-]/gu, '_').replace(/^-/, '_');
        expect(name).toBe(encoded.length <= 64 ? encoded : `${encoded.slice(0, 55)}_${hashOf(whole)}`);
      }),
      { numRuns: rounds(ALL_TESTS ? 100 : 40, 20_000) },
    );
  });

  spec('UPS-2', 'replaces invalid characters by _, and cuts long names with a hash', async () => {
    const long = 'x'.repeat(500);
    const { tools, problems } = await survey(
      listing(['plain', 'with.dot', 'a b\nc', 'größe', 'go🚀', '-dash', long, 'a'.repeat(60), 'a'.repeat(61)]),
    );
    expect(problems).toEqual([]);
    expect(Object.fromEntries(tools.map(({ name, uri }) => [decodeURIComponent(uri.slice(10)), name]))).toEqual({
      plain: 'odd_plain',
      'with.dot': 'odd_with_dot',
      'a b\nc': 'odd_a_b_c',
      größe: 'odd_gr__e',
      'go🚀': 'odd_go_',
      '-dash': 'odd_-dash',
      [long]: `odd_${'x'.repeat(51)}_${hashOf(`odd_${long}`)}`,
      ['a'.repeat(60)]: `odd_${'a'.repeat(60)}`,
      ['a'.repeat(61)]: `odd_${'a'.repeat(51)}_${hashOf(`odd_${'a'.repeat(61)}`)}`,
    });
  });

  spec('UPS-2', 'calls a tool by its own name, and finds it by its URI in either spelling', async () => {
    const workspace = createUpstreamWorkspace({ 'my server': { mode: 'changing' } });
    workspace.tools('my server', [remoteTool('a/b c'), remoteTool('a.b')]);
    const toolbox = workspace.toolbox();
    for (const ref of ['my_server_a_b_c', 'mcp://my%20server/a%2Fb%20c', 'mcp://my server/a/b c'])
      expect(textOf(await toolbox.call(ref, {}))).toBe('called a/b c');
    expect((await toolbox.find('mcp://my%20server/a.b')).name).toBe('my_server_a_b');
    expect((await toolbox.call('mcp://my%20server/none', {})).error?.code).toBe('not_found');
    expect((await toolbox.call('mcp://other/a.b', {})).error?.code).toBe('not_found');
  });

  spec('UPS-2', 'rejects names that are invalid text or too long', async () => {
    const workspace = createUpstreamWorkspace({ odd: { mode: 'raw' } });
    const schema = '"inputSchema":{"type":"object"}';
    workspace.tools(
      'odd',
      `[{"name":"half\\ud83d",${schema}},{"name":"${'y'.repeat(513)}",${schema}},{"name":"ok",${schema}}]`,
    );
    const { tools, problems } = await survey(workspace);
    expect(tools.map(({ name }) => name)).toEqual(['odd_ok']);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/has a name with invalid characters/),
      expect.stringMatching(/has a name of more than 512 characters/),
    ]);
  });
});

describe('collisions', () => {
  spec.thorough('UPS-2', 'within a server the first tool is used and the other reported', async () => {
    const workspace = listing(['a.b', 'a/b', 'a_b', 'c']);
    const { tools, problems } = await survey(workspace);
    expect(tools).toEqual([
      { name: 'odd_a_b', uri: 'mcp://odd/a.b' },
      { name: 'odd_c', uri: 'mcp://odd/c' },
    ]);
    expect(problems).toEqual([
      expect.objectContaining({
        message: 'mcp://odd/a%2Fb is not offered: its name odd_a_b is taken by mcp://odd/a.b',
        hint: 'report this to the author of the server',
      }),
      expect.objectContaining({ message: expect.stringContaining('mcp://odd/a_b is not offered') }),
    ]);
    expect(textOf(await workspace.toolbox().call('odd_a_b', {}))).toBe('called a.b');
  });

  spec('UPS-2', 'between servers the one configured first is used', async () => {
    const workspace = createUpstreamWorkspace({ 'one.two': { mode: 'changing' }, one: { mode: 'changing' } });
    workspace.tools('one.two', [remoteTool('three')]);
    workspace.tools('one', [remoteTool('two_three'), remoteTool('four')]);
    const { tools, problems } = await survey(workspace);
    expect(tools).toEqual([
      { name: 'one_four', uri: 'mcp://one/four' },
      { name: 'one_two_three', uri: 'mcp://one.two/three' },
    ]);
    expect(problems).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('mcp://one/two_three is not offered'),
        hint: 'rename one of the servers',
      }),
    ]);
    expect(textOf(await workspace.toolbox().call('one_two_three', {}))).toBe('called three');
  });
});

describe('selection', () => {
  const names = async (more: Record<string, unknown>): Promise<string[]> =>
    (await survey(listing(['read', 'write', 'write.all', 'drop'], more))).tools.map(({ name }) => name);

  spec.thorough('UPS-2', 'allow and deny match names at the server and in the catalog', async () => {
    expect(await names({ allow: ['read', 'odd_drop'] })).toEqual(['odd_drop', 'odd_read']);
    expect(await names({ deny: ['write*', 'odd_drop'] })).toEqual(['odd_read']);
    expect(await names({ allow: ['*'], deny: ['odd_*'] })).toEqual([]);
    expect(await names({ allow: [] })).toEqual([]);
    expect(await names({ allow: ['write', 'read'], deny: ['write'] })).toEqual(['odd_read']);
  });

  spec('UPS-2', 'tools that are not selected are not found', async () => {
    const toolbox = listing(['read', 'write'], { deny: ['write'] }).toolbox();
    expect(textOf(await toolbox.call('odd_read', {}))).toBe('called read');
    for (const ref of ['odd_write', 'mcp://odd/write'])
      expect((await toolbox.call(ref, {})).error?.code).toBe('not_found');
  });
});

describe('precedence', () => {
  const crowded = (): UpstreamWorkspace => {
    const workspace = listing(['script', 'given', 'own']);
    for (const name of ['odd_script', 'odd_given']) workspace.script(name, shellScript(`printf 'script ${name}'`));
    return workspace;
  };
  const given = defineTool({ name: 'odd_given', description: 'Given by code.', execute: () => 'by code' });

  spec('RES-42', 'precedence: tools in code, then of servers, then on disk', async () => {
    const toolbox = crowded().toolbox({ tools: [given] });
    expect(textOf(await toolbox.call('odd_given', {}))).toBe('by code');
    expect(textOf(await toolbox.call('odd_script', {}))).toBe('called script');
    expect(textOf(await toolbox.call('odd_own', {}))).toBe('called own');
    // A URI finds a tool whose name is shadowed.
    expect(textOf(await toolbox.call('mcp://odd/given', {}))).toBe('called given');
  });

  spec('RES-8 RES-42', 'are listed in that order, each group by name, and shadowed tools are reported', async () => {
    const workspace = crowded();
    workspace.script('aaa', shellScript('printf aaa'));
    const toolbox = workspace.toolbox({ tools: [given] });
    await toolbox.find('odd_own');
    const tools = await toolbox.list();
    expect(tools.map(({ name }) => name)).toEqual(['odd_given', 'odd_own', 'odd_script', 'aaa']);
    const { shadowed } = await toolbox.catalog.survey();
    expect(shadowed.map(({ tool, by }) => [tool.name, tool.origin.format, by.origin.format]).sort()).toEqual([
      ['odd_given', 'script', 'module'],
      ['odd_given', 'upstream', 'module'],
      ['odd_script', 'script', 'upstream'],
    ]);
  });

  spec('RES-42', 'a reserved name stays with the built-in tool', async () => {
    const workspace = createUpstreamWorkspace({ read: { mode: 'changing' } });
    workspace.tools('read', [remoteTool('result'), remoteTool('skill')]);
    const toolbox = workspace.toolbox();
    await toolbox.list();
    for (const name of ['read_result', 'read_skill'])
      expect((await toolbox.find(name)).origin.format).not.toBe('upstream');
    expect(textOf(await toolbox.call('mcp://read/result', {}))).toBe('called result');
    // A model can use a URI only for tools that it is offered.
    const model = { caller: { kind: 'model', door: 'test' } } as const;
    expect((await toolbox.call('mcp://read/result', {}, model)).error?.code).toBe('not_found');
  });
});
