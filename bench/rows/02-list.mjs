// Row 2: cost of `wield list` and of completing a tool name with a warm index, compared with starting Node.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { measureRounds, ratios, sized, spread, timeCommand } from '../support/measure.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const COMPLETED = sized(1000, 30);
const TARGETS = { [sized(100, 10)]: { of: 'ratio', atMost: 2.5 }, [COMPLETED]: { of: 'ratio', atMost: 4 } };
const PREFIX = sized('tool-05', 'tool-001');
const OFFERED = sized(100, 10);
const ROUNDS = 20;

export const row = {
  id: '2',
  title: 'wield list, warm, against node empty.cjs',
  async run() {
    const workspaces = Object.keys(TARGETS).map((count) => ({ count, ...createWorkspace(Number(count)) }));
    // The first listings write the index and compiled code.
    for (let time = 0; time < 2; time++) {
      await settle();
      for (const { dir, env, count } of workspaces) {
        const { stdout } = spawnSync(process.execPath, [BINARY, 'list'], { cwd: dir, env, encoding: 'utf8' });
        if (stdout.split('\n').length < Number(count)) throw new Error(`not all tools are listed:\n${stdout}`);
      }
    }
    const cases = { floor: () => timeCommand([process.execPath, EMPTY]) };
    for (const { count, dir, env } of workspaces) {
      cases[count] = () => timeCommand([process.execPath, BINARY, 'list'], { cwd: dir, env });
    }
    const { dir, env } = workspaces.find(({ count }) => Number(count) === COMPLETED);
    const complete = [process.execPath, BINARY, '__complete', 'fish', '--', PREFIX];
    for (let time = 0; time < 2; time++) {
      const { stdout } = spawnSync(complete[0], complete.slice(1), { cwd: dir, env, encoding: 'utf8' });
      if (stdout.split('\n').length < OFFERED) throw new Error(`not all tools are offered:\n${stdout}`);
      await settle();
    }
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
        target: TARGETS[COMPLETED],
      },
    ];
  },
};
