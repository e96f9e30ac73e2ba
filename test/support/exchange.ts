// A process that exchanges the contents of a file as fast as it can.

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

// Exchanges two files by hard link and rename, as fast as it can, until it is killed.
const EXCHANGE = `
const { linkSync, renameSync } = require('node:fs');
const [good, evil, path] = process.argv.slice(1);
console.log('ready');
for (let turn = 0; ; turn++) {
  try { linkSync(turn % 2 ? good : evil, path + '.x'); renameSync(path + '.x', path); } catch (error) {}
}`;

/** Starts a process that exchanges the contents of a path, each with its own inode. */
export async function exchange(path: string, good: string | Buffer, evil: string | Buffer): Promise<ChildProcess> {
  const [goodFile, evilFile] = [`${path}.good`, `${path}.evil`];
  writeFileSync(goodFile, good, { mode: 0o755 });
  writeFileSync(evilFile, evil, { mode: 0o755 });
  const child = spawn(process.execPath, ['-e', EXCHANGE, goodFile, evilFile, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await new Promise((resolve) => child.stdout!.once('data', resolve));
  return child;
}
