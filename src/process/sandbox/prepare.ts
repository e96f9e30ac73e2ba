// What a sandbox needs right before its process starts.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orNothing, ToolError } from '../../core/error.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { lstatOrNothing, statOrNothing } from '../../files/read.js';
import { removeTree } from '../../files/remove.js';
import { createStateDirectory } from '../../files/state.js';
import { realPath } from '../../files/within.js';
import { writeFileAtomic } from '../../files/write.js';
import { createFilter } from './filter.js';

const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Creates the files that a launcher needs: only what exists can be made writable. Throws `integrity` if a planned path
 * leads elsewhere by now.
 */
export function prepareSandbox({ prepare, remember = [], filter, temporary, read, write }: SandboxPlan): void {
  for (const path of [read, write].flatMap((paths) => (paths === 'all' ? [] : paths))) assertPlanned(path);
  if (temporary !== undefined) createTemporary(temporary);
  if (filter !== undefined) createFilter(filter);
  for (const [file, text] of remember) {
    if (statOrNothing(file) !== undefined) continue;
    createStateDirectory(dirname(file));
    writeFileAtomic(file, text, { mode: 0o600 });
  }
  // Another call may have created them meanwhile. What cannot be created cannot be written, and the process will say so.
  const [hiddenFile, ...writable] = prepare;
  if (hiddenFile !== undefined && lstatOrNothing(hiddenFile) === undefined) {
    createStateDirectory(dirname(hiddenFile));
    orNothing(() => writeFileSync(hiddenFile, '', { mode: 0, flag: 'wx' }));
  }
  for (const path of writable) {
    if (lstatOrNothing(path) !== undefined || statOrNothing(dirname(path))?.isDirectory() !== true) continue;
    orNothing(() => (path.endsWith('/') ? mkdirSync(path) : writeFileSync(path, '', { flag: 'wx' })));
  }
}

// Directories of other tools that were not used for a day are removed.
function createTemporary(path: string): void {
  const all = dirname(path);
  for (const directory of [dirname(all), all, path]) createStateDirectory(directory);
  for (const name of readdirSync(all)) {
    const other = join(all, name);
    const changed = lstatOrNothing(other)?.mtimeMs;
    if (other !== path && changed !== undefined && Date.now() - changed > KEPT_MS) {
      removeTree(other);
    }
  }
}

// EXE-70: a launcher follows links, and a call may have waited long for an approval.
function assertPlanned(path: string): void {
  const plain = path.replace(/(?<=.)\/$/, '');
  const real = realPath(plain);
  if (real === plain || (real === undefined && lstatOrNothing(plain) === undefined)) return;
  throw new ToolError('integrity', `${plain} became a link after the call was planned`, {
    hint: 'check what replaced it, and call the tool again',
    data: { path: plain },
  });
}

/** Returns the sandbox with files that can be read as well. */
export function exposeIn(sandbox: SandboxPlan, paths: readonly string[]): SandboxPlan {
  const { backend, launcher } = sandbox;
  const flags = paths.flatMap((path) => {
    if (backend === 'bubblewrap') return ['--ro-bind', path, path];
    return backend === 'landlock' ? ['--landlock-rule', `path-beneath:execute,read-file:${path}`] : [];
  });
  return flags.length === 0 ? sandbox : { ...sandbox, launcher: [...launcher.slice(0, -1), ...flags, '--'] };
}
