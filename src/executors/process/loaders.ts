// How interpreters run a script from a descriptor: shells and Python.

import { basename } from 'node:path';

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
export function findLoader(shebang: string, interpreter: string, file: string): Loader | undefined {
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
export function toShellCommand(program: string, file: string, args: readonly string[]): string[] {
  return [program, '-c', SHELL_COMMAND, file, ...args];
}

// The words between interpreter and script; undefined if the system would read the line in another way.
export function optionsOf(shebang: string): string[] | undefined {
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
