// Faults of the audit log: many writers, killed writers, removed files, a full disk.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished } from 'vitest';
import { createRecorder } from '../../src/audit/recorder.js';
import { verifyLog } from '../../src/audit/verify.js';
import { isToolError } from '../../src/core/error.js';
import { defineTool } from '../../src/index.js';
import { askFor, createAskingWorkspace } from '../support/approvals.js';
import { type LogRecord, logDirectory, logFiles, logRecords, logText } from '../support/audit.js';
import { binary, built } from '../support/built.js';
import { json, wield } from '../support/cli.js';
import { connectProcess } from '../support/clients.js';
import { ALL_TESTS, rounds } from '../support/effort.js';
import { NO_MOUNT } from '../support/machine.js';
import { canMount } from '../support/mounts.js';
import { sleep } from '../support/processes.js';
import { shellScript } from '../support/shell-script.js';
import { spec, specIf } from '../support/spec.js';
import { hasStrace, NO_STRACE } from '../support/strace.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const WRITERS = rounds(4, 16);
const KILLS = rounds(ALL_TESTS ? 2 : 1, 6);
const STEADY = rounds(ALL_TESTS ? 600 : 300, 1500);
const CODE = { kind: 'code', door: 'library' } as const;
const LIBRARY = pathToFileURL(built('node.js')).href;

/** A process that makes calls and prints the name of each answered one. */
function startCaller(
  workspace: Workspace,
  name: string,
  calls: number,
): { child: ChildProcess; started: Promise<unknown>; done: Promise<string[]> } {
  const program = `
    import { writeSync } from 'node:fs';
    const { createNodeToolbox } = await import(${JSON.stringify(LIBRARY)});
    const echo = { name: 'echo', description: 'x', inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
      execute: ({ id }) => id };
    const toolbox = createNodeToolbox({ workdir: ${JSON.stringify(workspace.dir)}, env: process.env, tools: [echo] });
    for (let at = 0; at < ${calls}; at++) {
      const id = ${JSON.stringify(name)} + '-' + at;
      const result = await toolbox.call('echo', { id });
      if (result.ok) writeSync(1, id + '\\n');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env: workspace.env });
  let out = '';
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const done = new Promise<string[]>((resolve, reject) => {
    child.once('close', () => {
      if (said === '') resolve(out.split('\n').slice(0, -1));
      else reject(new Error(said));
    });
  });
  return { child, started: new Promise((resolve) => child.stdout.once('data', resolve)), done };
}

const idsIn = (records: readonly LogRecord[]): string[] => records.map(({ input }) => input.id);

describe('many writers', () => {
  spec.thorough(
    'OBS-2',
    `${WRITERS} processes append and rotate in parallel: every answered call has exactly one whole line`,
    async () => {
      const workspace = createWorkspace();
      workspace.config('[audit]\ncontents = true\nrotate = "16K"\nkeep = 1000\n');
      const callers = Array.from({ length: WRITERS }, (_, at) => startCaller(workspace, `p${at}`, 160));
      const answered = (await Promise.all(callers.map(({ done }) => done))).flat();
      expect(answered).toHaveLength(WRITERS * 160);
      expect(idsIn(logRecords(workspace)).sort()).toEqual(answered.sort());
      const files = logFiles(workspace);
      expect(files.length).toBeGreaterThan(10);
      // No file was started before the previous one was full.
      for (const file of files.slice(0, -1)) expect(statSync(file).size).toBeGreaterThanOrEqual(16 * 1024);
      const { records } = json(await wield(workspace, ['audit', '--json']));
      expect(idsIn(records).sort()).toEqual(answered.sort());
      expect(verifyLog(logDirectory(workspace)).problems).toEqual([]);
    },
    120_000,
  );

  spec.thorough(
    'OBS-2',
    'F03 killed writers damage no other line and lose no answered call',
    async () => {
      const workspace = createWorkspace();
      workspace.config('[audit]\ncontents = true\nrotate = "64K"\nkeep = 1000\n');
      const steady = startCaller(workspace, 'steady', STEADY);
      const answered: string[] = [];
      let killed = 0;
      for (let round = 0; round < KILLS; round++) {
        const callers = [0, 1].map((at) => startCaller(workspace, `r${round}-${at}`, 1_000_000));
        await Promise.all(callers.map(({ started }) => started));
        await sleep(100 + round * 37);
        for (const { child } of callers) killed += child.kill('SIGKILL') ? 1 : 0;
        for (const { done } of callers) answered.push(...(await done));
      }
      answered.push(...(await steady.done));
      expect(killed).toBe(2 * KILLS);
      expect(answered.length).toBeGreaterThan(STEADY);
      const { records, skipped } = json(await wield(workspace, ['audit', '--json']));
      const ids = idsIn(records);
      expect(new Set(ids).size).toBe(ids.length);
      const recorded = new Set(ids);
      expect(answered.filter((id) => !recorded.has(id))).toEqual([]);
      // A killed process may have recorded a call that it did not answer.
      expect(ids.length - answered.length).toBeLessThanOrEqual(killed);
      expect(skipped).toBeLessThanOrEqual(killed);
      expect(verifyLog(logDirectory(workspace)).problems).toEqual([]);
    },
    120_000,
  );

  specIf(hasStrace, NO_STRACE, 'OBS-2 OBS-10', 'F03 killed at the write itself', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hello'));
    await wield(workspace, ['call', 'hello']);
    const before = logText(workspace);
    for (const call of ['write', 'openat', 'fstat,statx,newfstatat']) {
      const log = logFiles(workspace)[0]!;
      const { signal } = spawnSync(
        'strace',
        [
          '-f',
          '-o',
          '/dev/null',
          '-P',
          log,
          '-e',
          `trace=${call}`,
          '-e',
          `inject=${call}:signal=KILL:when=1`,
          process.execPath,
          binary(),
          'call',
          'hello',
        ],
        { cwd: workspace.dir, env: workspace.env },
      );
      expect(signal, call).toBe('SIGKILL');
      expect(logText(workspace).startsWith(before)).toBe(true);
      expect((await wield(workspace, ['call', 'hello'])).stdout).toBe('hello\n');
    }
    const { records, skipped } = json(await wield(workspace, ['audit', '--json']));
    expect(records.length).toBeGreaterThanOrEqual(4);
    expect(skipped).toBeLessThanOrEqual(3);
    expect(verifyLog(logDirectory(workspace)).problems).toEqual([]);
  });
});

describe('removed files', () => {
  spec('OBS-2', 'F20 a log that is removed, moved or truncated while open is created again', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\ncontents = true\n');
    const echo = defineTool({
      name: 'echo',
      description: 'x',
      inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
      execute: () => 'x',
    });
    const toolbox = workspace.toolbox({ tools: [echo] });
    const call = (id: string) => toolbox.call('echo', { id });
    await call('one');
    unlinkSync(logFiles(workspace)[0]!);
    await call('two');
    expect(idsIn(logRecords(workspace))).toEqual(['two']);
    renameSync(logFiles(workspace)[0]!, join(workspace.dir, 'moved.jsonl'));
    await call('three');
    expect(idsIn(logRecords(workspace))).toEqual(['three']);
    expect(readFileSync(join(workspace.dir, 'moved.jsonl'), 'utf8')).toContain('"id":"two"');
    rmSync(logDirectory(workspace), { recursive: true });
    await call('four');
    expect(idsIn(logRecords(workspace))).toEqual(['four']);
    writeFileSync(logFiles(workspace)[0]!, '');
    await call('five');
    expect(idsIn(logRecords(workspace))).toEqual(['five']);
    rmSync(workspace.env.WIELD_HOME!, { recursive: true });
    await call('six');
    expect(logRecords(workspace)).toHaveLength(1);
    expect(statSync(logDirectory(workspace)).mode & 0o777).toBe(0o700);
  });

  spec.thorough('OBS-2', 'F20 a log that is removed repeatedly under many writers continues', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\ncontents = true\n');
    const callers = Array.from({ length: 3 }, (_, at) => startCaller(workspace, `p${at}`, 400));
    const running = Promise.all(callers.map(({ done }) => done));
    let removed = 0;
    let over = false;
    void running.then(() => {
      over = true;
    });
    while (!over) {
      for (const file of logFiles(workspace)) {
        rmSync(file, { force: true });
        removed++;
      }
      await sleep(15);
    }
    expect((await running).flat()).toHaveLength(1200);
    expect(removed).toBeGreaterThan(3);
    const last = startCaller(workspace, 'last', 1);
    await last.done;
    expect(idsIn(logRecords(workspace)).at(-1)).toBe('last-0');
  });

  spec('OBS-2', 'links and pipes in place of files are neither followed nor waited for', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hello'));
    mkdirSync(logDirectory(workspace), { recursive: true });
    const target = workspace.write('target', '');
    const log = join(logDirectory(workspace), '000001.jsonl');
    execFileSync('ln', ['-s', target, log]);
    const linked = await wield(workspace, ['call', 'hello']);
    expect(linked).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(linked.stderr).toMatch(/^warning {2}a call of hello was not recorded in .*\n$/);
    expect(readFileSync(target, 'utf8')).toBe('');
    unlinkSync(log);
    execFileSync('mkfifo', [log]);
    expect(await wield(workspace, ['call', 'hello'])).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect((await wield(workspace, ['audit'])).stderr).toContain('it is not a regular file');
  });
});

describe('a log that cannot be written', () => {
  /** A workspace with a file in place of the directory of the log. */
  function blocked(config = ''): Workspace {
    const workspace = createWorkspace();
    workspace.config(config);
    workspace.script('hello', shellScript('touch ran; echo hello'));
    writeFileSync(logDirectory(workspace), 'in the way');
    return workspace;
  }

  spec('OBS-7', 'calls run with one warning; doctor says what to do', async () => {
    const workspace = blocked();
    const said: string[] = [];
    const toolbox = workspace.toolbox({ warn: (message) => said.push(message) });
    for (let at = 0; at < 3; at++) expect((await toolbox.call('hello', {})).ok).toBe(true);
    expect(said).toEqual([expect.stringContaining(`not recorded in ${logDirectory(workspace)}`)]);
    const run = await wield(workspace, ['call', 'hello']);
    expect(run).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(run.stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(/^warning {2}a call of hello/)]);
    const doctor = await wield(workspace, ['doctor', '--json']);
    expect(doctor.status).toBe(1);
    expect(json(doctor).problems).toEqual([
      expect.objectContaining({
        path: logDirectory(workspace),
        message: expect.stringContaining('cannot be written'),
        hint: expect.stringContaining('free disk space'),
      }),
    ]);
  });

  spec('OBS-7', 'nothing runs if records are required', async () => {
    const workspace = blocked('[audit]\nrequired = true\n');
    const run = await wield(workspace, ['call', 'hello', '--json']);
    expect([run.status, json(run).error.code]).toEqual([8, 'unavailable']);
    expect(json(run).error.message).toContain('nothing was run');
    expect(json(run).error.hint).toContain('wield doctor');
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    // A denied call is still denied.
    const denied = await workspace.toolbox().call('hello', {}, { caller: { kind: 'model', door: 'mcp' } });
    expect(denied.error?.code).toBe('needs_trust');
    // Once it is writable again, calls run.
    unlinkSync(logDirectory(workspace));
    expect(await wield(workspace, ['call', 'hello'])).toMatchObject({ status: 0, stderr: '' });
    expect(logRecords(workspace)).toHaveLength(1);
  });

  spec('OBS-7', 'a call that needs approval is refused before the question, approved or not', async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    expect((await wield(workspace, ['approvals', 'approve', id])).status).toBe(0);
    const before = workspace.records();
    const log = logDirectory(workspace);
    renameSync(log, `${log}-before`);
    writeFileSync(log, 'in the way');
    let asked = 0;
    const approve = async (): Promise<'once'> => {
      asked++;
      return 'once';
    };
    const toolbox = workspace.toolbox({ trust: true });
    for (const caller of [CODE, { kind: 'model', door: 'mcp' }] as const) {
      const { error } = await toolbox.call('deploy', { branch: 'other' }, { caller, approve });
      expect(error).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('nothing was run'),
      });
    }
    for (const args of [[], ['--yes']])
      expect(json(await workspace.deploy('main', [...args, '--json'])).error.code).toBe('unavailable');
    const client = await connectProcess(workspace, 'older', ['--trust']);
    const refused = await client.callTool({ name: 'deploy', arguments: { branch: 'main' } });
    expect(refused._meta?.['wield/error']).toMatchObject({ code: 'unavailable' });
    // Nothing ran, no question was asked, nothing new is pending, and the approval was not used.
    expect([workspace.runs(), asked, workspace.records()]).toEqual([[], 0, before]);
    unlinkSync(log);
    expect((await workspace.deploy()).status).toBe(0);
    expect(workspace.runs()).toEqual(['main']);
    expect(logRecords(workspace)).toMatchObject([{ verdict: 'ask', code: null, approval: { id, by: 'record' } }]);
  });

  spec('OBS-7', 'a call that needed approval is refused, required or not', () => {
    const workspace = blocked();
    const { machine, state } = workspace.toolbox();
    const recorder = createRecorder({
      wieldHome: workspace.env.WIELD_HOME!,
      pid: 1,
      world: machine.world,
      warn: () => {},
    });
    const codeOf = (verdict: 'allow' | 'ask' | 'deny'): string => {
      try {
        recorder.assertReady({ verdict, rule: null, reason: '' }, state.snapshot());
        return 'ready';
      } catch (error) {
        return isToolError(error) ? error.code : String(error);
      }
    };
    expect([codeOf('allow'), codeOf('ask'), codeOf('deny')]).toEqual(['ready', 'unavailable', 'ready']);
    unlinkSync(logDirectory(workspace));
    expect(codeOf('ask')).toBe('ready');
  });

  /** A small disk for the state of a workspace. */
  function mountSmall(workspace: Workspace, size: string): boolean {
    const home = workspace.env.WIELD_HOME!;
    mkdirSync(home, { recursive: true });
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'none', home]).status !== 0) return false;
    onTestFinished(() => {
      spawnSync('umount', ['-l', home]);
    });
    return true;
  }
  specIf(canMount(), NO_MOUNT, 'OBS-7 OBS-10', 'F06 a full disk: every call that ran is recorded', async () => {
    const workspace = createWorkspace();
    expect(mountSmall(workspace, '512k')).toBe(true);
    workspace.config('[audit]\nrequired = true\ncontents = true\n');
    let runs = 0;
    const work = defineTool({
      name: 'work',
      description: 'x',
      execute: () => {
        runs++;
        return 'x'.repeat(3000);
      },
    });
    const said: string[] = [];
    const toolbox = workspace.toolbox({ tools: [work], warn: (message) => said.push(message) });
    expect((await toolbox.call('work', {})).ok).toBe(true);
    spawnSync('dd', ['if=/dev/zero', `of=${join(workspace.env.WIELD_HOME!, 'filler')}`, 'bs=1k']);
    let refused: string | undefined;
    for (let at = 0; at < 60 && refused === undefined; at++) refused = (await toolbox.call('work', {})).error?.code;
    expect(refused).toBe('unavailable');
    expect((await toolbox.call('work', {})).error?.code).toBe('unavailable');
    const { records } = json(await wield(workspace, ['audit', '--json']));
    expect(records.filter(({ code }: LogRecord) => code === null)).toHaveLength(runs);
    expect(runs).toBeGreaterThan(1);
    expect(said).toEqual([]);
    expect((await wield(workspace, ['doctor'])).status).toBe(1);
    // With space again, the next call runs and has its own line.
    unlinkSync(join(workspace.env.WIELD_HOME!, 'filler'));
    expect((await toolbox.call('work', {})).ok).toBe(true);
    const after = json(await wield(workspace, ['audit', '--json']));
    expect(after.records.filter(({ code }: LogRecord) => code === null)).toHaveLength(runs);
    expect(verifyLog(logDirectory(workspace)).problems).toEqual([]);
  });

  specIf(canMount(), NO_MOUNT, 'OBS-7', 'F06 a full disk does not stop calls that need no record', async () => {
    const workspace = createWorkspace();
    expect(mountSmall(workspace, '64k')).toBe(true);
    workspace.script('hello', shellScript('echo hello'));
    spawnSync('dd', ['if=/dev/zero', `of=${join(workspace.env.WIELD_HOME!, 'filler')}`, 'bs=1k']);
    const run = await wield(workspace, ['call', 'hello']);
    expect(run).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(run.stderr).toMatch(/^warning {2}a call of hello was not recorded/);
    expect(readdirSync(workspace.env.WIELD_HOME!)).toContain('filler');
  });
});
