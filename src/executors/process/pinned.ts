// Starts a script so that the bytes that were hashed run, even if the file is replaced meanwhile.

import { closeSync, constants, fstatSync, lstatSync, mkdtempSync, openSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
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
function readPlanned(tool: Tool, { file }: ScriptAction): Buffer | undefined {
  const reading = readHead(file, MAX_COPIED_BYTES);
  if ('fault' in reading) throw gone(tool, file);
  if (!reading.complete) return undefined;
  if (digestAsFile(reading.bytes, partsOf(tool)) !== tool.origin.digest)
    throw changed(tool, 'changed after it was planned');
  assertExecutable(file, reading.identity);
  return reading.bytes;
}

// The system starts the file of the descriptor, whatever its path leads to by then. The bytes of a running program
// cannot be written to, so it is enough to look once after the start.
function pinBinary(tool: Tool, { file }: ScriptAction): Pinned {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    throw gone(tool, file);
  }
  try {
    const identity = hashPlanned(tool, `/proc/self/fd/${descriptor}`, file);
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
  { tool, cwd }: ProcessPlan,
  { file }: ScriptAction,
  args: readonly string[],
  world: World,
): Promise<Pinned> {
  for (let attempt = 1; ; attempt++) {
    const wasExchanged = watchDirectories(file, cwd);
    const identity = hashPlanned(tool, file, file);
    const age = world.now() - identity.changedMs;
    if (age > TICK_MS) {
      const verify = (): void => {
        if (!sameIdentity(statIdentity(file), identity) || wasExchanged()) throw exchanged(tool);
      };
      return { argv: [file, ...args], verify, close: () => {} };
    }
    if (attempt >= ATTEMPTS) throw changed(tool, 'keeps changing');
    await pause(TICK_MS - age + 1);
  }
}

function hashPlanned(tool: Tool, path: string, file: string): FileIdentity {
  const hashed = digestFile(path, partsOf(tool));
  if ('fault' in hashed) throw gone(tool, file);
  if (hashed.digest !== tool.origin.digest) throw changed(tool, 'changed after it was planned');
  assertExecutable(file, hashed.identity);
  return hashed.identity;
}

function partsOf(tool: Tool): readonly string[] {
  return [tool.origin.format, tool.name];
}

function assertExecutable(file: string, { mode }: FileIdentity): void {
  if ((mode & 0o111) !== 0) return;
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

/** Descriptor of the script's bytes in the process. */
const SOURCE = 3;

interface Loader {
  /** The command line that runs the script. */
  readonly argv: readonly string[];
  /** Returns the bytes to run. */
  readonly adapt: (bytes: Buffer) => Buffer;
}

// `$0` is the path of the script, and so is `dirname "$0"`.
const SHELL_COMMAND = `. /dev/fd/${SOURCE}`;
const SHELLS = /^(?:sh|dash|ash|bash)$/;
// Options that do not change where the script comes from.
const SHELL_OPTIONS = /^[-+][abefhkmnptuvxBCEHPT]+$|^[-+][a-z]*o$|^[a-z]{3,}$/;

// As for a script: `__file__`, `sys.argv[0]`, and imports from its directory.
const PYTHON_COMMAND = `
import os as _os, sys as _sys
del _sys.argv[0]
if _sys.path[:1] == ['']: _sys.path[0] = _os.path.dirname(_os.path.realpath(_sys.argv[0]))
__file__ = _sys.argv[0]
with _os.fdopen(${SOURCE}, 'rb') as _code: _code = compile(_code.read(), __file__, 'exec', 0, True)
del _os, _sys
exec(globals().pop('_code'))
`.trim();
const PYTHONS = /^python[0-9.]*$/;
const PYTHON_OPTIONS = /^-[bBdEIOPqsSuv]+$/;

/** Returns how an interpreter runs a script from a descriptor; undefined if it cannot. */
function findLoader(shebang: string, interpreter: string, file: string): Loader | undefined {
  const options = optionsOf(shebang);
  if (options === undefined) return undefined;
  const name = basename(interpreter);
  if (SHELLS.test(name) && options.every((option) => SHELL_OPTIONS.test(option))) {
    // With -c and a socket as stdin, bash reads the user's bashrc, as for a remote command.
    const first = name === 'bash' ? ['--norc'] : [];
    return { argv: [interpreter, ...first, ...options, '-c', SHELL_COMMAND, file], adapt: toOwnPath };
  }
  if (PYTHONS.test(name) && options.every((option) => PYTHON_OPTIONS.test(option)))
    return { argv: [interpreter, ...options, '-c', PYTHON_COMMAND, file], adapt: (bytes) => bytes };
  return undefined;
}

/** Returns the command line of a POSIX shell that runs a script from the descriptor. */
function toShellCommand(program: string, file: string, args: readonly string[]): string[] {
  return [program, '-c', SHELL_COMMAND, file, ...args];
}

// The words between interpreter and script; undefined if the system would read the line in another way.
function optionsOf(shebang: string): string[] | undefined {
  const [program = '', ...rest] = shebang.trim().split(/\s+/);
  if (!program.endsWith('/env')) return rest.length > 1 ? undefined : rest;
  const words = rest[0] === '-S' ? rest.slice(1) : rest.length === 1 ? rest : [];
  const [name, ...options] = words;
  return name === undefined || /^-|=/.test(name) ? undefined : options;
}

/**
 * In bash `BASH_SOURCE[0]` is the path that was read, here that of the descriptor. In the script itself it is the same
 * as `$0`.
 */
function toOwnPath(bytes: Buffer): Buffer {
  if (!bytes.includes('BASH_SOURCE')) return bytes;
  const text = bytes
    .toString('latin1')
    .replace(/\$\{BASH_SOURCE(?:\[0\])?(?![[\w])/g, '${0')
    .replace(/\$BASH_SOURCE\b(?!\[)/g, '$0');
  return Buffer.from(text, 'latin1');
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
