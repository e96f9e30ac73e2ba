// Row 1: cost of `wield version` and `wield --help`, compared with starting Node.

import { fileURLToPath } from 'node:url';
import { measureRounds, ratios, spread, timeCommand } from '../support/measure.mjs';
import { BINARY } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const TARGET = { of: 'ratio', atMost: 1.25 };
const ROUNDS = 20;

export const row = {
  id: '1',
  title: 'wield version and --help against node empty.cjs',
  async run() {
    const samples = await measureRounds(
      {
        'node empty.cjs (floor)': () => timeCommand([process.execPath, EMPTY]),
        'wield version': () => timeCommand([process.execPath, BINARY, 'version']),
        'wield --help': () => timeCommand([process.execPath, BINARY, '--help']),
      },
      ROUNDS,
    );
    const floor = samples['node empty.cjs (floor)'];
    return Object.entries(samples).map(([name, values]) => ({
      case: name,
      value: spread(values),
      unit: 'ms',
      ...(values === floor ? {} : { ratio: ratios(values, floor), target: TARGET }),
    }));
  },
};
