// `wield version`: prints the version.

import { printJson } from '../print.js';
import type { Verb } from '../verb.js';

declare const WIELD_VERSION: string;

export const version: Verb = {
  name: 'version',
  usage: 'version [--json]',
  summary: 'Print the version of wield.',
  examples: ['wield version'],
  flags: {},
  positionals: 0,
  async run({ terminal, json }) {
    if (json) printJson(terminal, { ok: true, version: WIELD_VERSION, node: process.versions.node });
    else terminal.out(`${WIELD_VERSION}\n`);
    return 0;
  },
};
