// Explains why a process could not be started.

import { existsSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { ToolError } from '../core/error.js';
import type { ProcessRequest } from './request.js';

type Failed = (reason: string, hint: string) => ToolError;

// The system reports a missing program, interpreter or directory by the same code.
function notFound(binary: string, cwd: string, failed: Failed): ToolError {
  if (!existsSync(cwd)) return failed(`directory not found: ${cwd}`, 'create it, or choose another one');
  if (!binary.includes('/')) return failed('not on PATH', 'install it, or write its full path');
  if (!existsSync(resolvePath(cwd, binary))) return failed('file not found', 'check the path');
  return failed('interpreter not found', 'check its first line');
}

/** Returns `exec_failed` for an error of the system. */
export function toStartError(request: Pick<ProcessRequest, 'argv' | 'cwd'>, error: NodeJS.ErrnoException): ToolError {
  const binary = request.argv[0]!;
  const failed: Failed = (reason, hint) =>
    new ToolError('exec_failed', `cannot start ${binary}: ${reason}`, {
      hint,
      data: { errno: error.code ?? null, binary },
      cause: error,
    });
  switch (error.code) {
    case 'ENOENT':
      return notFound(binary, request.cwd, failed);
    case 'EACCES':
      return failed('permission denied', `run: chmod +x ${binary}  (its file system must also allow running programs)`);
    case 'E2BIG':
      return failed('arguments and environment are too long', 'pass large values on stdin or in a file');
    case 'ENOEXEC':
      return failed('not an executable format', 'check its first line');
    case 'ELOOP':
      return failed('its interpreter is a script that leads back to itself', 'use a program in its first line');
    case 'ETXTBSY':
      return failed('another process is writing to it', 'call again when the write is done');
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return failed(
        `the system is out of processes, files or memory (${error.code})`,
        'call again when less is running',
      );
    default:
      return failed(error.message, 'run it by hand to see what is wrong');
  }
}
