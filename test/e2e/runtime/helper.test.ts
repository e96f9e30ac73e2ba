// The helper process of a server: starts its tools with the same guarantees, and may itself fail.

import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import type { NodeToolbox } from '../../../src/node.js';
import { runProcess } from '../../../src/process/spawn.js';
import { ALL_TESTS } from '../../support/effort.js';
import { NO_PROC } from '../../support/machine.js';
import { processesWith, sleep } from '../../support/processes.js';
import { until } from '../../support/server.js';
import { nodeScript, READ_STDIN, shellScript } from '../../support/shell-script.js';
import { specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const onLinux = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(process.platform === 'linux', NO_PROC, ids, title, body, 60_000);
onLinux.thorough = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf.thorough(process.platform === 'linux', NO_PROC, ids, title, body, 60_000);
const PARENT = shellScript(`tr '\\0' '\\n' </proc/$PPID/cmdline; echo "$PPID"`);

interface Helped {
  readonly workspace: Workspace;
  readonly toolbox: NodeToolbox;
  /** Returns the process id of the helper once it starts the tools. */
  helper(): Promise<number>;
}

// The first calls of a toolbox are started directly, until the helper is ready.
async function createHelped(): Promise<Helped> {
  const workspace = createWorkspace();
  workspace.script('parent', PARENT);
  const toolbox = workspace.toolbox({ guard: true });
  const parent = async (): Promise<string[]> =>
    textOf(await toolbox.call('parent', {}))
      .trim()
      .split('\n');
  const helper = async (): Promise<number> => {
    for (let attempt = 0; attempt < 1200; attempt++) {
      const lines = await parent();
      if (lines.some((line) => line.endsWith('helper/main.cjs'))) return Number(lines.at(-1));
      await sleep(50);
    }
    throw new Error('the helper does not start tools');
  };
  await helper();
  return { workspace, toolbox, helper };
}

onLinux('EXE-11 EXE-1 EXE-2', 'the helper starts tools in their own session, with their environment only', async () => {
  const { workspace, toolbox } = await createHelped();
  workspace.script('state', shellScript(`ps -o pgid=,sid= -p $$; echo $$; env; ls /proc/$$/fd`, '@param *what string'));
  const lines = textOf(await toolbox.call('state', { what: "it's $HOME" })).split('\n');
  const pid = lines[1]!.trim();
  expect(lines[0]!.trim().split(/\s+/)).toEqual([pid, pid]);
  expect(lines).toContain("WIELD_PARAM_WHAT=it's $HOME");
  const direct = workspace.toolbox();
  const variables = (text: string): string[] => [...text.matchAll(/^(\w+)=/gm)].map(([, name]) => name!).sort();
  const other = textOf(await direct.call('state', { what: 'x' }));
  expect(variables(lines.join('\n'))).toEqual(variables(other));
  // The same descriptors too: the channel of the helper is not inherited.
  const descriptors = (all: readonly string[]): string[] =>
    all.slice(all.findLastIndex((line) => line.includes('=')) + 1);
  expect(descriptors(lines)).toEqual(descriptors(other.split('\n')));
});

onLinux.thorough('EXE-11', 'a helper that stands still is replaced ten seconds after a time limit', async () => {
  const { workspace, toolbox, helper } = await createHelped();
  workspace.script('late', shellScript('echo begun; sleep 600', '@timeout 2s'));
  const stopped = await helper();
  const onOutput = (): void => void process.kill(stopped, 'SIGSTOP');
  const { error } = await toolbox.call('late', {}, { onOutput });
  expect(error).toMatchObject({ code: 'exec_failed', message: expect.stringContaining('within 2000 ms') });
  expect(await helper()).not.toBe(stopped);
  expect(await processesWith(workspace.dir)).toEqual([]);
});

onLinux.thorough(
  'EXE-11 EXE-4 EXE-5 EXE-6',
  'the helper ends tools at their limits, with all their processes',
  async () => {
    const { workspace, toolbox } = await createHelped();
    const left = `(sleep 5; touch left) & setsid sh -c 'sleep 5; touch left' & `;
    workspace.script('late', shellScript(`${left} echo begun; sleep 600`, '@timeout 1500ms'));
    workspace.script('flood', shellScript(`${left} yes`));
    workspace.script('waits', shellScript(`${left} touch waiting; sleep 600`));
    workspace.script('leaves', shellScript(`${left} env -i setsid sleep 59 & echo done`));
    workspace.config('[limits]\noutput = 100000\n');
    const late = await toolbox.call('late', {});
    expect(late.error?.code).toBe('timeout');
    expect(textOf(late)).toContain('begun');
    expect((await toolbox.call('flood', {}, { full: true })).meta.truncation).toMatchObject({ limitBytes: 100_000 });
    const stop = new AbortController();
    const waiting = toolbox.call('waits', {}, { signal: stop.signal });
    await until(() => existsSync(join(workspace.dir, 'waiting')), 'it runs');
    stop.abort();
    expect((await waiting).error?.code).toBe('cancelled');
    expect(textOf(await toolbox.call('leaves', {}))).toBe('done\n');
    await expect.poll(() => processesWith(workspace.dir)).toEqual([]);
    await sleep(5500);
    expect(existsSync(join(workspace.dir, 'left'))).toBe(false);
  },
);

onLinux(
  'EXE-11 EXE-3',
  'large input and output pass through the helper unchanged, at the pace of a listener',
  async () => {
    const { workspace, toolbox } = await createHelped();
    workspace.script(
      'repeat',
      nodeScript(`${READ_STDIN} process.stdout.write(JSON.parse(input).text.repeat(4));`, '@param *text string'),
    );
    const text = Array.from({ length: 300_000 }, (_, at) => `é${at}`).join('');
    const hashOf = (value: string | Buffer): string => createHash('sha256').update(value).digest('hex');
    const wanted = hashOf(text.repeat(4));
    const [first, second] = await Promise.all([
      toolbox.call('repeat', { text }, { full: true }),
      toolbox.call('repeat', { text }, { full: true }),
    ]);
    expect([hashOf(textOf(first)), hashOf(textOf(second))]).toEqual([wanted, wanted]);
    const chunks: Buffer[] = [];
    let running = 0;
    const slow = await toolbox.call(
      'repeat',
      { text },
      {
        onOutput: async (chunk) => {
          expect(++running).toBe(1);
          chunks.push(Buffer.from(chunk));
          await sleep(2);
          running--;
        },
      },
    );
    expect(slow.ok).toBe(true);
    expect(hashOf(Buffer.concat(chunks))).toBe(wanted);
  },
);

onLinux(
  'EXE-11 EXE-8',
  'what cannot be started has the usual error, and a program can be started from its descriptor',
  async () => {
    const { toolbox } = await createHelped();
    const { world } = toolbox.machine;
    const rest = { cwd: '/', environment: {}, stdin: '', timeoutMs: 10_000, outputBytes: 1000 };
    await expect(runProcess({ ...rest, argv: ['/nonexistent/program'] }, world)).rejects.toMatchObject({
      code: 'exec_failed',
      message: 'cannot start /nonexistent/program: file not found',
      hint: 'check the path',
    });
    const descriptor = openSync('/bin/echo', 'r');
    const argv = ['/proc/self/fd/3', 'from', 'a descriptor'];
    const { stdout, exitCode } = await runProcess({ ...rest, argv, argv0: 'echo', descriptor }, world);
    closeSync(descriptor);
    expect([stdout.toString('utf8'), exitCode]).toEqual(['from a descriptor\n', 0]);
  },
);

onLinux('EXE-11', 'a helper that is killed fails its calls by name, leaves nothing, and is replaced', async () => {
  const { workspace, toolbox, helper } = await createHelped();
  workspace.script('waits', shellScript(`touch waiting; sleep 600; touch left`));
  const first = await helper();
  const waiting = toolbox.call('waits', {});
  await until(() => existsSync(join(workspace.dir, 'waiting')), 'it runs');
  process.kill(first, 'SIGKILL');
  expect((await waiting).error).toMatchObject({
    code: 'exec_failed',
    message: 'the process helper ended while it ran sh: killed by SIGKILL',
    hint: 'check what the tool did, and call it again: a new helper is started',
  });
  await until(() => processesWith(workspace.dir).length === 0, 'its processes are gone');
  expect((await toolbox.call('parent', {})).ok).toBe(true);
  expect(await helper()).not.toBe(first);
});

onLinux('EXE-11', 'closing one toolbox ends its helper, and no process of another', async () => {
  const one = await createHelped();
  const other = await createHelped();
  const gone = await one.helper();
  other.workspace.script('waits', shellScript('touch waiting; sleep 2; echo done'));
  const waiting = other.toolbox.call('waits', {});
  await until(() => existsSync(join(other.workspace.dir, 'waiting')), 'it runs');
  await one.toolbox.close();
  await until(() => !existsSync(`/proc/${gone}`), 'the helper is gone');
  expect(textOf(await waiting)).toBe('done\n');
});

// Second proof: for `npm run thorough`.
if (ALL_TESTS)
  onLinux('EXE-11', 'starting a tool costs a process with much memory no more than a small one', async () => {
    const { workspace, toolbox } = await createHelped();
    const direct = workspace.toolbox();
    const memory = Array.from({ length: 6 }, (_, at) => Buffer.alloc(64 * 1024 * 1024, at + 1));
    // CPU time, because the machine may be busy; forking is counted, too.
    const cost = async (one: NodeToolbox): Promise<number> => {
      const samples: number[] = [];
      for (let at = 0; at < 15; at++) {
        const before = process.cpuUsage();
        await one.call('parent', {});
        const { user, system } = process.cpuUsage(before);
        samples.push(user + system);
      }
      return samples.sort((a, b) => a - b)[7]!;
    };
    await cost(direct);
    const [forked, helped] = [await cost(direct), await cost(toolbox)];
    expect(memory.length).toBe(6);
    expect(helped).toBeLessThan(forked / 2);
  });
