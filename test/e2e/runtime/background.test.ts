// Processes that go on after their call: start, output, stop, limits, and what people see of them.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import { createRootFormat } from '../../../src/formats/index.js';
import type { CallOptions, ToolResult } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { logRecords } from '../../support/audit.js';
import { createIo, json, runCommand, wield } from '../../support/cli.js';
import { patience } from '../../support/patience.js';
import { ownProcessesWith } from '../../support/processes.js';
import { nodeScript, shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL: CallOptions = { caller: { kind: 'model', door: 'mcp', name: 'cursor' } };
const READ = 'read_background';
const STOP = 'stop_background';

/** A server that prints a line, and what arrives in its file. */
const DEV = shellScript('echo ready; while :; do sleep 0.1; cat more 2>/dev/null && rm more; done', '@background');

function createDev(text = DEV): { workspace: Workspace; toolbox: NodeToolbox } {
  const workspace = createWorkspace();
  workspace.script('dev', text);
  return { workspace, toolbox: workspace.toolbox({ trust: true }) };
}

const idOf = (result: ToolResult): string => (result.structured as { id: string }).id;

const within = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: patience(5000) });

describe.concurrent('a process in the background', () => {
  spec('BGR-1 BGR-3 BGR-4', 'goes on after its call, is read in parts and stopped', async () => {
    const { workspace, toolbox } = createDev();
    const started = await toolbox.call('dev', {}, MODEL);
    const id = idOf(started);
    expect(started).toMatchObject({ ok: true, structured: { id, tool: 'dev', status: 'running' } });
    const { pid } = started.structured as { pid: number };
    expect(textOf(started)).toBe(
      `dev runs in the background as ${id}, process ${pid}. It ends with this session.\n` +
        `Read more with: read_background {"id":"${id}"}\nStop it with: stop_background {"id":"${id}"}\nready`,
    );
    expect(() => process.kill(pid, 0)).not.toThrow();
    expect(textOf(await toolbox.call(READ, { id }, MODEL))).toBe(`dev (${id}) is running.\n[no new output]`);
    const waiting = toolbox.call(READ, { id, wait: 60 }, MODEL);
    workspace.write('more', 'compiled\n');
    const read = await waiting;
    expect(textOf(read)).toBe(`dev (${id}) is running.\ncompiled`);
    expect(read.structured).toMatchObject({ offset: 6, next_offset: 15, unread_bytes: 0 });
    expect(textOf(await toolbox.call(READ, { id, offset: 0 }, MODEL))).toContain('\nready\ncompiled');
    expect(textOf(await toolbox.call(READ, {}, MODEL))).toMatch(
      new RegExp(`^${id}  dev  process ${pid}, since \\S+, running$`),
    );
    const stopped = await toolbox.call(STOP, { id }, MODEL);
    expect(textOf(stopped)).toBe(`dev (${id}) has ended: stopped by its caller.\n[no new output]`);
    expect(() => process.kill(pid, 0)).toThrow();
    // It can still be read, and stopping it again changes nothing.
    expect(textOf(await toolbox.call(READ, { id, offset: 0 }, MODEL))).toContain('compiled');
    expect(textOf(await toolbox.call(STOP, { id }, MODEL))).toContain('stopped by its caller');
  });

  spec('BGR-1', 'is an ordinary failure or success if it ends at once, and nothing is left', async () => {
    const { workspace, toolbox } = createDev(shellScript('echo "port in use" >&2; exit 3', '@background'));
    workspace.script('quick', shellScript('echo done', '@background'));
    const failed = await toolbox.call('dev', {}, MODEL);
    expect(failed.error).toMatchObject({ code: 'tool_failed', message: 'dev exited with status 3' });
    expect(textOf(failed)).toBe('[stderr]\nport in use\n');
    const done = await toolbox.call('quick', {}, MODEL);
    expect([done.ok, textOf(done)]).toEqual([true, 'done\n']);
    expect(textOf(await toolbox.call(READ, {}, MODEL))).toBe('Nothing of this session runs in the background.');
    expect(readdirSync(join(workspace.env.WIELD_HOME!, 'background'))).toEqual([]);
    workspace.script('missing', '#!/no/such/interpreter\n# @description None.\n# @background\n');
    expect((await toolbox.call('missing', {}, MODEL)).error?.code).toBe('exec_failed');
  });

  spec('BGR-1', 'ends if its call is cancelled before it returns', async () => {
    const { toolbox } = createDev();
    const controller = new AbortController();
    const call = toolbox.call('dev', {}, { ...MODEL, signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    expect((await call).error?.code).toBe('cancelled');
    await within(async () => expect(textOf(await toolbox.call(READ, {}, MODEL))).toContain('Nothing'));
  });

  spec('BGR-1', 'is declared in tools.json and by a format for a file of the workdir', async () => {
    const workspace = createWorkspace();
    const declared = {
      tools: [{ name: 'watch', description: 'Watch.', background: true }],
      allowlist: { sleep: [''] },
      execution: [{ tool: 'watch', binary: 'sleep', subcommand: '', args: [{ kind: 'literal', value: '600' }] }],
    };
    workspace.write('.agents/skills/one/tools.json', JSON.stringify(declared));
    workspace.write('.agents/skills/one/SKILL.md', '---\nname: one\ndescription: One.\n---\n');
    workspace.write('Procfile', 'web');
    const procfile = createRootFormat({
      name: 'procfile',
      claims: (file) => file === 'Procfile',
      parse: () => [{ name: 'web', description: 'Web.', argv: ['sleep', '600'], background: true }],
    });
    const toolbox = workspace.toolbox({ trust: true, formats: [procfile] });
    const results = await Promise.all(['watch', 'web'].map((name) => toolbox.call(name, {}, MODEL)));
    expect(results.map(({ structured }) => structured)).toEqual([
      expect.objectContaining({ tool: 'watch', status: 'running' }),
      expect.objectContaining({ tool: 'web', status: 'running' }),
    ]);
    // An approval of the tool is not one of the same tool in the background.
    const digestOf = async (): Promise<unknown> => (await toolbox.plan('watch', {})).plan.tool.origin.digest;
    const digest = await digestOf();
    const [tool] = declared.tools;
    const plain = { ...declared, tools: [{ ...tool, background: undefined }] };
    workspace.write('.agents/skills/one/tools.json', JSON.stringify(plain));
    await within(async () => expect(await digestOf()).not.toBe(digest));
  });

  spec('BGR-2', 'is offered to models with the tools that read and stop it, only if there is one', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hi'));
    const toolbox = workspace.toolbox({ trust: true });
    const names = async () => (await toolbox.list(MODEL)).map(({ name }) => name);
    expect(await names()).not.toContain(READ);
    expect((await toolbox.call(READ, {}, MODEL)).error?.code).toBe('not_found');
    workspace.script('dev', DEV);
    await within(async () => expect(await names()).toEqual(expect.arrayContaining(['dev', READ, STOP])));
    workspace.config('[policy]\ndeny = ["stop_background"]\n');
    await within(async () => expect(await names()).not.toContain(STOP));
  });

  spec('BGR-3', 'keeps its newest output, says what is lost, and is slowed down', async () => {
    const flood = `let n = 0; const more = () => { while (process.stdout.write('x'.repeat(999) + '\\n')) n++; };
      process.stdout.on('drain', more); more();`;
    const { workspace, toolbox } = createDev(nodeScript(flood, '@background'));
    const id = idOf(await toolbox.call('dev', {}, MODEL));
    const state = join(workspace.env.WIELD_HOME!, 'background');
    const read = await within(async () => {
      const result = await toolbox.call(READ, { id, offset: 0 }, MODEL);
      expect((result.structured as { offset: number }).offset).toBeGreaterThan(0);
      return result;
    });
    expect(textOf(read)).toMatch(/\[output before byte \d+ is no longer kept\]\nx{1,999}\nx{999}\n/);
    expect(textOf(read)).toMatch(/more: read again\]$/);
    expect(textOf(read).length).toBeLessThanOrEqual(6000);
    const { unread_bytes } = read.structured as { unread_bytes: number };
    expect(unread_bytes).toBeLessThan(600 * 1024);
    expect(readdirSync(state).filter((name) => name.endsWith('.log')).length).toBeLessThanOrEqual(2);
    // About 1 MiB in a second, of the gigabytes that it could write.
    const stopped = await toolbox.call(STOP, { id }, MODEL);
    const { next_offset: next, unread_bytes: rest, since } = stopped.structured as Record<string, number>;
    const seconds = (Date.now() - Date.parse(String(since))) / 1000;
    expect(next! + rest!).toBeLessThan((seconds + 2) * 1.2 * 1024 * 1024);
  });

  spec('BGR-3', 'does not return values of variables, in whatever pieces they arrive', async () => {
    const secret = 'sk-42-a1b2c3d4e5f6';
    const { workspace, toolbox } = createDev(
      shellScript(
        `printf 'key: sk-42-'; while [ ! -e more ]; do sleep 0.1; done; echo other >&2; sleep 0.3; printf 'a1b2c3d4e5f6 end'; sleep 600`,
        '@background',
        '@env API_KEY',
      ),
    );
    workspace.config('[tools.dev.env]\npass = ["API_KEY"]\n');
    const keyed = workspace.toolbox({ trust: true, env: { ...workspace.env, API_KEY: secret } });
    const started = await keyed.call('dev', {}, MODEL);
    expect(textOf(started)).toMatch(/\nkey: $/);
    const id = idOf(started);
    workspace.write('more', '');
    await within(async () => {
      const read = await keyed.call(READ, { id, offset: 0 }, MODEL);
      expect(textOf(read)).toMatch(/\nkey: other\n\[redacted\] end$/);
    });
    const shown = json(await wield(workspace, ['list', '--background', id, '--json']));
    expect(shown.output).toBe('key: other\n[redacted] end');
    await toolbox.close();
  });

  spec('BGR-3 SEC-8', 'does not return values of variables that are escaped, or arrive in long pieces', async () => {
    const { workspace, toolbox } = createDev(
      shellScript(
        `printf 'a sk-42-a1b2c3'; sleep 0.3; printf 'd4/5f6+x b sk-42-a%%'; sleep 0.3; printf '31b2c3d4%%2F5f6+x !'; sleep 600`,
        '@background',
        '@env API_KEY',
      ),
    );
    workspace.config('[tools.dev.env]\npass = ["API_KEY"]\n');
    const keyed = workspace.toolbox({ trust: true, env: { ...workspace.env, API_KEY: 'sk-42-a1b2c3d4/5f6+x' } });
    const id = idOf(await keyed.call('dev', {}, MODEL));
    await within(async () =>
      expect(textOf(await keyed.call(READ, { id, offset: 0 }, MODEL))).toMatch(/\na \[redacted\] b \[redacted\] !$/),
    );
    await toolbox.close();
  });

  spec('BGR-3 RUN-9', 'is not cached, and neither is reading it', async () => {
    const { workspace } = createDev(DEV.replace('@background', '@background\n# @readonly'));
    workspace.config('[[middleware]]\nuse = "cache"\n');
    const toolbox = workspace.toolbox({ trust: true });
    const [one, other] = [await toolbox.call('dev', {}, MODEL), await toolbox.call('dev', {}, MODEL)];
    expect(idOf(one)).not.toBe(idOf(other));
    await toolbox.call(STOP, { id: idOf(other) }, MODEL);
    const input = { id: idOf(one), offset: 0 };
    expect(textOf(await toolbox.call(READ, input, MODEL))).not.toContain('compiled');
    workspace.write('more', 'compiled\n');
    await within(async () =>
      expect((await wield(workspace, ['list', '--background', input.id])).stdout).toContain('compiled'),
    );
    expect(textOf(await toolbox.call(READ, input, MODEL))).toContain('compiled');
  });

  spec('BGR-1 EXE-8', 'goes on if its author changes it, also if it has written nothing yet', async () => {
    const quiet = `const { existsSync } = require('node:fs');
      setInterval(() => { if (existsSync('more')) { console.log('still here'); } }, 100);`;
    const { workspace, toolbox } = createDev(nodeScript(quiet, '@background'));
    const id = idOf(await toolbox.call('dev', {}, MODEL));
    workspace.script('dev', nodeScript('', '@background'));
    workspace.write('more', '');
    await within(async () =>
      expect(textOf(await toolbox.call(READ, { id, offset: 0 }, MODEL))).toContain('is running.\nstill here'),
    );
  });

  spec('BGR-5', 'is forgotten with its session, also if it ended before', async () => {
    const { workspace, toolbox } = createDev();
    const session = new AbortController();
    const options = { caller: { ...MODEL.caller!, session: 'one' }, background: session.signal };
    const [ended] = await Promise.all([1, 2].map(() => toolbox.call('dev', {}, options)));
    await toolbox.call(STOP, { id: idOf(ended!) }, options);
    const state = join(workspace.env.WIELD_HOME!, 'background');
    expect(readdirSync(state).filter((name) => name.endsWith('.json')).length).toBe(2);
    session.abort();
    await within(() => expect(readdirSync(state)).toEqual([]));
    expect(textOf(await toolbox.call(READ, {}, options))).toContain('Nothing of this session');
  });

  spec('BGR-5', 'ends after its time limit, which the limit of calls does not shorten', async () => {
    const { workspace } = createDev(DEV.replace('@background', '@background\n# @timeout 2s'));
    workspace.script('long', DEV);
    workspace.config('[limits]\ntimeout = "1s"\n');
    const toolbox = workspace.toolbox({ trust: true });
    expect((await toolbox.plan('long', {}, MODEL)).plan.timeoutMs).toBe(24 * 3_600_000);
    const id = idOf(await toolbox.call('dev', {}, MODEL));
    await within(async () =>
      expect(textOf(await toolbox.call(READ, { id }, MODEL))).toContain('ended: stopped after 2 s, its time limit'),
    );
  });

  spec('BGR-6', 'is one of a limited number', async () => {
    const { workspace } = createDev();
    workspace.config('[limits]\nbackground = 2\n');
    const toolbox = workspace.toolbox({ trust: true });
    const results = await Promise.all([1, 2, 3].map(() => toolbox.call('dev', {}, MODEL)));
    const [busy] = results.filter(({ ok }) => !ok);
    const ids = results.filter(({ ok }) => ok).map(idOf);
    expect(ids.length).toBe(2);
    expect(busy!.error).toMatchObject({
      code: 'busy',
      hint: `stop one of ${ids.map((id) => `${id} (dev)`).join(', ')}; limits.background of the configuration sets the number`,
    });
    await toolbox.call(STOP, { id: ids[0] }, MODEL);
    expect((await toolbox.call('dev', {}, MODEL)).ok).toBe(true);
    // Another session has its own.
    const other = { caller: { ...MODEL.caller!, session: 'other' } };
    expect((await toolbox.call('dev', {}, other)).ok).toBe(true);
  });

  spec('BGR-7', 'runs in the foreground of a command, until Ctrl-C', async () => {
    const { workspace } = createDev();
    const { io, stdout, signal } = createIo(workspace);
    const ended = runCommand(['call', 'dev'], io);
    await within(() => expect(stdout()).toBe('ready\n'));
    expect(json(await wield(workspace, ['list', '--background', '--json'])).processes).toEqual([]);
    workspace.write('more', 'compiled\n');
    await within(() => expect(stdout()).toBe('ready\ncompiled\n'));
    signal('SIGINT');
    expect(await ended).toBe(130);
  });

  spec('BGR-7', 'of a program ends with the program', async () => {
    const { workspace } = createDev();
    const program = 'const { id } = await tools.dev({}); return tools.read_background({ id, offset: 0 });';
    const run = await wield(workspace, ['run', '-', '--yes'], { stdin: program });
    expect([run.status, run.stdout]).toEqual([0, expect.stringContaining('"status":"running","output":"ready\\n"')]);
    await within(() => expect(ownProcessesWith(join(workspace.dir, '.agents/tools/dev'))).toEqual([]));
  });

  spec('BGR-8', 'is recorded as a call inside the call that started it, with the reason of its end', async () => {
    const { workspace, toolbox } = createDev();
    const events: string[] = [];
    toolbox.on(({ type, call, parent }) => events.push([type, call, parent].join(' ')));
    const id = idOf(await toolbox.call('dev', {}, MODEL));
    await toolbox.call(STOP, { id }, MODEL);
    const idOther = idOf(await toolbox.call('dev', {}, MODEL));
    await toolbox.close();
    const records = logRecords(workspace).filter(({ tool }) => tool === 'dev');
    const shown = records.map(({ depth, code, reason, verdict }) => ({ depth, code, reason, verdict }));
    expect(shown).toEqual([
      { depth: 0, code: null, reason: expect.any(String), verdict: 'allow' },
      { depth: 1, code: 'cancelled', reason: 'stopped by its caller', verdict: 'allow' },
      { depth: 0, code: null, reason: expect.any(String), verdict: 'allow' },
      { depth: 1, code: 'cancelled', reason: 'its session ended', verdict: 'allow' },
    ]);
    expect(records[1]!.parent).toBe(records[0]!.call);
    expect(records[1]!.durationMs).toBeGreaterThan(0);
    expect(events).toContain(`start ${records[1]!.call} ${records[0]!.call}`);
    expect(events).toContain(`end ${records[1]!.call} ${records[0]!.call}`);
    expect(idOther).not.toBe(id);
    expect(readdirSync(join(workspace.env.WIELD_HOME!, 'background'))).toEqual([]);
  });

  spec('BGR-8', 'is a running call of the page while it runs', async () => {
    const { workspace, toolbox } = createDev();
    const id = idOf(await toolbox.call('dev', {}, MODEL));
    const running = (): string[] => readdirSync(join(workspace.env.WIELD_HOME!, 'running'));
    await within(() => expect(running().length).toBe(1));
    await toolbox.call(STOP, { id }, MODEL);
    expect(running()).toEqual([]);
  });

  spec('BGR-9', 'is listed, read, followed and stopped on the command line', async () => {
    const { workspace, toolbox } = createDev();
    expect((await wield(workspace, ['list', '--background'])).stdout).toBe('Nothing runs in the background.\n');
    const started = await toolbox.call('dev', {}, MODEL);
    const id = idOf(started);
    const { pid } = started.structured as { pid: number };
    const listed = await wield(workspace, ['background']);
    expect(listed.stdout).toMatch(/ID +TOOL +PROCESS +CALLER +STATE +IN\n/);
    expect(listed.stdout).toMatch(
      new RegExp(`${id} +dev +${pid} +mcp:cursor +running for [\\d.]+ \\w+ +${workspace.dir}`),
    );
    expect(json(await wield(workspace, ['list', '--background', '--json'])).processes).toEqual([
      {
        id,
        tool: 'dev',
        pid,
        caller: 'mcp:cursor',
        kind: 'model',
        workdir: workspace.dir,
        since: expect.any(String),
        ended: null,
        ok: null,
      },
    ]);
    expect((await wield(workspace, ['list', '--background', 'dev'])).stdout).toBe('ready\n');
    const { io, stdout, stderr } = createIo(workspace);
    const following = runCommand(['list', '--background', id, '--follow'], io);
    workspace.write('more', 'compiled\n');
    await within(() => expect(stdout()).toBe('ready\ncompiled\n'));
    const inside = await wield(workspace, ['list', '--background', 'dev', '--stop'], { env: { WIELD_CALL: '1-1-1' } });
    expect([inside.status, inside.stderr]).toEqual([5, expect.stringContaining('does not count')]);
    const stopped = await wield(workspace, ['list', '--background', 'dev', '--stop']);
    expect(stopped).toEqual({ status: 0, stdout: `dev (${id}) has ended: stopped by a person.\n`, stderr: '' });
    expect(await following).toBe(0);
    expect(stderr()).toBe(`[dev (${id}) ended: stopped by a person]\n`);
    expect(textOf(await toolbox.call(READ, { id }, MODEL))).toContain('has ended: stopped by a person');
    const unknown = await wield(workspace, ['list', '--background', 'b_0']);
    expect([unknown.status, unknown.stderr]).toEqual([3, expect.stringContaining('no process in the background')]);
    expect((await wield(workspace, ['list', '--background', '--stop'])).status).toBe(2);
  });

  spec('BGR-10', 'is announced by a dry run and by the question for approval', async () => {
    const { workspace, toolbox } = createDev(DEV.replace('@background', '@background\n# @destructive'));
    const { stdout } = await wield(workspace, ['call', 'dev', '--dry-run']);
    expect(stdout).toMatch(/lasts +in the background, until it is stopped or the session ends/);
    expect(json(await wield(workspace, ['call', 'dev', '--dry-run', '--json'])).plan.background).toBe(true);
    const pending = await toolbox.call('dev', {}, MODEL);
    expect(pending.error?.code).toBe('needs_approval');
    const shown = await wield(workspace, ['approvals', 'show', String(pending.error!.data!.id)]);
    expect(shown.stdout).toMatch(/lasts +until it is stopped or the session ends/);
    expect(existsSync(join(workspace.env.WIELD_HOME!, 'background'))).toBe(false);
  });
});
