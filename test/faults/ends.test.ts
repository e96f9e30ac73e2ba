// Faults at the end of a process: time limits, cancellation and caps for tools that do not stop.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect } from 'vitest';
import { type ToolResult, textOf } from '../../src/core/result.js';
import type { NodeToolbox } from '../../src/node.js';
import { watchLifeline } from '../../src/process/group.js';
import { NO_PROC } from '../support/machine.js';
import { patience } from '../support/patience.js';
import { openDescriptors, processesWith, sleep } from '../support/processes.js';
import { shellScript } from '../support/shell-script.js';
import { finding, findingIf, spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

// A toolbox keeps its audit log open from the first call on.
const AUDIT_LOG = 1;

// Writes a file as soon as the test allows it; a process that was ended writes nothing.
const WRITE_LATE = 'while [ ! -e go ]; do sleep 0.2; done; touch late';

/** Lets processes that are left write their file, and returns whether one did. */
async function isAnyLeft(workspace: Workspace): Promise<boolean> {
  workspace.write('go', '');
  await sleep(600);
  return existsSync(join(workspace.dir, 'late'));
}

// Far above what is promised, since other work shares the machine; far below what a hang would take.
const SLACK_MS = 40_000;

/** Calls a tool with a time limit that lets it begin: a longer one if the machine is slow. */
async function callTooLong(toolbox: NodeToolbox, name: string, begun = 'begun'): Promise<ToolResult> {
  for (let timeoutMs = 500; ; timeoutMs *= 4) {
    const result = await toolbox.call(name, {}, { timeoutMs });
    if (timeoutMs > 20_000 || textOf(result).includes(begun)) return result;
  }
}

/** A process that was killed is gone a moment later. */
async function expectNoProcess(workspace: Workspace): Promise<void> {
  await expect.poll(() => processesWith(workspace.dir), { timeout: patience(20_000) }).toEqual([]);
}

spec('EXE-5 EXE-6', 'F26 SIGTERM ignored', async () => {
  const workspace = createWorkspace();
  workspace.script('stubborn', shellScript(`trap '' TERM; echo begun; while :; do sleep 0.1; done`));
  const result = await callTooLong(workspace.toolbox(), 'stubborn');
  expect(result.error?.code).toBe('timeout');
  expect(textOf(result)).toContain('begun\n');
  expect(result.meta.durationMs).toBeGreaterThan(2400);
  expect(result.meta.durationMs).toBeLessThan(patience(2500 + SLACK_MS));
  await expectNoProcess(workspace);
});

spec.thorough('EXE-5', 'the time limit of the caller, the configuration and the tool', async () => {
  const workspace = createWorkspace();
  workspace.script('sleeps', shellScript('sleep 600'));
  const byCaller = await workspace.toolbox().call('sleeps', {}, { timeoutMs: 300 });
  expect(byCaller.error).toMatchObject({
    code: 'timeout',
    hint: expect.stringMatching(/./),
    data: { timeoutMs: 300 },
  });
  workspace.config('[limits]\ntimeout = "400ms"\n');
  expect((await workspace.toolbox().call('sleeps', {})).error?.data).toEqual({ timeoutMs: 400 });
  workspace.config('[tools.sleeps]\ntimeout = "350ms"\n');
  expect((await workspace.toolbox().call('sleeps', {})).error?.data).toEqual({ timeoutMs: 350 });
});

spec('SCR-14', 'defaults to five minutes, and accepts a huge limit', async () => {
  const workspace = createWorkspace();
  workspace.script('quick', shellScript('sleep 0.2; echo done'));
  const toolbox = workspace.toolbox();
  expect((await toolbox.plan('quick', {})).plan.timeoutMs).toBe(300_000);
  for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY])
    expect(textOf(await toolbox.call('quick', {}, { timeoutMs }))).toBe('done\n');
});

spec('EXE-5', 'gives the whole group the grace period, even if the leader has exited', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'cleans-up',
    shellScript(`sh -c 'trap "sleep 0.4; touch cleaned; exit" TERM; echo begun; while :; do sleep 0.1; done'; true`),
  );
  const isCleaned = (): boolean => existsSync(join(workspace.dir, 'cleaned'));
  // The period is two seconds, in which a slow machine may do nothing.
  for (let attempt = 0; attempt < 4 && !isCleaned(); attempt++) {
    const result = await callTooLong(workspace.toolbox(), 'cleans-up');
    expect(result.error?.code).toBe('timeout');
    expect(textOf(result)).toContain('begun');
  }
  expect(isCleaned()).toBe(true);
});

spec('EXE-5 EXE-6', 'F27 a grandchild in the group holds the pipe', async () => {
  const workspace = createWorkspace();
  workspace.script('parent', shellScript('(trap "" TERM; sleep 600; touch late) & echo begun; wait'));
  const result = await callTooLong(workspace.toolbox(), 'parent');
  expect(result.error?.code).toBe('timeout');
  expect(textOf(result)).toContain('begun');
  expect(result.meta.durationMs).toBeLessThan(patience(2500 + SLACK_MS));
  await expectNoProcess(workspace);
});

spec('EXE-5 EXE-6', 'F27 a grandchild that left the group holds the pipe', async () => {
  const workspace = createWorkspace();
  workspace.script('parent', shellScript(`setsid sh -c 'trap "" TERM; ${WRITE_LATE}' & echo begun; wait`));
  const before = openDescriptors();
  const result = await callTooLong(workspace.toolbox(), 'parent');
  expect(result.error?.code).toBe('timeout');
  expect(textOf(result)).toContain('begun');
  expect(result.meta.durationMs).toBeLessThan(patience(2500 + SLACK_MS));
  await expectNoProcess(workspace);
  expect(openDescriptors()).toBeLessThanOrEqual(before + AUDIT_LOG);
  expect(await isAnyLeft(workspace)).toBe(false);
});

spec('EXE-5', 'F27 does not wait for a process that holds the pipes of an ended tool', async () => {
  const workspace = createWorkspace();
  // The tool ends only when the other has left its group, else the end of the group would take it along.
  const leave = (command: string): string =>
    shellScript(
      `rm -f left; setsid sh -c 'touch left; ${command}' & while [ ! -e left ]; do sleep 0.01; done; echo done`,
    );
  workspace.script('leaves', leave('sleep 600'));
  workspace.script('leaves-a-talker', leave('while echo x; do sleep 0.02; done'));
  workspace.script('leaves-a-flood', leave('exec yes'));
  const toolbox = workspace.toolbox();
  const before = openDescriptors();
  for (const name of ['leaves', 'leaves-a-talker', 'leaves-a-flood']) {
    const result = await toolbox.call(name, {});
    expect(result.ok, name).toBe(true);
    // A flood may reach the cap before the tool has said its word.
    if (name !== 'leaves-a-flood') expect(textOf(result)).toContain('done\n');
    expect(result.meta.durationMs).toBeLessThan(patience(SLACK_MS));
  }
  expect(openDescriptors()).toBeLessThanOrEqual(before + AUDIT_LOG);
  await expectNoProcess(workspace);
});

spec('EXE-6', 'leaves no process of the group after a normal end', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'leaves',
    shellScript('(sleep 600; touch late) >/dev/null 2>&1 & (trap "" HUP TERM; sleep 600) & echo done'),
  );
  const result = await workspace.toolbox().call('leaves', {});
  expect(textOf(result)).toBe('done\n');
  await expectNoProcess(workspace);
});

const LEFT = `while [ ! -e left ]; do sleep 0.01; done; rm left; echo done`;
const LEAVERS: Readonly<Record<string, string>> = {
  'by setsid': `setsid sh -c 'touch left; ${WRITE_LATE}' >/dev/null 2>&1 & ${LEFT}`,
  'by setsid with an empty environment': `env -i /usr/bin/setsid /bin/sh -c 'touch left; ${WRITE_LATE}' >/dev/null 2>&1 & ${LEFT}`,
  'by setsid without the descriptors of its parent': `setsid sh -c 'exec 3<&- 4<&- 5<&- 6<&-; touch left; ${WRITE_LATE}' >/dev/null 2>&1 </dev/null & ${LEFT}`,
  'by a double fork': `(setsid sh -c '(touch left; ${WRITE_LATE}) &' >/dev/null 2>&1 &) ; ${LEFT}`,
  'by nohup and setsid, ignoring signals': `env -i /usr/bin/setsid /usr/bin/nohup /bin/sh -c 'trap "" HUP TERM INT; touch left; ${WRITE_LATE}' >/dev/null 2>&1 & ${LEFT}`,
};

for (const [how, body] of Object.entries(LEAVERS)) {
  finding('B17', `A57 no process that left ${how} outlives a call that ended by itself`, async () => {
    const workspace = createWorkspace();
    workspace.script('leaves', shellScript(body));
    const result = await workspace.toolbox().call('leaves', {});
    expect(textOf(result)).toBe('done\n');
    expect(await isAnyLeft(workspace)).toBe(false);
  });
}

findingIf(
  process.platform === 'linux',
  NO_PROC,
  'B17',
  'A57 ends what a process left behind that had ended before anyone looked at it',
  async () => {
    const command = 'env -i /usr/bin/setsid /bin/sleep 600 </dev/null >/dev/null 2>&1 &';
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
    await once(child, 'exit');
    const lifeline = watchLifeline(child.stdio[3] as Readable, child.pid!, 3, 'linux');
    expect(lifeline.isHeld()).toBe(true);
    await lifeline.killHolders();
    expect(lifeline.isHeld()).toBe(false);
  },
);

finding('B17', 'A57 nor one with an empty environment a call that timed out', async () => {
  const workspace = createWorkspace();
  const body = `env -i /usr/bin/setsid /bin/sh -c '${WRITE_LATE}' & sleep 600`;
  workspace.script('leaves', shellScript(body, '@timeout 500ms'));
  expect((await workspace.toolbox().call('leaves', {})).error?.code).toBe('timeout');
  expect(await isAnyLeft(workspace)).toBe(false);
});

const FORKS = `i=0; while [ $i -lt 20 ]; do setsid sh -c '${WRITE_LATE}' & i=$((i+1)); done; echo forked;`;

spec('EXE-6', 'A57 ends a small fork bomb outside the group at the time limit', async () => {
  const workspace = createWorkspace();
  workspace.script('forks', shellScript(`${FORKS} sleep 600`));
  const result = await callTooLong(workspace.toolbox(), 'forks', 'forked');
  expect(result.error?.code).toBe('timeout');
  expect(textOf(result)).toContain('forked');
  await expectNoProcess(workspace);
  expect(await isAnyLeft(workspace)).toBe(false);
});

spec('EXE-6 EXE-4', 'A57 ends it at the output cap', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\noutput = "4K"\n');
  workspace.script('forks', shellScript(`${FORKS} yes`));
  const result = await workspace.toolbox().call('forks', {});
  expect(result.meta.truncated).toBe(true);
  await expectNoProcess(workspace);
});

spec('RUN-6 EXE-6', 'A57 ends it when cancelled', async () => {
  const workspace = createWorkspace();
  workspace.script('forks', shellScript(`while :; do setsid sh -c 'sleep 600' & sleep 0.02; done`));
  const controller = new AbortController();
  const calling = workspace.toolbox().call('forks', {}, { signal: controller.signal });
  await sleep(700);
  controller.abort();
  expect((await calling).error?.code).toBe('cancelled');
  await expectNoProcess(workspace);
});

spec('RUN-6', 'answers a cancelled call soon and kills its processes, even if they ignore SIGTERM', async () => {
  const workspace = createWorkspace();
  workspace.script('sleeps', shellScript('echo begun; sleep 600'));
  workspace.script('stubborn', shellScript(`trap '' TERM; echo begun; while :; do sleep 0.05; done`));
  const toolbox = workspace.toolbox();
  for (const name of ['sleeps', 'stubborn']) {
    const controller = new AbortController();
    // Ticks of this process instead of time: while the machine is busy or stopped, there are none.
    let ticks = 0;
    let timer: NodeJS.Timeout | undefined;
    const result = await toolbox.call(
      name,
      {},
      {
        signal: controller.signal,
        onOutput: () => {
          timer ??= setInterval(() => ticks++, 10);
          controller.abort();
        },
      },
    );
    clearInterval(timer);
    // 250 ms are promised; the processes would have two seconds to end by themselves.
    expect(ticks).toBeLessThan(120);
    expect(result.error).toMatchObject({ code: 'cancelled', hint: expect.stringMatching(/./) });
    expect(textOf(result)).toContain('begun');
    await expectNoProcess(workspace);
  }
});

spec('RUN-6', 'runs nothing for a call that is cancelled before it starts', async () => {
  const workspace = createWorkspace();
  workspace.script('touch', shellScript('touch ran'));
  const result = await workspace.toolbox().call('touch', {}, { signal: AbortSignal.abort() });
  expect(result.error?.code).toBe('cancelled');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});

spec('RUN-6 EXE-6', 'ends all processes when the toolbox is closed, also outside their group', async () => {
  const workspace = createWorkspace();
  workspace.script('forks', shellScript(`${FORKS} sleep 600`));
  const toolbox = workspace.toolbox();
  const begun = new Promise<void>((resolve) => {
    void toolbox.call('forks', {}, { onOutput: () => resolve() });
  });
  await begun;
  await toolbox.close();
  await expectNoProcess(workspace);
  expect((await toolbox.call('forks', {})).error?.code).toBe('cancelled');
});
