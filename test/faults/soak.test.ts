// Tests that many calls in one process leak no descriptors, children, memory or temporary files.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ALL_TESTS, rounds } from '../support/effort.js';
import { openDescriptors, processesWith, sleep } from '../support/processes.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const CALLS = rounds(ALL_TESTS ? 400 : 150, 10_000);
const WARM_UP = 200;
const AT_ONCE = 8;
const MIB = 1024 * 1024;

spec.thorough(
  'EXE-6 RUN-1',
  `${CALLS} calls leak nothing`,
  async () => {
    const workspace = createWorkspace();
    const temporary = join(workspace.dir, 'tmp');
    mkdirSync(temporary);
    workspace.script('trivial', shellScript('echo ok', '@param n integer'));
    const toolbox = workspace.toolbox({ env: { ...workspace.env, TMPDIR: temporary } });
    const callMany = async (count: number): Promise<number> => {
      let next = 0;
      let failed = 0;
      const worker = async (): Promise<void> => {
        while (next < count) {
          const result = await toolbox.call('trivial', { n: next++ });
          if (!result.ok || result.content[0]?.type !== 'text' || result.content[0].text !== 'ok\n') failed++;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      return failed;
    };
    expect(await callMany(WARM_UP)).toBe(0);
    await sleep(50);
    const before = { descriptors: openDescriptors(), memory: process.memoryUsage.rss() };

    expect(await callMany(CALLS - WARM_UP)).toBe(0);
    await sleep(50);
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before.descriptors);
    expect(process.memoryUsage.rss() - before.memory).toBeLessThan(60 * MIB);
    await expect.poll(() => processesWith(workspace.dir)).toEqual([]);
    const children = (): string => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
    await expect.poll(children).toBe('');
    expect(readdirSync(temporary)).toEqual([]);
  },
  180_000,
);
