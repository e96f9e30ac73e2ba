// Row 3: cost of `wield call` of a script among 1 and 1,000 tools, compared with starting Node and the script.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureRounds, ratios, sized, spread, timeCommand } from '../support/measure.mjs';
import { BINARY, createWorkspace, settle, toolName } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const TARGET = { of: 'ratio', atMost: 3 };
// The cost must not depend on the number of tools.
const FLAT = { of: 'ratio', atMost: 1.05 };
const MANY = sized(1000, 20);
const ROUNDS = 20;

export const row = {
  id: '3',
  title: 'wield call of a script against node and the script',
  async run() {
    const one = createWorkspace(1);
    const many = createWorkspace(MANY);
    await settle();
    const argv = [process.execPath, BINARY, 'call', toolName(0), '--name', 'Ada'];
    for (const { dir, env } of [one, many]) {
      const { stdout, stderr } = spawnSync(argv[0], argv.slice(1), { cwd: dir, env, encoding: 'utf8' });
      if (stdout !== 'published Ada\n') throw new Error(`the script was not run: ${stdout}${stderr}`);
    }
    const samples = await measureRounds(
      {
        floor: () => timeCommand([process.execPath, EMPTY]) + timeCommand([join(one.tools, toolName(0))]),
        one: () => timeCommand(argv, { cwd: one.dir, env: one.env }),
        many: () => timeCommand(argv, { cwd: many.dir, env: many.env }),
      },
      ROUNDS,
    );
    const toCase = (name, values, floor, target) => ({
      case: name,
      value: spread(values),
      unit: 'ms',
      ratio: ratios(values, floor),
      target,
    });
    const tools = `${MANY.toLocaleString('en')} tools`;
    return [
      { case: 'node empty.cjs, and the script (floor)', value: spread(samples.floor), unit: 'ms' },
      toCase('wield call, 1 tool', samples.one, samples.floor, TARGET),
      toCase(`wield call, ${tools}`, samples.many, samples.floor, TARGET),
      toCase(`${tools} against 1 tool`, samples.many, samples.one, FLAT),
    ];
  },
};
