// Starts a script so that the bytes that were hashed run, even if the file is replaced meanwhile.

import { closeSync, constants, fstatSync, lstatSync, mkdtempSync, openSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pause } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import type { FileIdentity } from '../../core/origin.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { World } from '../../core/snapshot.js';
import type { ScriptAction, Tool } from '../../core/tool.js';
import { digestAsFile, digestFile } from '../../files/digest.js';
import { readHead, sameIdentity, statIdentity, statOrNothing, toIdentity } from '../../files/read.js';
import { removeTree } from '../../files/remove.js';
import { isWithin, realPath } from '../../files/within.js';
import { assertSameProgram, changed, type SkillScripts } from './integrity.js';
import { findLoader, optionsOf, toShellCommand } from './loaders.js';

/** A start that is bound to bytes. */
export interface Pinned {
  readonly argv: readonly string[];
  /** The first entry of the command line as the program sees it. */
  readonly argv0?: string;
  /** Passed on as descriptor 3. */
  readonly descriptor?: number;
  /** Throws `integrity` if the program may have read other bytes. To be called when it is running, or has ended. */
  readonly verify?: () => void;
  close(): void;
}

// Larger scripts are not copied for each call.
const MAX_COPIED_BYTES = 8 * 1024 * 1024;
// Two changes within this time can have the same timestamp.
const TICK_MS = 20;
const ATTEMPTS = 3;

/** Opens a planned script. Throws `integrity` if it is not what was planned, and `exec_failed` if it is not executable. */
export async function pinScript(plan: ProcessPlan, action: ScriptAction, world: World): Promise<Pinned> {
  const { file, shebang } = action;
  const args = plan.argv.slice(1);
  assertSameProgram(plan);
  const loader =
    plan.interpreter === undefined || !hasDescriptors() ? undefined : findLoader(shebang, plan.interpreter, file);
  if (loader !== undefined) {
    const bytes = readPlanned(plan.tool, action);
    if (bytes !== undefined) {
      const descriptor = openPrivateCopy(loader.adapt(bytes), world.platform);
      return { argv: [...loader.argv, ...args], descriptor, close: () => closeSync(descriptor) };
    }
  }
  return shebang === '' && world.platform === 'linux' && hasDescriptors()
    ? pinBinary(plan.tool, action)
    : pinPath(plan, action, args, world);
}

/** Pins a script of a skill that is run by a shell, to the bytes that were hashed. */
export function pinSkillScript(
  tool: Tool,
  [shell = '', file = '', ...args]: readonly string[],
  scripts: SkillScripts,
  world: World,
): Pinned {
  const bytes = scripts.get(file);
  if (bytes === undefined) throw gone(tool, file);
  if (!hasDescriptors()) return { argv: [shell, file, ...args], close: () => {} };
  const descriptor = openPrivateCopy(bytes, world.platform);
  return { argv: toShellCommand(shell, file, args), descriptor, close: () => closeSync(descriptor) };
}

// Returns undefined for a script that is too large to copy.
function readPlanned(tool: Tool, action: ScriptAction): Buffer | undefined {
  const { file } = action;
  const reading = readHead(file, MAX_COPIED_BYTES);
  if ('fault' in reading) throw gone(tool, file);
  if (!reading.complete) return undefined;
  if (digestAsFile(reading.bytes, partsOf(tool)) !== tool.origin.digest)
    throw changed(tool, 'changed after it was planned');
  assertExecutable(action, reading.identity);
  return reading.bytes;
}

// The system starts the file of the descriptor, whatever its path leads to by then. The bytes of a running program
// cannot be written to, so it is enough to look once after the start.
function pinBinary(tool: Tool, action: ScriptAction): Pinned {
  const { file } = action;
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    throw gone(tool, file);
  }
  try {
    const identity = hashPlanned(tool, `/proc/self/fd/${descriptor}`, action);
    return {
      argv: ['/proc/self/fd/3'],
      argv0: file,
      descriptor,
      verify: () => {
        const now = toIdentity(fstatSync(descriptor));
        if (now.size !== identity.size || now.changedMs !== identity.changedMs) throw exchanged(tool);
      },
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

// For an interpreter that reads its script by path: what was hashed must still be there when it has read it.
async function pinPath(
  { tool, cwd, interpreter }: ProcessPlan,
  action: ScriptAction,
  args: readonly string[],
  world: World,
): Promise<Pinned> {
  const { file, shebang, call } = action;
  // Its shebang may be ours, and it need not be executable.
  const start = call?.kind === 'arguments' && interpreter ? [interpreter, ...(optionsOf(shebang) ?? [])] : [];
  for (let attempt = 1; ; attempt++) {
    const wasExchanged = watchDirectories(file, cwd);
    const identity = hashPlanned(tool, file, action);
    const age = world.now() - identity.changedMs;
    if (age > TICK_MS) {
      const verify = (): void => {
        if (!sameIdentity(statIdentity(file), identity) || wasExchanged()) throw exchanged(tool);
      };
      return { argv: [...start, file, ...args], verify, close: () => {} };
    }
    if (attempt >= ATTEMPTS) throw changed(tool, 'keeps changing');
    await pause(TICK_MS - age + 1);
  }
}

function hashPlanned(tool: Tool, path: string, action: ScriptAction): FileIdentity {
  const { file } = action;
  const hashed = digestFile(path, partsOf(tool));
  if ('fault' in hashed) throw gone(tool, file);
  if (hashed.digest !== tool.origin.digest) throw changed(tool, 'changed after it was planned');
  assertExecutable(action, hashed.identity);
  return hashed.identity;
}

function partsOf(tool: Tool): readonly string[] {
  return [tool.origin.format, tool.name];
}

function assertExecutable({ file, call }: ScriptAction, { mode }: FileIdentity): void {
  if ((mode & 0o111) !== 0 || call?.kind === 'arguments') return;
  throw new ToolError('exec_failed', `cannot start ${file}: permission denied`, {
    hint: `run: chmod +x ${file}`,
    data: { errno: 'EACCES', binary: file },
  });
}

let descriptors: boolean | undefined;

/** Whether a process can open its descriptors by path. */
function hasDescriptors(): boolean {
  descriptors ??= statOrNothing('/dev/fd/0') !== undefined || statOrNothing('/dev/fd')?.isDirectory() === true;
  return descriptors;
}

function gone(tool: Tool, file: string): ToolError {
  return changed(tool, `is gone: ${file}`);
}

function exchanged(tool: Tool): ToolError {
  return new ToolError('integrity', `${tool.name} was replaced while it was being started`, {
    hint: 'check what it did, and call it again',
  });
}

// Linux: a file without a name. Node does not export the constant.
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

// Copies bytes to a file that no other process can replace, and returns a descriptor for reading it. Nothing is left
// when it is closed.
function openPrivateCopy(bytes: Uint8Array, platform: string): number {
  if (platform === 'linux') {
    try {
      return writeAndReopen(
        openSync(tmpdir(), O_TMPFILE | constants.O_RDWR | constants.O_EXCL, 0o400),
        bytes,
        (descriptor) => `/proc/self/fd/${descriptor}`,
      );
    } catch {
      // The file system has no such files, or /proc is not mounted.
    }
  }
  const directory = mkdtempSync(join(tmpdir(), 'wield-'));
  try {
    const path = join(directory, 'copy');
    return writeAndReopen(openSync(path, 'wx', 0o400), bytes, () => path);
  } finally {
    removeTree(directory);
  }
}

// The descriptor that a process gets cannot be written to.
function writeAndReopen(writable: number, bytes: Uint8Array, pathOf: (descriptor: number) => string): number {
  try {
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(writable, bytes, offset);
    const readable = openSync(pathOf(writable), 'r');
    if (fstatSync(readable).ino === fstatSync(writable).ino) return readable;
    closeSync(readable);
    throw new Error('a private copy was replaced while it was written');
  } finally {
    closeSync(writable);
  }
}

/**
 * Returns a function that tells whether another directory may have been on the way to a file since. Renaming changes the
 * times of a directory and of the one above. The working directory and those above it are not watched, because their
 * entries change all the time.
 */
function watchDirectories(file: string, cwd: string): () => boolean {
  const chains = [...new Set([file, realPath(file) ?? file])].map((path) => directoriesAbove(path, cwd));
  const before = chains.map((chain) => chain.map(stateOf));
  return () =>
    chains.some((chain, at) => {
      const changed = chain.map((directory, index) => stateOf(directory) !== before[at]![index]);
      return changed.some((isChanged, index) => isChanged && changed[index + 1]);
    });
}

// The nearest first; the last one contains the working directory.
function directoriesAbove(file: string, cwd: string): string[] {
  const chain: string[] = [];
  for (let at = dirname(file); ; at = dirname(at)) {
    chain.push(at);
    if (isWithin(at, cwd) || at === dirname(at)) return chain;
  }
}

function stateOf(directory: string): string {
  const stats = lstatSync(directory, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.ctimeMs}`;
}
