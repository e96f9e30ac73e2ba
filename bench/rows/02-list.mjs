// Row 2: what `wield list` costs over starting Node, with its index warm.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { measureRounds, ratios, spread, timeCommand } from '../support/measure.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const TARGETS = { 100: { of: 'ratio', atMost: 1.2 }, 1000: { of: 'ratio', atMost: 1.6 } };
const ROUNDS = 20;

export const row = {
  id: '2',
  title: 'wield list, warm, against node empty.cjs',
  async run() {
    const workspaces = Object.keys(TARGETS).map((count) => ({ count, ...createWorkspace(Number(count)) }));
    await settle();
    for (const { dir, env, count } of workspaces) {
      const { stdout } = spawnSync(process.execPath, [BINARY, 'list'], { cwd: dir, env, encoding: 'utf8' });
      if (stdout.split('\n').length < Number(count)) throw new Error(`not all tools are listed:\n${stdout}`);
    }
    const cases = { floor: () => timeCommand([process.execPath, EMPTY]) };
    for (const { count, dir, env } of workspaces) {
      cases[count] = () => timeCommand([process.execPath, BINARY, 'list'], { cwd: dir, env });
    }
    const samples = await measureRounds(cases, ROUNDS);
    return [
      { case: 'node empty.cjs (floor)', value: spread(samples.floor), unit: 'ms' },
      ...Object.entries(TARGETS).map(([count, target]) => ({
        case: `wield list, ${count} tools`,
        value: spread(samples[count]),
        unit: 'ms',
        ratio: ratios(samples[count], samples.floor),
        target,
      })),
    ];
  },
};
