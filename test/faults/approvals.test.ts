// Approvals under faults: kills, races, a changed clock, a full disk and damaged files.

import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { askFor, createAskingWorkspace } from '../support/approvals.js';
import { logRecords } from '../support/audit.js';
import { binary } from '../support/built.js';
import { json, wieldProcess as wield, wield as wieldHere } from '../support/cli.js';
import { NOT_ROOT } from '../support/machine.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { shellScript } from '../support/shell-script.js';
import { spec, specIf } from '../support/spec.js';
import { hasStrace, NO_STRACE, underStrace } from '../support/strace.js';
import { createWorkspace } from '../support/workspace.js';

const DAY = 24 * 3_600_000;
const CALL = ['call', 'deploy', '--branch', 'main'];

/** Options of a command whose clock is shifted. */
function atClock(shift: number): { now: () => number } {
  return { now: () => Date.now() + shift };
}

spec.thorough('POL-7', 'a call that is killed at any time runs at most once for an approval', async () => {
  const workspace = createAskingWorkspace();
  for (let round = 0; round < 5; round++) {
    await wield(workspace, ['approvals', 'approve', await askFor(workspace)]);
    const ran = workspace.runs().length;
    const child = spawn(process.execPath, [binary(), ...CALL], {
      cwd: workspace.dir,
      env: workspace.env,
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await sleep(40 + round * 25);
    child.kill('SIGKILL');
    await ended;
    await workspace.deploy();
    // A process started before the kill may still be running.
    await sleep(50);
    expect(workspace.runs().length - ran).toBeLessThanOrEqual(1);
    rmSync(workspace.approvals, { recursive: true, force: true });
  }
});

spec('POL-7', 'of many processes that race for one approval, exactly one runs', async () => {
  const workspace = createAskingWorkspace();
  for (let round = 1; round <= 2; round++) {
    await wield(workspace, ['approvals', 'approve', await askFor(workspace)]);
    const runs = await Promise.all(Array.from({ length: 6 }, () => workspace.deploy()));
    expect(runs.map(({ status }) => status).sort()).toEqual([0, 5, 5, 5, 5, 5]);
    expect(workspace.runs()).toHaveLength(round);
  }
});

spec.thorough('POL-7', 'parallel approvals of one question give one approval', async () => {
  const workspace = createAskingWorkspace();
  const id = await askFor(workspace);
  const given = await Promise.all(Array.from({ length: 4 }, () => wield(workspace, ['approvals', 'approve', id])));
  expect(given.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
  expect((await workspace.deploy()).status).toBe(0);
  expect((await workspace.deploy()).status).toBe(5);
});

describe('F21 the clock', () => {
  for (const shift of [DAY, -DAY]) {
    spec.thorough('POL-7', `moved by ${shift / DAY} day: the approval is not valid, and nothing runs`, async () => {
      const workspace = createAskingWorkspace();
      await wield(workspace, ['approvals', 'approve', await askFor(workspace)]);
      const moved = atClock(shift);
      expect((await workspace.deploy('main', [], moved)).status).toBe(5);
      expect(workspace.runs()).toEqual([]);
      // A question asked under the changed clock can be approved under it.
      const { error } = json(await workspace.deploy('main', ['--json'], moved));
      expect((await wieldHere(workspace, ['approvals', 'approve', error.data.id], moved)).status).toBe(0);
      expect((await workspace.deploy('main', [], moved)).status).toBe(0);
      expect(workspace.runs()).toEqual(['main']);
    });
  }

  for (const shift of [DAY, -DAY]) {
    spec('RUN-1 CTX-3 OBS-1', `moved by ${shift / DAY} day during a call changes nothing of it`, async () => {
      const workspace = createWorkspace();
      workspace.script('long', shellScript('echo ::progress 1/2 begun >&2; sleep 0.5; seq 1 20000', '@timeout 60s'));
      let moved = 0;
      const toolbox = workspace.toolbox({ now: () => Date.now() + moved });
      const jump = () => {
        moved = shift;
      };
      const result = await toolbox.call('long', {}, { onProgress: jump });
      expect([result.ok, moved]).toEqual([true, shift]);
      expect(result.meta.durationMs).toBeGreaterThan(400);
      expect(result.meta.durationMs).toBeLessThan(patience(50_000));
      // The result is there, the lock of the store is free, and the log has a record.
      const { id } = result.meta.handle!;
      expect(textOf(await toolbox.call('read_result', { id, lines: '19999' }))).toBe('19999\n');
      moved = -shift;
      expect((await toolbox.call('long', {})).meta.handle).toBeDefined();
      expect(logRecords(workspace)).toHaveLength(3);
      const written = await wieldHere(
        workspace,
        ['call', 'context_write', '--path', 'a', '--content', 'x'],
        atClock(shift),
      );
      expect(written.status).toBe(0);
      expect((await wieldHere(workspace, ['call', 'context_read', '--path', 'a'], atClock(-shift))).stdout).toContain(
        'x',
      );
    });
  }

  spec('POL-7', 'a question can be answered for a week, an approval used for a day', async () => {
    for (const [used, status] of [
      [DAY + 60_000, 5],
      [DAY - 120_000, 0],
    ] as const) {
      const workspace = createAskingWorkspace();
      const id = await askFor(workspace);
      const approve = (shift: number) => wieldHere(workspace, ['approvals', 'approve', id], atClock(shift));
      expect((await approve(7 * DAY + 60_000)).status).toBe(3);
      expect((await approve(7 * DAY - 60_000)).status).toBe(0);
      const moved = atClock(7 * DAY + used);
      expect((await workspace.deploy('main', [], moved)).status).toBe(status);
      expect(workspace.runs()).toHaveLength(status === 0 ? 1 : 0);
    }
  });
});

describe('a state directory that cannot be written', () => {
  spec('POL-7', 'refuses the call, and nothing runs', async () => {
    const workspace = createAskingWorkspace();
    writeFileSync(workspace.approvals, 'a file where the directory should be');
    const run = await workspace.deploy();
    expect(run.status).toBe(8);
    expect(run.stderr).toMatch(/could not be|writable/);
    expect(workspace.runs()).toEqual([]);
  });

  specIf(
    hasStrace,
    NO_STRACE,
    'POL-7',
    'F06 F11 full or read-only: refuses the call, and damages nothing',
    async () => {
      const workspace = createAskingWorkspace();
      for (const fault of ['rename:error=ENOSPC', 'fsync:error=ENOSPC', 'rename:error=EROFS']) {
        expect([fault, await underStrace(workspace, fault, CALL)]).toEqual([fault, 8]);
        await wield(workspace, ['approvals', 'approve', await askFor(workspace)]);
        expect([fault, await underStrace(workspace, fault, CALL)]).toEqual([fault, 8]);
        expect(workspace.runs()).toEqual([]);
        rmSync(workspace.approvals, { recursive: true });
      }
    },
  );

  specIf(process.getuid?.() === 0, NOT_ROOT, 'POL-7', 'that belongs to another user is not used', async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    await wield(workspace, ['approvals', 'approve', id]);
    const directory = join(workspace.env.WIELD_HOME!, 'approvals');
    chownSync(directory, 12_345, 12_345);
    const { error } = json(await wield(workspace, ['call', 'deploy', '--branch', 'main', '--json']));
    expect(error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('chown') });
    expect(workspace.runs()).toEqual([]);
    chownSync(directory, 0, 0);
    expect((await workspace.deploy()).status).toBe(0);
  });

  spec('POL-7', 'that others can write to is not used', async () => {
    const workspace = createAskingWorkspace();
    await wield(workspace, ['approvals', 'approve', await askFor(workspace)]);
    chmodSync(workspace.approvals, 0o777);
    const run = await workspace.deploy();
    expect(run.status).toBe(8);
    expect(run.stderr).toContain(`chmod 700 ${workspace.approvals}`);
    expect(workspace.runs()).toEqual([]);
  });
});

describe('files', () => {
  spec(
    'POL-7 STA-8',
    'that are damaged, changed, renamed or newer approve nothing, and doctor reports them',
    async () => {
      const workspace = createAskingWorkspace();
      const id = await askFor(workspace);
      await wield(workspace, ['approvals', 'approve', id]);
      const file = join(workspace.approvals, workspace.records()[0]!);
      const whole = readFileSync(file, 'utf8');
      for (const text of [
        whole.slice(0, whole.length / 2),
        '',
        'null',
        whole.replace('"branch": "main"', '"branch": "prod"'),
        whole.replace('person cli', 'model mcp:x'),
        whole.replace('"version": 1', '"version": 2'),
      ]) {
        expect(text).not.toBe(whole);
        writeFileSync(file, text);
        expect((await workspace.deploy('main')).status).toBe(5);
        expect((await workspace.deploy('prod')).status).toBe(5);
      }
      expect((await wield(workspace, ['doctor'])).stdout).toContain('damaged or modified, so it is ignored');
      writeFileSync(file, whole);
      renameSync(file, file.replace(id, 'f'.repeat(16)));
      expect((await workspace.deploy()).status).toBe(5);
      expect(workspace.runs()).toEqual([]);
    },
  );

  spec.thorough('POL-7', 'of a killed write are removed by clean', async () => {
    const workspace = createAskingWorkspace();
    await askFor(workspace);
    const leftover = join(workspace.approvals, '.0123456789abcdef01.tmp');
    writeFileSync(leftover, '');
    await wield(workspace, ['clean']);
    expect(existsSync(leftover)).toBe(true);
    utimesSync(leftover, statSync(leftover).atimeMs / 1000, Date.now() / 1000 - 2 * 3600);
    await wield(workspace, ['clean']);
    expect(existsSync(leftover)).toBe(false);
    expect(workspace.records()).toHaveLength(1);
  });

  spec.thorough('POL-7', 'are limited: a model cannot fill the disk with questions', async () => {
    const workspace = createAskingWorkspace();
    const toolbox = workspace.toolbox({ trust: true });
    const caller = { kind: 'model', door: 'mcp' } as const;
    const messages = new Set<string>();
    for (let at = 0; at < 80; at++) {
      const { error } = await toolbox.call('deploy', { branch: `b${at}` }, { caller });
      expect(error?.code).toBe('needs_approval');
      messages.add(`${error!.message} ${error!.hint?.replaceAll(/[0-9a-f]{16}/g, 'ID')}`);
    }
    expect(workspace.records()).toHaveLength(64);
    expect([...messages].at(-1)).toContain('64 calls are already pending');
    const long = await toolbox.call('deploy', { branch: 'x'.repeat(300_000) }, { caller });
    expect(long.error).toMatchObject({ code: 'needs_approval' });
    expect(workspace.runs()).toEqual([]);
  });
});
