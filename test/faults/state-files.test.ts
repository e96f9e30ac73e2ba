// Reading and writing of state files: no blocking on a FIFO, and every write reaches the disk before it counts.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wieldProcess } from '../support/cli.js';
import { patience } from '../support/patience.js';
import { specIf } from '../support/spec.js';
import { hasStrace, NO_STRACE, traceSteps, underStrace } from '../support/strace.js';
import { createWorkspace } from '../support/workspace.js';

test(
  'A23: a FIFO in place of a configuration file does not block',
  async () => {
    for (const name of ['.agents/config.toml', '.agents/mcp.json', '.mcp.json']) {
      const workspace = createWorkspace();
      mkdirSync(join(workspace.dir, '.agents'), { recursive: true });
      execFileSync('mkfifo', [join(workspace.dir, name)]);
      const run = wieldProcess(workspace, ['list']);
      const late = new Promise((resolve) => setTimeout(resolve, 30_000, 'blocked').unref());
      expect([name, await Promise.race([run.then(() => 'ended'), late])]).toEqual([name, 'ended']);
    }
  },
  patience(100_000),
);

specIf(
  hasStrace,
  NO_STRACE,
  'INS-31',
  'state files are synced before and after they are renamed',
  async () => {
    const workspace = createWorkspace();
    const { status, steps } = await traceSteps(workspace, ['trust', '--yes']);
    expect(status).toBe(0);
    const calls = steps.map(({ call }) => call);
    // The lock is renamed before.
    const renamed = steps.findIndex(({ what }) => /^rename .*trust\.json$/.test(what));
    expect(renamed).toBeGreaterThan(0);
    expect(calls.slice(0, renamed)).toContain('fsync');
    expect(calls.slice(renamed)).toContain('fsync');
  },
  60_000,
);

specIf(
  hasStrace,
  NO_STRACE,
  'INS-31',
  'F07 a write whose sync fails does not count',
  async () => {
    const workspace = createWorkspace();
    expect(await underStrace(workspace, 'fsync:error=EIO:when=1', ['trust', '--yes'])).not.toBe(0);
    expect(existsSync(join(workspace.home, '.wield', 'trust.json'))).toBe(false);
  },
  60_000,
);
