// Row 2: what `wield list` and a completion of tools cost over starting Node, with the index warm.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { measureRounds, ratios, spread, timeCommand } from '../support/measure.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const TARGETS = { 100: { of: 'ratio', atMost: 1.2 }, 1000: { of: 'ratio', atMost: 1.6 } };
const COMPLETED = 1000;
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
    const { dir, env } = workspaces.find(({ count }) => Number(count) === COMPLETED);
    const complete = [process.execPath, BINARY, '__complete', 'fish', '--', 'tool-05'];
    const { stdout } = spawnSync(complete[0], complete.slice(1), { cwd: dir, env, encoding: 'utf8' });
    if (stdout.split('\n').length < 100) throw new Error(`not all tools are offered:\n${stdout}`);
    cases.complete = () => timeCommand(complete, { cwd: dir, env });
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
      {
        case: `completing a tool, ${COMPLETED} tools`,
        value: spread(samples.complete),
        unit: 'ms',
        ratio: ratios(samples.complete, samples.floor),
      },
    ];
  },
};
