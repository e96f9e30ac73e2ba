// What `npm test` does before its tests: checks format and types, and builds. Two at a time, since the check of types
// mostly uses one core.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

async function run(...args) {
  const [status] = await once(spawn('npm', ['run', ...args], { stdio: 'inherit' }), 'exit');
  if (status !== 0) throw new Error(`npm run ${args.join(' ')} failed`);
}

try {
  // The build need not check the same types again.
  const builds = run('lint').then(() => run('build', '--', '--checked'));
  await Promise.all([run('types'), builds]);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
