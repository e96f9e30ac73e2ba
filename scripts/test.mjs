// What `npm test` does: builds, then checks format and types beside the tests, which leave a core idle now and then.
// The first fault ends the tests. Arguments are passed to the test runner.

import { spawn } from 'node:child_process';

const running = new Set();

function run(command, args, stdio) {
  const child = spawn(command, args, { stdio });
  running.add(child);
  let output = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      running.delete(child);
      if (status === 0) resolve();
      else reject(new Error(`${output}${[command, ...args].join(' ')} failed`));
    });
  });
}

const shown = (...args) => run('npm', ['run', ...args], 'inherit');
const silent = (name) => run('npm', ['run', '--silent', name], ['ignore', 'pipe', 'pipe']);

try {
  // The types are checked below.
  await shown('build', '--', '--checked');
  await Promise.all([
    run('vitest', ['run', ...process.argv.slice(2)], 'inherit'),
    silent('lint').then(() => silent('types')),
  ]);
} catch (error) {
  for (const child of running) child.kill();
  console.error(error.message);
  process.exitCode = 1;
}
