// `npm start`: lists and calls the tools of the examples with the built binary, and says what to try next.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const BINARY = 'dist/cli/wield.cjs';
const EXAMPLE = 'examples/01-script';

for (const args of [
  ['list'],
  ['call', 'greet', '--name', 'Ada', '--language', 'fr'],
  ['call', 'sum', '--numbers', '[1, 2, 3.5]'],
]) {
  const shown = args.map((word) => (/[^\w-]/.test(word) ? `'${word}'` : word)).join(' ');
  console.log(`$ wield --cwd ${EXAMPLE} ${shown}`);
  execFileSync(process.execPath, [BINARY, '--cwd', EXAMPLE, ...args], { cwd: root, stdio: 'inherit' });
  console.log();
}

console.log(`Try next
  node ${BINARY} --cwd ${EXAMPLE} call greet --help          what a tool takes
  node ${BINARY} --cwd ${EXAMPLE} call greet Ada --dry-run   what would run
  npm link && cd your-project && wield init                                   a first tool of your own`);
