// Profiles narrow what a client may use.

import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name);

function createTools(config: string): Workspace {
  const workspace = createWorkspace();
  for (const name of ['read', 'write', 'deploy'])
    workspace.script(name, shellScript(`echo "${name} $KEY_A $KEY_B $OTHER"`, '@param op string What to do'));
  workspace.config(config);
  return workspace;
}

describe('a profile', () => {
  spec('POL-24', 'narrows what is listed and called, at the shell and over MCP', async () => {
    const workspace = createTools('[profiles.review]\ntools = ["read", "write(op=log)"]\n');
    const client = await connectStdio(workspace, 'newer', ['--trust', '--profile', 'review']);
    expect(names((await client.listTools()).tools)).toEqual(['read', 'write', 'query_result', 'read_result']);
    const call = async (name: string, args: Record<string, unknown> = {}) =>
      ((await client.callTool({ name, arguments: args }))._meta?.['wield/error'] as { code: string })?.code;
    expect(await call('read')).toBeUndefined();
    expect(await call('write', { op: 'log' })).toBeUndefined();
    expect(await call('write', { op: 'push' })).toBe('denied');
    expect(await call('deploy')).toBe('denied');
    const listed = json(await wield(workspace, ['list', '--profile', 'review', '--json']));
    expect(names(listed.tools)).toEqual(['read', 'write']);
    const denied = await wield(workspace, ['list', '--profile', 'review', '--all']);
    expect(denied.stdout).toMatch(/deploy .*denied: profile review does not select it/);
  });

  spec('POL-24', 'never allows more than the configuration', async () => {
    const workspace = createTools(
      'allowed-tools = "* deploy($deny)"\n[trust]\nrules = "write"\n' +
        '[profiles.wide]\ntools = "*"\nrules = "*($policy=allow)"\n[profiles.strict]\nrules = "read"\n',
    );
    const code = async (profile: string, name: string) => {
      const toolbox = workspace.toolbox({ profile, trust: true });
      return (await toolbox.call(name, {}, MODEL)).error?.code;
    };
    expect(await code('wide', 'deploy')).toBe('denied');
    expect(await code('wide', 'write')).toBe('needs_approval');
    expect(await code('wide', 'read')).toBeUndefined();
    expect(await code('strict', 'read')).toBe('needs_approval');
    // A project can add to a profile of the user, and only narrows it.
    workspace.write('.agents/config.toml', '[profiles.wide]\ntools = "write"\nrules = "*($policy=allow)"\n');
    expect(await code('wide', 'read')).toBe('denied');
    expect(await code('wide', 'write')).toBe('needs_approval');
  });

  spec('POL-24 EXE-2', 'passes only variables that are granted and that it names', async () => {
    const workspace = createTools(
      '[env]\npass = ["KEY_*"]\n[tools.write.env]\npass = ["OTHER"]\n[profiles.few]\nenv = ["KEY_A", "LD_PRELOAD"]\n',
    );
    const env = { ...workspace.env, KEY_A: 'alpha', KEY_B: 'beta', OTHER: 'other', LD_PRELOAD: '' };
    const said = async (profile: string | undefined, name: string) =>
      textOf(await workspace.toolbox({ env, ...(profile === undefined ? {} : { profile }) }).call(name, {}));
    expect(await said(undefined, 'read')).toBe('read alpha beta \n');
    expect(await said('few', 'read')).toBe('read alpha  \n');
    expect(await said(undefined, 'write')).toBe('write alpha beta other\n');
    expect(await said('few', 'write')).toBe('write alpha  \n');
  });

  spec('POL-24 POL-9', 'that is unknown, disappears or has an unknown key allows nothing', async () => {
    const workspace = createTools('[profiles.review]\ntools = "read"\n');
    const unknown = await wield(workspace, ['list', '--profile', 'reviw']);
    expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('did you mean review?') });
    const toolbox = workspace.toolbox({ profile: 'review', trust: true });
    const code = async () => (await toolbox.call('read', {}, MODEL)).error?.code;
    expect(await code()).toBeUndefined();
    workspace.config('repair = true\n');
    expect(await code()).toBe('denied');
    expect(await toolbox.list(MODEL)).toEqual([]);
    for (const text of ['tool = "read"', 'tools = 1', 'env = "A"', 'rules = "a("', 'anything = 1']) {
      workspace.config(`[profiles.review]\ntools = "read"\n${text}\n`);
      expect([text, await code()]).toEqual([text, 'denied']);
    }
  });

  spec('POL-24 SRV-11 SRV-9', 'and a mode are written by connect, and a profile can set the mode', async () => {
    const workspace = createTools('[profiles.review]\ntools = "read"\nmode = "search"\n');
    const printed = await wield(workspace, [
      'connect',
      'claude-code',
      '--profile',
      'review',
      '--mode',
      'all',
      '--print',
    ]);
    expect(printed.stdout.replace(/\s+/g, ' ')).toContain('"serve", "--profile", "review", "--mode", "all"');
    expect((await wield(workspace, ['connect', 'claude-code', '--profile', 'none', '--print'])).status).toBe(2);
    const shown = await workspace.toolbox({ profile: 'review' }).list(MODEL);
    expect(names(shown)).toContain('search_tools');
    expect(names(await workspace.toolbox().list(MODEL))).not.toContain('search_tools');
    const found = await workspace
      .toolbox({ profile: 'review', trust: true })
      .call('search_tools', { queries: ['read', 'deploy'] }, MODEL);
    expect(textOf(found)).toContain('read(');
    expect(textOf(found)).not.toContain('deploy');
  });

  spec('POL-24 RES-48', 'with a selector that matches nothing fails closed and says so', async () => {
    const workspace = createTools(
      '[tools.read]\nname = "look"\n[profiles.review]\ntools = ["look", "wrte", "deploy", "resource:x"]\n',
    );
    const warnings = [
      /warning +.*config\.toml:\d+ look matches no tool; it is a new name, which rules and profiles do not use: write read\n/,
      /warning +.*config\.toml:\d+ wrte matches no tool; did you mean write\?\n/,
    ];
    for (const args of [['list'], ['tokens', '--json'], ['connect', 'claude-code', '--print']]) {
      const { stderr } = await wield(workspace, [...args, '--profile', 'review']);
      for (const warning of warnings) expect(stderr).toMatch(warning);
      expect(stderr.match(/matches no tool/g)).toHaveLength(2);
    }
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toContain('look matches no tool');
    expect(names(await workspace.toolbox({ profile: 'review' }).list(MODEL))).not.toContain('look');
    const { stderr } = await wield(workspace, ['list']);
    expect(stderr).not.toContain('matches no tool');
  });
});
