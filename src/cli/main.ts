// The binary: answers what needs no runtime at once, and is the only place that ends the process.

import { writeSync } from 'node:fs';

declare const WIELD_VERSION: string;

const argv = process.argv.slice(2);
const [first] = argv;

if (argv.length === 1 && (first === 'version' || first === '--version')) {
  writeSync(1, `${WIELD_VERSION}\n`);
} else if (
  argv.length === 0 ||
  (argv.length === 1 && (first === 'help' || first === '--help' || first === '-h'))
) {
  void import('./help.js').then(({ formatHelp }) => writeSync(1, formatHelp()));
} else if (first === '__complete') {
  void import('./complete.js').then(async ({ answer }) => process.exit(await answer(argv.slice(1))));
} else {
  void import('./run.js').then(async ({ run }) => process.exit(await run(argv)));
}
