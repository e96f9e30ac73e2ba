// Tokens with a profile: what their users see and call, and profiles that do not exist.

import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { callTool, connectUrl } from '../../support/clients.js';
import { serveUrl } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { asUser, callRaw, createTeam } from '../../support/team.js';
import type { Workspace } from '../../support/workspace.js';

const BUILD = '[profiles.build]\ntools = ["hello", "env"]\nrules = ["hello(text=secret,$deny)"]\nenv = ["SHOWN"]\n';

function createLimited(profiles = BUILD, named = 'build'): { workspace: Workspace; set: (profiles: string) => void } {
  const workspace = createTeam({ ada: [], ci: [] });
  const text = (more: string): string =>
    [
      '[env]\npass = ["SHOWN", "HIDDEN"]\n[serve.tokens.ada]\nfile = "~/ada.token"\n',
      `[serve.tokens.ci]\nfile = "~/ci.token"\nprofile = "${named}"\n`,
      more,
    ].join('\n');
  const set = (more: string): void => workspace.config(text(more));
  set(profiles);
  return { workspace, set };
}

const namesOf = async (url: string, user: string): Promise<string[]> => {
  const client = await connectUrl(url, 'older', undefined, asUser(user));
  return (await client.listTools()).tools.map(({ name }) => name);
};

describe.concurrent('a token with a profile', () => {
  spec('IDN-12', 'limits what its user lists, calls and reads, and nobody else', async () => {
    const { workspace } = createLimited();
    const prints = 'echo "${SHOWN:+shown} ${HIDDEN:+hidden}"';
    workspace.script('env', `#!/bin/sh\n# @description Prints\n${prints}\n`);
    workspace.env.SHOWN = 'value-one';
    workspace.env.HIDDEN = 'value-two';
    const url = await serveUrl(workspace, ['--trust']);
    expect(await namesOf(url, 'ada')).toEqual(expect.arrayContaining(['deploy', 'env', 'hello']));
    const limited = await namesOf(url, 'ci');
    expect(limited).toContain('hello');
    expect(limited).not.toContain('deploy');
    expect((await callRaw(url, asUser('ada'), 'env')).text).toContain('shown hidden');
    expect((await callRaw(url, asUser('ci'), 'env')).text.trim()).toBe('shown');
    expect((await callRaw(url, asUser('ci'), 'hello', { text: 'x' })).text).toContain('ran hello x');
    expect((await callRaw(url, asUser('ci'), 'hello', { text: 'secret' })).isError).toBe(true);
    expect((await callRaw(url, asUser('ci'), 'deploy')).isError).toBe(true);
    expect((await callRaw(url, asUser('ada'), 'deploy')).text).toContain('ran deploy');
    expect((await callRaw(url, asUser('ada'), 'hello', { text: 'secret' })).text).toContain('ran hello secret');
  });

  spec('IDN-12', 'is limited by the profile of the server too', async () => {
    const both =
      '[profiles.build]\ntools = ["hello", "deploy"]\n[profiles.small]\ntools = ["hello"]\nrules = ["hello(text=no,$deny)"]\n';
    const url = await serveUrl(createLimited(both).workspace, ['--trust', '--profile', 'small']);
    expect(await namesOf(url, 'ci')).not.toContain('deploy');
    expect((await callRaw(url, asUser('ci'), 'deploy')).isError).toBe(true);
    expect((await callRaw(url, asUser('ci'), 'hello', { text: 'no' })).isError).toBe(true);
    expect((await callRaw(url, asUser('ci'), 'hello', { text: 'yes' })).text).toContain('ran hello');
  });

  spec('IDN-12', 'that is unknown lets nobody in, and is named; one that disappears likewise', async () => {
    const { workspace, set } = createLimited(BUILD, 'biuld');
    expect((await wield(workspace, ['doctor'])).stdout).toMatch(/token of ci has the unknown profile "biuld".*build/s);
    const url = await serveUrl(workspace, ['--trust']);
    expect((await callRaw(url, asUser('ci'), 'hello')).status).toBe(401);
    expect((await callRaw(url, asUser('ada'), 'hello')).text).toContain('ran hello');
    set(`${BUILD}[profiles.biuld]\ntools = ["hello"]\n`);
    expect((await callRaw(url, asUser('ci'), 'hello')).text).toContain('ran hello');
    set(BUILD);
    expect((await callRaw(url, asUser('ci'), 'hello')).status).toBe(401);
  });

  spec('IDN-12', 'cannot be left by other ways to call: call_tool, a program, a session begun before', async () => {
    const { workspace, set } = createLimited('[profiles.build]\ntools = ["hello", "deploy"]\nmode = "search"\n');
    const url = await serveUrl(workspace, ['--trust', '--with', 'run_code']);
    const client = await connectUrl(url, 'older', undefined, asUser('ci'));
    expect((await callTool(client, 'call_tool', { name: 'deploy', input: {} })).isError).not.toBe(true);
    set('[profiles.build]\ntools = ["hello"]\nmode = "search"\n');
    expect((await callTool(client, 'call_tool', { name: 'deploy', input: {} })).isError).toBe(true);
    expect((await callTool(client, 'call_tool', { name: 'hello', input: {} })).isError).not.toBe(true);
    const program = await callRaw(url, asUser('ci'), 'run_code', { code: 'return await tools.deploy({})' });
    expect(program.text).not.toContain('ran deploy');
    const caller = { kind: 'model', door: 'mcp', user: 'ci', profile: 'none' } as const;
    expect((await workspace.toolbox({ trust: true }).call('hello', {}, { caller })).error?.code).toBe('denied');
  });
});
