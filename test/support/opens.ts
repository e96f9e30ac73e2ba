// Records which files are opened.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type CliRun, wield } from './cli.js';
import { LATER, type Workspace } from './workspace.js';

/** Returns every path that this process opens synchronously while `work` runs, including missing files. */
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

/** Runs `wield ...args` in this process with a clock to which all files look settled, and returns the files it opened. */
export async function wieldOpens(
  workspace: Workspace,
  args: readonly string[],
): Promise<{ run: CliRun; opened: string[] }> {
  const { result, opened } = await opensOf(() => wield(workspace, args, { now: LATER }));
  return { run: result, opened };
}
