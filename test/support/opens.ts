// Which files are opened: the real functions, counted, in this process or in one of the binary.

import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type CliRun, wieldProcess as wield } from './cli.js';
import type { Workspace } from './workspace.js';

/** Every path that this process opens synchronously while `work` runs, those that are not there included. */
export async function opensOf<T>(work: () => T | Promise<T>): Promise<{ result: T; opened: string[] }> {
  const { openSync } = fs;
  const opened: string[] = [];
  fs.openSync = (path, ...rest) => {
    opened.push(String(path));
    return openSync(path, ...rest);
  };
  syncBuiltinESMExports();
  try {
    return { result: await work(), opened };
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
}

const PRELOAD = `
const fs = require('node:fs');
const { openSync, writeFileSync } = fs;
const opened = [];
fs.openSync = (path, ...rest) => {
  const descriptor = openSync(path, ...rest);
  opened.push(String(path));
  return descriptor;
};
process.on('exit', () => writeFileSync(process.env.WIELD_TEST_OPENS, JSON.stringify(opened)));
`;

/** `wield ...args`, and the files that it opened. */
export async function wieldOpens(
  workspace: Workspace,
  args: readonly string[],
): Promise<{ run: CliRun; opened: string[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'wield-opens-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const preload = join(directory, 'preload.cjs');
  const log = join(directory, 'opened.json');
  writeFileSync(preload, PRELOAD);
  const env = { NODE_OPTIONS: `--require=${preload}`, WIELD_TEST_OPENS: log };
  const run = await wield(workspace, args, { env });
  return { run, opened: JSON.parse(readFileSync(log, 'utf8')) as string[] };
}
