// `wield version`: prints the version.

import { report } from '../print.js';
import type { Verb } from '../verb.js';

declare const WIELD_VERSION: string;

export const version: Verb = {
  name: 'version',
  usage: 'version [--json]',
  summary: 'Print the version of wield.',
  examples: ['wield version'],
  flags: {},
  positionals: 0,
  run: async (call) => report(call, { version: WIELD_VERSION, node: process.versions.node }, `${WIELD_VERSION}\n`),
};
