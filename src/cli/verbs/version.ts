// `wield version`: prints the version.

import { readVersion } from '../../workspace/machine.js';
import { report } from '../print.js';
import type { Verb } from '../verb.js';

export const version: Verb = {
  usage: 'version [--json]',
  summary: 'Print the version of wield.',
  examples: ['wield version'],
  async run(call) {
    const own = readVersion();
    return report(call, { version: own, node: process.versions.node }, `${own}\n`);
  },
};
