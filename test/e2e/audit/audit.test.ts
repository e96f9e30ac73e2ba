// The audit log: one record per call at every door, and `wield audit`.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { type LogRecord, logDirectory, logFiles, logRecords, logText, parseLine } from '../../support/audit.js';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { connectHttp, connectStdio } from '../../support/clients.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { sleep } from '../../support/processes.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const MODEL = { kind: 'model', door: 'mcp', name: 'cursor' } as const;
const FIELDS = [
  'time',
  'schema',
  'pid',
  'since',
  'call',
  'parent',
  'depth',
  'caller',
  'session',
  'kind',
  'door',
  'tool',
  'format',
  'origin',
  'digest',
  'binary',
  'workdir',
  'verdict',
  'rule',
  'reason',
  'approval',
  'decision',
  'code',
  'durationMs',
  'exitCode',
  'sandbox',
  'inputBytes',
  'inputHash',
  'outputBytes',
  'outputHash',
  'truncated',
  'handle',
  'chain',
  'seq',
  'prev',
  'at',
];

function workspaceWithHello(): Workspace {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript('printf "hello %s" "$WIELD_PARAM_NAME"', '@param name string'));
  return workspace;
}

describe('a record', () => {
  spec('OBS-1', 'has every field, and sizes and hashes instead of contents', async () => {
    const workspace = workspaceWithHello();
    const before = Date.now();
    const toolbox = workspace.toolbox();
    const { origin } = await toolbox.find('hello');
    await toolbox.call('hello', { name: 'Ada' }, { caller: { kind: 'code', door: 'library', name: 'test' } });
    const records = logRecords(workspace);
    expect(records).toHaveLength(1);
    expect(Object.keys(records[0])).toEqual(FIELDS);
    expect(records[0]).toMatchObject({
      pid: process.pid,
      parent: null,
      depth: 0,
      caller: 'library:test',
      kind: 'code',
      door: 'library',
      tool: 'hello',
      format: 'script',
      origin: origin.uri,
      digest: origin.digest,
      binary: join(workspace.dir, '.agents/tools/hello'),
      workdir: workspace.dir,
      verdict: 'allow',
      rule: null,
      code: null,
      approval: null,
      decision: { by: 'default', how: null, at: null },
      exitCode: 0,
      inputBytes: 14,
      inputHash: sha256('{"name":"Ada"}'),
      outputBytes: 9,
      outputHash: sha256('hello Ada'),
      truncated: false,
      handle: null,
    });
    const { time, durationMs } = records[0];
    expect(new Date(time).toISOString()).toBe(time);
    expect(Date.parse(time)).toBeGreaterThanOrEqual(before - 1000);
    expect(Date.parse(time)).toBeLessThanOrEqual(Date.now() + 1000);
    expect(durationMs).toBeGreaterThan(0);
    expect(logText(workspace)).not.toContain('Ada');
  });

  spec('OBS-1', 'of every kind is as its schema says, as is the line of its start', async () => {
    const workspace = workspaceWithHello();
    workspace.config('[audit]\ncontents = true\n[trust]\nrules = ["asks($policy=ask)", "never($deny)"]\n');
    for (const name of ['asks', 'never', 'fails']) workspace.script(name, shellScript('echo "$0" >&2; exit 3'));
    await wield(workspace, ['call', 'hello', '--name', 'Ada']);
    await wield(workspace, ['call', 'asks', '--yes']);
    for (const name of ['asks', 'never', 'fails', 'hello', 'nothing']) await wield(workspace, ['call', name]);
    const session = await connectStdio(workspace, 'newer', ['--trust']);
    await session.callTool({ name: 'hello', arguments: { name: 'Ada' } });
    await session.close();
    const lines = logText(workspace).trim().split('\n').map(parseLine);
    for (const line of lines) expect(line.schema).toBe(1);
    const kinds = lines.map(({ started, kind, verdict, code }) => `${started ? 'start' : code} ${kind} ${verdict}`);
    expect([...new Set(kinds)].sort()).toEqual([
      'denied person deny',
      'needs_approval person ask',
      'not_found person null',
      'null model allow',
      'null person allow',
      'start model allow',
      'start person allow',
      'start person ask',
      'tool_failed person allow',
      'tool_failed person ask',
    ]);
    expect(() => parseLine('{"schema":1,"time":"2026-01-01T00:00:00.000Z"}')).toThrow("required property 'pid'");
  });

  spec('OBS-1', 'hashes a large output as any other program would', async () => {
    const workspace = createWorkspace();
    workspace.script('large', shellScript('yes line | head -n 100000'));
    await workspace.toolbox().call('large', {});
    expect(logRecords(workspace)).toMatchObject([
      { outputBytes: 500_000, outputHash: sha256('line\n'.repeat(100_000)) },
    ]);
  });

  spec('TJS-14', 'names the program that a declared command ran, by absolute path', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes', { 'tools.json': declare([{ param: 'query' }]) });
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('run', { query: 'x' })).ok).toBe(true);
    expect(logRecords(workspace)).toMatchObject([{ code: null, binary: join(workspace.bin, 'args') }]);
  });

  spec('OBS-1', 'is written exactly once for every outcome of a call', async () => {
    const workspace = workspaceWithHello();
    workspace.script('fails', shellScript('exit 3'));
    workspace.script('slow', shellScript('sleep 30'));
    workspace.script('large', shellScript('echo x', '@param text string'));
    const toolbox = workspace.toolbox();
    const cancelled = new AbortController();
    cancelled.abort();
    await toolbox.call('hello', { name: 'Ada' });
    await toolbox.call('hello', { nmae: 'Ada' });
    await toolbox.call('hello', { name: undefined, other: () => 1 });
    await toolbox.call('large', { text: 'x'.repeat(11 * 1024 * 1024) });
    await toolbox.call('nothing', {});
    await toolbox.call('no/such name', {});
    await toolbox.call('fails', {});
    await toolbox.call('slow', {}, { timeoutMs: 50 });
    await toolbox.call('hello', {}, { signal: cancelled.signal });
    await toolbox.call('hello', {}, { caller: MODEL });
    const records = logRecords(workspace);
    expect(records.map(({ tool, code }) => [tool, code])).toEqual([
      ['hello', null],
      ['hello', 'invalid_input'],
      ['hello', 'invalid_input'],
      ['large', 'too_large'],
      ['nothing', 'not_found'],
      ['no/such name', 'not_found'],
      ['fails', 'tool_failed'],
      ['slow', 'timeout'],
      ['hello', 'cancelled'],
      ['hello', 'needs_trust'],
    ]);
    expect(records[1]).toMatchObject({
      origin: records[0].origin,
      digest: records[0].digest,
      verdict: null,
      inputHash: sha256('{"nmae":"Ada"}'),
    });
    expect(records[2]).toMatchObject({ inputBytes: null, inputHash: null });
    expect(records[6]).toMatchObject({ exitCode: 3 });
    expect(records[9]).toMatchObject({
      caller: 'mcp:cursor',
      kind: 'model',
      verdict: 'deny',
      reason: 'the workspace is not trusted',
      exitCode: null,
    });
    expect(new Set(records.map(({ call }) => call)).size).toBe(records.length);
  });

  spec('OBS-1', 'is written for calls that the configuration denies', async () => {
    const workspace = workspaceWithHello();
    workspace.config('= = =');
    const run = await wield(workspace, ['call', 'hello']);
    expect(run.status).toBe(5);
    expect(logRecords(workspace)).toMatchObject([{ verdict: 'deny', code: 'denied', caller: 'cli' }]);
  });

  spec('OBS-1', 'is written for nested calls, with their parent', async () => {
    const workspace = workspaceWithHello();
    const outer = defineTool({
      name: 'outer',
      description: 'Calls others.',
      execute: async (_input, { toolbox }) => {
        await toolbox.call('hello', { name: 'one' });
        await toolbox.call('nothing', {});
        return 'done';
      },
    });
    const toolbox = workspace.toolbox({ tools: [outer] });
    await toolbox.call('outer', {}, { caller: { kind: 'model', door: 'mcp', name: 'x' }, trust: true });
    const records = logRecords(workspace);
    expect(records.map(({ tool, depth, caller }) => [tool, depth, caller])).toEqual([
      ['hello', 1, 'mcp:x'],
      ['nothing', 1, 'mcp:x'],
      ['outer', 0, 'mcp:x'],
    ]);
    const [first, second, last] = records;
    expect([first.parent, second.parent, last.parent]).toEqual([last.call, last.call, null]);
  });

  spec('OBS-1', 'is written at every door', async () => {
    const workspace = workspaceWithHello();
    expect((await wield(workspace, ['call', 'hello', '--name', 'Ada'])).stdout).toBe('hello Ada');
    expect((await wield(workspace, ['call', 'hello', '--nme', 'Ada'])).status).toBe(2);
    expect((await wield(workspace, ['call', 'hello', '--input', '{'])).status).toBe(2);
    expect((await wield(workspace, ['call', 'helo', '--json'])).status).toBe(3);
    for (const connect of [connectStdio, connectHttp]) {
      for (const protocol of ['older', 'newer'] as const) {
        const client = await connect(workspace, protocol);
        await client.callTool({ name: 'hello', arguments: { name: protocol } });
        await client.callTool({ name: 'hello', arguments: { wrong: protocol } });
        await client.close();
      }
    }
    await workspace.toolbox().call('hello', {});
    const records = logRecords(workspace);
    const served = [
      ['mcp:test', 'hello', null],
      ['mcp:test', 'hello', 'invalid_input'],
    ];
    expect(records.map(({ caller, tool, code }) => [caller, tool, code])).toEqual([
      ['cli', 'hello', null],
      ['cli', 'hello', 'invalid_input'],
      ['cli', 'hello', 'invalid_input'],
      ['cli', 'helo', 'not_found'],
      ...served,
      ...served,
      ...served,
      ...served,
      ['library', 'hello', null],
    ]);
  });

  spec('OBS-1', 'is not written for a dry run, a listing or help', async () => {
    const workspace = workspaceWithHello();
    await wield(workspace, ['call', 'hello', '--dry-run']);
    await wield(workspace, ['call', 'hello', '--help']);
    await wield(workspace, ['show', 'hello']);
    await wield(workspace, ['list']);
    expect(logFiles(workspace)).toEqual([]);
  });

  spec('OBS-1', 'has contents only if configured', async () => {
    const workspace = workspaceWithHello();
    workspace.config('[audit]\ncontents = true\n[results]\ninline = 1000000\n');
    const toolbox = workspace.toolbox();
    await toolbox.call('hello', { name: 'Ada' });
    await toolbox.call('hello', { nmae: 'Ada' });
    await toolbox.call('hello', { name: 'x'.repeat(50_000) });
    await toolbox.call('hello', { name: '\u0001'.repeat(50_000) });
    const [whole, wrong, long, escaped] = logRecords(workspace);
    expect(whole).toMatchObject({ input: { name: 'Ada' }, output: 'hello Ada' });
    expect(wrong).toMatchObject({ input: { nmae: 'Ada' }, message: expect.stringContaining('nmae') });
    expect(long.input.length).toBeLessThan(20_000);
    expect(long.input).toMatch(/^\{"name":"x+…$/);
    expect(long.output).toMatch(/^hello x+…$/);
    expect(escaped).toMatchObject({ contentsLeftOut: true, code: null });
    // A project can neither enable them nor shorten the log.
    const other = workspaceWithHello();
    other.write('.agents/config.toml', '[audit]\ncontents = true\nrotate = "1K"\nkeep = 1\nrequired = true\n');
    await other.toolbox().call('hello', { name: 'Ada' });
    expect(logText(other)).not.toContain('Ada');
    const { values, problems } = json(await wield(other, ['config', '--json']));
    const value = (key: string) => values.find((entry: { key: string }) => entry.key === key).value;
    expect([value('audit.rotate'), value('audit.keep'), value('audit.required')]).toEqual([10 * 1024 * 1024, 5, false]);
    expect(problems).toHaveLength(4);
  });

  spec('OBS-1', 'is written for any output of a tool', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\ncontents = true\n');
    const give = (name: string, execute: () => unknown) => defineTool({ name, description: 'x', execute });
    let deep: unknown = 1;
    for (let level = 0; level < 20_000; level++) deep = [deep];
    const odd: unknown[] = [
      { content: [{ type: 'text', text: 5 }] },
      { content: [{ type: 'text' }, { type: 'resource' }, { type: 'unheard-of' }] },
      { content: [{ type: 'text', text: 'x' }], structured: deep },
      { content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] },
      undefined,
    ];
    const toolbox = workspace.toolbox({ tools: odd.map((value, at) => give(`odd${at}`, () => value)) });
    for (const at of odd.keys()) await toolbox.call(`odd${at}`, {});
    const records = logRecords(workspace);
    expect(records.map(({ tool }) => tool)).toEqual(odd.map((_, at) => `odd${at}`));
    expect(records[2]).toMatchObject({ code: 'tool_failed' });
    expect(records[3]).toMatchObject({ output: '[image]', outputHash: sha256('aGk=') });
  });

  spec('OBS-1', 'is in a private file of a private directory, with any umask', async () => {
    const workspace = workspaceWithHello();
    const umask = process.umask(0);
    try {
      await workspace.toolbox().call('hello', {});
    } finally {
      process.umask(umask);
    }
    expect(statSync(logDirectory(workspace)).mode & 0o777).toBe(0o700);
    expect(statSync(logFiles(workspace)[0]!).mode & 0o777).toBe(0o600);
  });
});

describe('wield audit', () => {
  async function recorded(): Promise<Workspace> {
    const workspace = workspaceWithHello();
    workspace.script('deploy', shellScript('exit 3'));
    const toolbox = workspace.toolbox();
    await toolbox.call('hello', { name: 'Ada' });
    await toolbox.call('deploy', {}, { caller: { kind: 'person', door: 'cli' } });
    await toolbox.call('deploy', {}, { caller: MODEL });
    await toolbox.call('nothing', {});
    await toolbox.close();
    return workspace;
  }

  const toolsOf = (run: Parameters<typeof json>[0]): string[] =>
    json(run).records.map(({ tool, caller }: LogRecord) => `${caller} ${tool}`);

  spec('OBS-3', 'shows a table, newest last', async () => {
    const workspace = await recorded();
    const all = await wield(workspace, ['audit']);
    expect(all).toMatchObject({ status: 0, stderr: '' });
    const rows = all.stdout.trimEnd().split('\n');
    expect(rows[0]).toMatch(/^ {2}TIME +CALLER +TOOL +RESULT$/);
    expect(rows[1]).toMatch(/^ {2}\d\d:\d\d:\d\d +library +hello +ok, \d+/);
    expect(rows[2]).toMatch(/ cli +deploy +tool_failed$/);
    expect(rows[3]).toMatch(/ mcp:cursor +deploy +needs_trust: the workspace is not trusted$/);
    expect(rows[4]).toMatch(/ library +nothing +not_found$/);
    const denied = await wield(workspace, ['audit', '--denied', '--since', '1d']);
    expect(denied.stdout).toMatch(
      /^ {2}TIME +CALLER +TOOL +WHY\n {2}\S+ +mcp:cursor +deploy +the workspace is not trusted\n$/,
    );
    const fresh = await wield(createWorkspace(), ['audit']);
    expect(fresh).toMatchObject({ status: 0, stdout: 'No calls recorded yet.\n' });
  });

  spec('OBS-3', 'gives the records of the log as JSON, and filters them', async () => {
    const workspace = await recorded();
    const all = await wield(workspace, ['audit', '--json']);
    expect(json(all)).toMatchObject({ ok: true, schema: 1, skipped: 0 });
    expect(json(all).records).toEqual(logRecords(workspace));
    const only = async (...flags: string[]): Promise<string[]> =>
      toolsOf(await wield(workspace, ['audit', '--json', ...flags]));
    expect(await only('--tool', 'dep*')).toEqual(['cli deploy', 'mcp:cursor deploy']);
    expect(await only('--tool', 'dep')).toEqual([]);
    expect(await only('--caller', 'mcp:*')).toEqual(['mcp:cursor deploy']);
    expect(await only('--caller', 'mcp')).toEqual(['mcp:cursor deploy']);
    expect(await only('--denied')).toEqual(['mcp:cursor deploy']);
    expect(await only('--limit', '2')).toEqual(['mcp:cursor deploy', 'library nothing']);
    expect(await only('--since', '1h')).toHaveLength(4);
    expect(await only('--since', new Date(Date.now() + 3_600_000).toISOString())).toEqual([]);
    expect(await only('--since', '2020-01-01')).toHaveLength(4);
    expect(await only('--tool', 'deploy', '--denied', '--caller', 'cli')).toEqual([]);
    // A date is that of this place, like the times that are shown.
    const there = { env: { TZ: 'Etc/GMT-14' } };
    const [month, day, year] = new Date().toLocaleDateString('en-US', { timeZone: 'Etc/GMT-14' }).split('/');
    const today = `${year}-${month!.padStart(2, '0')}-${day!.padStart(2, '0')}`;
    expect(toolsOf(await wield(workspace, ['audit', '--json', '--since', today], there))).toEqual(
      toolsOf(await wield(workspace, ['audit', '--json', '--since', `${today}T00:00`], there)),
    );
  });

  spec('OBS-3', 'rejects invalid arguments', async () => {
    const workspace = createWorkspace();
    for (const flags of [
      ['--since', 'yesterday'],
      ['--since', '1y'],
      ['--limit', '0'],
      ['--limit', 'x'],
    ]) {
      const run = await wield(workspace, ['audit', '--json', ...flags]);
      expect([run.status, json(run).error.code], flags.join(' ')).toEqual([2, 'usage']);
      expect(json(run).error.hint).toMatch(/^(?:write|for example) /);
    }
  });

  spec('OBS-3 OBS-2', 'reads rotated files in order, and says how many records were omitted', async () => {
    const workspace = workspaceWithHello();
    workspace.config('[audit]\nrotate = "2K"\nkeep = 100\ncontents = true\n');
    const toolbox = workspace.toolbox();
    for (let at = 0; at < 12; at++) await toolbox.call('hello', { name: `n${at}` });
    expect(logFiles(workspace).length).toBeGreaterThan(2);
    for (const file of logFiles(workspace)) expect(statSync(file).size).toBeLessThan(4096);
    const { records } = json(await wield(workspace, ['audit', '--json']));
    expect(records.map(({ input }: LogRecord) => input.name)).toEqual(Array.from({ length: 12 }, (_, at) => `n${at}`));
    const few = await wield(workspace, ['audit', '--limit', '3']);
    expect(few.stdout.trimEnd().split('\n')).toHaveLength(4);
    expect(few.stderr).toContain('the newest 3 of 12; --limit 12 shows all');
  });

  spec('OBS-2', 'keeps as many full files as configured', async () => {
    const workspace = workspaceWithHello();
    workspace.config('[audit]\nrotate = "1K"\nkeep = 2\ncontents = true\n');
    const toolbox = workspace.toolbox();
    for (let at = 0; at < 12; at++) await toolbox.call('hello', { name: `n${at}` });
    expect(logFiles(workspace)).toHaveLength(3);
    const names = logRecords(workspace).map(({ input }) => input.name);
    expect(names.at(-1)).toBe('n11');
    expect(names.length).toBeGreaterThanOrEqual(3);
  });

  spec('OBS-2', 'reading skips and counts partial lines, and loses no whole one', async () => {
    const workspace = workspaceWithHello();
    const toolbox = workspace.toolbox();
    await toolbox.call('hello', { name: 'first' });
    const [file] = logFiles(workspace);
    const whole = `${readFileSync(file!, 'utf8').trim().split('\n').at(-1)!}\n`;
    // The server has the file open while another process is killed writing a line.
    appendFileSync(file!, whole.slice(0, 100));
    await toolbox.call('hello', { name: 'second' });
    expect(readFileSync(file!, 'utf8').split('\n')).toHaveLength(6);
    // Two whole lines after partial ones, bytes that are not text, and JSON that is not a record.
    appendFileSync(file!, `${whole.slice(0, 57)}${whole}`);
    appendFileSync(file!, Buffer.from([0xff, 0x00, 0x0a, 0x0a]));
    appendFileSync(file!, '[1]\n"x"\n{"time":1}\n');
    await toolbox.call('hello', { name: 'third' });
    appendFileSync(file!, whole.slice(0, 30));
    const run = json(await wield(workspace, ['audit', '--json']));
    expect(run.records).toHaveLength(4);
    expect(run.skipped).toBe(7);
    expect((await wield(workspace, ['audit'])).stderr).toContain('skipped 7 incomplete lines');
  });

  spec('OBS-3', 'follows the log across files, one JSON document per line', async () => {
    const workspace = workspaceWithHello();
    workspace.config('[audit]\nrotate = "1K"\nkeep = 100\ncontents = true\n');
    const toolbox = workspace.toolbox();
    await toolbox.call('hello', { name: 'before' });
    const child = spawn(process.execPath, [binary(), 'audit', '--follow', '--json', '--tool', 'hello'], {
      cwd: workspace.dir,
      env: workspace.env,
    });
    const exited = new Promise((resolve) => child.once('exit', resolve));
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
    });
    const lines = (): LogRecord[] =>
      out
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    const until = async (count: number): Promise<void> => {
      for (let waited = 0; lines().length < count && waited < 90_000; waited += 50) await sleep(50);
    };
    await until(1);
    for (let at = 0; at < 5; at++) await toolbox.call('hello', { name: `n${at}` });
    await toolbox.call('nothing', {});
    await toolbox.call('hello', { name: 'last' });
    await until(7);
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    expect(lines().map(({ record }) => record.input.name)).toEqual(['before', 'n0', 'n1', 'n2', 'n3', 'n4', 'last']);
    expect(lines().every(({ ok, schema }) => ok === true && schema === 1)).toBe(true);
  });

  spec('OBS-3 ERR-5', 'prints no control sequences from the file', async () => {
    const workspace = createWorkspace();
    mkdirSync(logDirectory(workspace), { recursive: true });
    const evil = '\u001b[2J\u001b]0;title\u0007\u202enimda\r\n  fake  row';
    const record = {
      time: evil,
      caller: evil,
      tool: evil,
      rule: evil,
      reason: null,
      verdict: 'deny',
      code: evil,
    };
    writeFileSync(join(logDirectory(workspace), '000001.jsonl'), `${JSON.stringify(record)}\n`);
    for (const flags of [[], ['--denied']]) {
      const { stdout, status } = await wield(workspace, ['audit', ...flags]);
      expect(status).toBe(0);
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      expect(stdout.trimEnd().split('\n')).toHaveLength(2);
    }
  });
});

describe('--verify', () => {
  spec('OBS-10', 'says that there is no log, and names what a checkpoint shows to be removed', async () => {
    const workspace = workspaceWithHello();
    await wield(workspace, ['call', 'hello', '--name', 'Ada']);
    workspace.write('checkpoint.json', (await wield(workspace, ['audit', '--verify', '--checkpoint'])).stdout);
    rmSync(join(workspace.env.WIELD_HOME ?? join(workspace.home, '.wield'), 'audit'), { recursive: true });
    const verified = await wield(workspace, ['audit', '--verify']);
    expect(verified).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ {2}no log .*--against FILE\n$/) });
    const against = await wield(workspace, ['audit', '--verify', '--against', 'checkpoint.json']);
    expect(against).toMatchObject({ status: 7, stderr: expect.stringContaining('000001.jsonl') });
  });

  spec('OBS-10', 'names the first line that was changed, and what has changed since a checkpoint', async () => {
    const workspace = workspaceWithHello();
    for (const name of ['Ada', 'Grace', 'Alan']) await wield(workspace, ['call', 'hello', '--name', name]);
    const verified = await wield(workspace, ['audit', '--verify']);
    expect(verified).toMatchObject({ status: 0, stdout: '  6 lines in 1 file, all as they were written\n' });
    expect(json(await wield(workspace, ['audit', '--verify', '--json']))).toMatchObject({
      ok: true,
      files: 1,
      lines: 6,
      partial: 0,
      pruned: 0,
      open: [],
      problems: [],
    });
    const { stdout } = await wield(workspace, ['audit', '--verify', '--checkpoint']);
    writeFileSync(join(workspace.dir, 'checkpoint.json'), stdout);
    await wield(workspace, ['call', 'hello', '--name', 'Edsger']);
    const against = ['audit', '--verify', '--against', 'checkpoint.json'];
    expect(await wield(workspace, against)).toMatchObject({ status: 0 });

    const [file = ''] = logFiles(workspace);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"code":null', '"code":"denied"'));
    const changed = await wield(workspace, ['audit', '--verify']);
    expect(changed.status).toBe(7);
    expect(changed.stderr).toContain('000001.jsonl:2 was changed');
    expect(json(await wield(workspace, ['audit', '--verify', '--json']))).toMatchObject({
      ok: false,
      error: { code: 'integrity' },
      problems: [{ file: '000001.jsonl', line: 2, kind: 'changed' }],
    });
    expect((await wield(workspace, against)).stderr).toContain('the file was changed since the checkpoint');

    // Another log with valid chains: only the checkpoint tells.
    rmSync(logDirectory(workspace), { recursive: true });
    await wield(workspace, ['call', 'hello', '--name', 'Ada']);
    expect(await wield(workspace, ['audit', '--verify'])).toMatchObject({ status: 0 });
    expect((await wield(workspace, against)).stderr).toContain('bytes were cut off since the checkpoint');
  });

  spec('OBS-10', 'says what is wrong with a checkpoint', async () => {
    const workspace = workspaceWithHello();
    writeFileSync(join(workspace.dir, 'other.json'), '{"files":[]}');
    const missing = await wield(workspace, ['audit', '--verify', '--against', 'nothing.json']);
    expect(missing).toMatchObject({ status: 2 });
    expect(missing.stderr).toContain('wield audit --verify --checkpoint > checkpoint.json');
    const other = await wield(workspace, ['audit', '--verify', '--against', 'other.json']);
    expect(other).toMatchObject({ status: 2 });
    expect(other.stderr).toContain('other.json is not a checkpoint of the audit log');
    expect(await wield(workspace, ['audit', '--verify'])).toMatchObject({ status: 0 });
  });
});
