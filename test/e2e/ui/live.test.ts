// Calls of all processes, the event stream, the recorder, the token ledger, and the page beside a server.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { PageEvent } from '../../../src/ui/api.js';
import { askFor, createAskingWorkspace } from '../../support/approvals.js';
import { logFiles } from '../../support/audit.js';
import { json, wield, wieldProcess } from '../../support/cli.js';
import { connectUrl } from '../../support/clients.js';
import { eventsOf, followPage, openPage } from '../../support/page.js';
import { patience } from '../../support/patience.js';
import { share } from '../../support/share.js';
import { ROOT } from '../../support/sources.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const opened = share(async () => {
  const workspace = createAskingWorkspace();
  workspace.script(
    'wait',
    '#!/bin/sh\n# @description Wait.\nwhile [ ! -e "$WIELD_WORKDIR/go" ]; do sleep 0.05; done\necho went\n',
  );
  workspace.write(
    '.agents/tools/outer.tool.ts',
    `export default {
      name: 'outer', description: 'Call another tool.',
      execute: async (_input, { toolbox }) => (await toolbox.call('wait', {})).content[0].text,
    };\n`,
  );
  workspace.script(
    'login',
    '#!/bin/sh\n# @description Log in.\n# @param *password string Secret\necho "hi, your password is $WIELD_PARAM_PASSWORD"\n',
  );
  return { workspace, page: await openPage(workspace) };
});

describe('live calls', () => {
  spec('UI-12 UI-21', 'shows calls of other processes while they run, then finished, as a tree', async () => {
    const { workspace, page } = opened();
    const { events, end } = await followPage(page);
    const last = (type: PageEvent['type']) => events.filter((event) => event.type === type).at(-1);
    const done = wieldProcess(workspace, ['call', 'outer', '--trust']);
    const names = () => {
      const event = last('running');
      return event?.type === 'running' ? event.running.map(({ tool }) => tool).sort() : [];
    };
    await expect.poll(names, { timeout: patience(120_000) }).toEqual(['outer', 'wait']);
    const { running } = (await page.get('/api/calls')).json;
    const [outer, inner] = ['outer', 'wait'].map((tool) => running.find((one: { tool: string }) => one.tool === tool));
    expect(inner.parent).toBe(outer.id);
    expect(outer).toMatchObject({ parent: null, kind: 'person', door: 'cli', workdir: workspace.dir });
    expect(outer.pid).not.toBe(process.pid);
    expect(JSON.stringify(running)).not.toContain('input');
    workspace.write('go', '');
    expect((await done).stdout).toContain('went');
    await expect.poll(names, { timeout: patience(120_000) }).toEqual([]);
    await expect
      .poll(() => events.filter(({ type }) => type === 'call').length, { timeout: patience(120_000) })
      .toBe(2);
    const { calls } = (await page.get('/api/calls')).json;
    expect(calls.map(({ tool, id, parent }: Record<string, string>) => [tool, id, parent])).toEqual([
      ['wait', inner.id, outer.id],
      ['outer', outer.id, null],
    ]);
    expect(readdirSync(join(workspace.env.WIELD_HOME!, 'running'))).toEqual([]);
    await askFor(workspace, 'seen');
    await expect
      .poll(() => last('approvals'), { timeout: patience(120_000) })
      .toEqual({ type: 'approvals', pending: 1 });
    end();
  });

  spec('UI-12', 'ignores and removes files of processes that are gone, and damaged ones', async () => {
    const { workspace, page } = opened();
    const directory = join(workspace.env.WIELD_HOME!, 'running');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const row = { pid: 1, call: 'c1', parent: null, caller: 'x', kind: 'model', door: 'x', tool: 'x', workdir: '/' };
    const text = JSON.stringify({ ...row, since: new Date().toISOString() });
    const { status } = await wieldProcess(workspace, ['version']);
    expect(status).toBe(0);
    writeFileSync(join(directory, '4194304-1-c1.json'), text, { mode: 0o600 });
    writeFileSync(join(directory, `${process.pid}-1-c1.json`), text, { mode: 0o600 });
    writeFileSync(join(directory, `${process.pid}-0-c2.json`), '{"pid":', { mode: 0o600 });
    writeFileSync(join(directory, 'notes.txt'), 'x', { mode: 0o600 });
    expect((await page.get('/api/calls')).json.running).toEqual([]);
    expect(readdirSync(directory).sort()).toEqual([`${process.pid}-0-c2.json`, 'notes.txt'].sort());
  });
});

describe('the recorder', () => {
  const run = async (tool: string, input: object) => {
    const { page } = opened();
    const { digest } = (await page.post('/api/plan', { tool, input })).json;
    return eventsOf(await page.post('/api/run', { tool, input, digest })).at(-1).result;
  };

  spec('UI-16', 'keeps input and result without secrets, exports them, and saves a case', async () => {
    const { workspace, page } = opened();
    await run('login', { password: 'correct horse' });
    await run('deploy', { branch: "it's" });
    const { calls } = (await page.get('/api/recording')).json;
    expect(JSON.stringify(calls)).not.toContain('correct horse');
    expect(calls.find(({ tool }: { tool: string }) => tool === 'login')).toMatchObject({
      caller: { kind: 'person', door: 'ui' },
      result: { ok: true },
    });
    const { call } = calls.find(({ tool }: { tool: string }) => tool === 'deploy');
    const row = (await page.get('/api/calls')).json.calls.find((one: { recorded?: string }) => one.recorded === call);
    expect(row).toMatchObject({ tool: 'deploy', door: 'ui', sandbox: null });
    const { line, test } = (await page.get(`/api/recording/${call}/export`)).json;
    expect(line).toBe(`wield call deploy --input '{"branch":"it'\\''s"}'`);
    // The words that a shell makes of it.
    const words = execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' }).split('\n');
    expect(JSON.parse(words[4]!)).toEqual({ branch: "it's" });
    expect(test).toContain(`toolbox.call("deploy", {"branch":"it's"})`);
    const saved = await page.post('/api/cases', { call, name: 'deploy-quote' });
    expect(saved.json.file).toBe(join(workspace.env.WIELD_HOME!, 'cases/deploy-quote.ndjson'));
    expect((await page.post('/api/cases', { call, name: 'deploy-quote' })).status).toBe(409);
    for (const name of ['../x', 'a/b', '.hidden', '', 'A'])
      expect((await page.post('/api/cases', { call, name })).status).toBe(400);
    const before = workspace.runs().length;
    const replayed = await wield(workspace, ['replay', saved.json.file, 'call', 'deploy', '--branch', "it's"]);
    expect([replayed.status, replayed.stdout]).toEqual([0, 'deployed\n']);
    expect(workspace.runs().length).toBe(before);
  });

  spec.thorough('UI-16', 'exports a test that runs and passes', async () => {
    const { workspace, page } = opened();
    await run('login', { password: 'x' });
    workspace.script('plain', '#!/bin/sh\n# @description Plain.\necho "1 < 2"\n');
    await run('plain', {});
    const { call } = (await page.get('/api/recording')).json.calls.at(-1);
    const { test } = (await page.get(`/api/recording/${call}/export`)).json;
    workspace.write('plain.test.mjs', test);
    mkdirSync(join(workspace.dir, 'node_modules'), { recursive: true });
    if (!existsSync(join(workspace.dir, 'node_modules/wield')))
      symlinkSync(ROOT, join(workspace.dir, 'node_modules/wield'));
    const output = execFileSync(process.execPath, ['--test', 'plain.test.mjs'], {
      cwd: workspace.dir,
      env: workspace.env,
      encoding: 'utf8',
    });
    expect(output).toMatch(/pass 1/);
  });
});

describe('the ledger', () => {
  spec('UI-18', 'counts definitions, inputs and results per tool, server and client', async () => {
    const { workspace, page } = opened();
    const { tools, servers, clients } = (await page.get('/api/tokens')).json;
    const counted = json(await wield(workspace, ['tokens', '--json'])).tools;
    const deploy = tools.find(({ name }: { name: string }) => name === 'deploy');
    expect(deploy.definition).toBe(counted.find(({ name }: { name: string }) => name === 'deploy').tokens);
    expect(deploy.calls).toBeGreaterThan(0);
    const sum = (rows: { results: number }[]) => rows.reduce((total, { results }) => total + results, 0);
    expect(sum(servers)).toBe(sum(tools));
    expect(clients.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['ui', 'cli']));
  });

  spec('OBS-17', 'has the sums of wield audit --stats, and calls have their session', async () => {
    const { workspace, page } = opened();
    await wield(workspace, ['call', 'login', '--password', 'x']);
    const { tools } = (await page.get('/api/tokens')).json;
    const stats = json(await wield(workspace, ['audit', '--stats', '--json']));
    for (const { name, calls, refused, p50Ms, p99Ms } of stats.tools)
      expect(tools).toContainEqual(expect.objectContaining({ name, calls, refused, p50Ms, p99Ms }));
    const { calls } = (await page.get('/api/calls')).json;
    expect(calls.at(-1).session).toMatch(/^\d+-[\da-z]+$/);
  });
});

describe('a large log', () => {
  spec('UI-26', 'is read in pieces, and other requests are answered in between', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', '#!/bin/sh\n# @description Say hello.\necho hello\n');
    await wield(workspace, ['call', 'hello']);
    const [file] = logFiles(workspace);
    const record = readFileSync(file!, 'utf8');
    writeFileSync(file!, record.repeat(Math.ceil((8 * 1024 * 1024) / record.length)));
    const page = await openPage(workspace);
    const order: string[] = [];
    const ask = async (path: string) => {
      const { json } = await page.get(path);
      order.push(path);
      return json;
    };
    const [{ calls }] = await Promise.all([ask('/api/calls'), ask('/api/session')]);
    expect(order).toEqual(['/api/session', '/api/calls']);
    expect(calls.length).toBe(500);
  });

  spec('UI-80', 'of another directory leaves room for the calls of this one', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', '#!/bin/sh\n# @description Say hello.\necho hello\n');
    await wield(workspace, ['call', 'hello']);
    const [file] = logFiles(workspace);
    const record = readFileSync(file!, 'utf8');
    writeFileSync(file!, record + record.replaceAll(`"${workspace.dir}"`, '"/elsewhere"').repeat(1200));
    const { calls } = (await (await openPage(workspace)).get('/api/calls')).json;
    const of = (workdir: string): number =>
      calls.filter((call: { workdir: string }) => call.workdir === workdir).length;
    expect([of(workspace.dir), of('/elsewhere')]).toEqual([1, 500]);
  });
});

describe('a server with a page', () => {
  spec('UI-22', 'shows its calls on a port of 127.0.0.1, and needs --http', async () => {
    const { workspace } = opened();
    const page = await openPage(workspace, ['serve', '--http', '0', '--trust', '--ui']);
    const client = await connectUrl(page.printed().split('\n')[0]!, 'newer');
    await client.callTool({ name: 'login', arguments: { password: 'correct horse' } });
    const { calls } = (await page.get('/api/recording')).json;
    expect(calls.at(-1)).toMatchObject({ tool: 'login', caller: { kind: 'model', door: 'mcp' } });
    expect(JSON.stringify(calls)).not.toContain('correct horse');
    const refused = await wield(workspace, ['serve', '--ui', '--json']);
    expect([refused.status, json(refused).error.message]).toEqual([2, '--ui needs --http']);
    const wide = await openPage({ ...workspace, env: { ...workspace.env, WIELD_TOKEN: 'a-long-enough-token' } }, [
      'serve',
      '--http',
      '0.0.0.0:0',
      '--ui',
    ]);
    expect(wide.printed()).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/mcp\nhttp:\/\/127\.0\.0\.1:\d+\/#/);
    expect((await wide.get('/api/session')).status).toBe(200);
    expect(readFileSync('/proc/net/tcp', 'utf8')).toMatch(
      new RegExp(`0100007F:${Number(new URL(wide.url).port).toString(16).toUpperCase().padStart(4, '0')} `),
    );
  });
});
