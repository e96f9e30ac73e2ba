// Finds out from the output of a failed process what its sandbox refused.

import { isAbsolute, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin, realPath } from '../../files/within.js';

export interface Refusal {
  readonly what: 'write' | 'read' | 'network';
  readonly path?: string;
}

export interface RefusedProcess {
  readonly name: string;
  readonly sandbox: SandboxPlan;
  readonly cwd: string;
  readonly home: string | undefined;
}

// Texts of the C library, of Node and of common programs for the errors that a sandbox causes.
const READ_ONLY = /read-only file system|EROFS|\bErrno 30\b/i;
const NOT_PERMITTED = /permission denied|operation not permitted|EACCES|EPERM|\bErrno 13\b/i;
const NO_NETWORK =
  /network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|temporary failure in name resolution|could not resolve host|name or service not known|connection refused|ECONNREFUSED|\bErrno 101\b/i;
const MAX_SEARCHED = 64 * 1024;

/** Returns what was refused; undefined if the failure seems to be the process's own. */
export function findRefusal(output: string, { sandbox, cwd }: RefusedProcess): Refusal | undefined {
  for (const line of output.slice(-MAX_SEARCHED).split('\n').reverse()) {
    const isReadOnly = READ_ONLY.test(line);
    if (isReadOnly || NOT_PERMITTED.test(line)) {
      const found = pathsIn(line, cwd).find((one) => isHidden(one, sandbox) || !isWritable(one, sandbox));
      // Only as a whole can it be allowed.
      const path = sandbox.guarded.find((one) => found !== undefined && isWithin(one, found)) ?? found;
      if (path !== undefined) return { what: isHidden(path, sandbox) ? 'read' : 'write', path };
      if (isReadOnly) return { what: 'write' };
    } else if (!sandbox.network && NO_NETWORK.test(line)) return { what: 'network' };
  }
  return undefined;
}

function isHidden(path: string, { hidden }: SandboxPlan): boolean {
  return hidden.some((one) => isWithin(one, path));
}

function isWritable(path: string, { write, guarded }: SandboxPlan): boolean {
  if (guarded.some((one) => isWithin(one, path))) return false;
  return write === 'all' || write.some((one) => isWithin(one, path));
}

// Quoted texts, and words with a slash or between colons.
function pathsIn(line: string, cwd: string): string[] {
  const quoted = [...line.matchAll(/['"‘`]([^'"’`]+)['"’`]/g)].map(([, text]) => text!);
  const parts = line.split(/: |\s/).map((text) => text.replace(/[:,;]+$/, ''));
  return [
    ...quoted,
    ...parts.filter((text) => (text.includes('/') || text.startsWith('.')) && !text.startsWith('/dev/')),
  ].map((text) => {
    const absolute = isAbsolute(text) ? text : resolve(cwd, text);
    return realPath(absolute) ?? absolute;
  });
}

/** The error of a process that its sandbox stopped. */
export function refusedError(refusal: Refusal, { name, sandbox, home }: RefusedProcess): ToolError {
  const { profile, backend, table } = sandbox;
  const { what, path } = refusal;
  const shown =
    path === undefined
      ? undefined
      : home !== undefined && path.startsWith(`${home}/`)
        ? `~${path.slice(home.length)}`
        : path;
  const done =
    what === 'network'
      ? 'use of the network'
      : shown === undefined
        ? what
        : `${what === 'write' ? 'write to' : 'read of'} ${quoteOutside(shown)}`;
  const line =
    what === 'network'
      ? 'network = true'
      : what === 'write'
        ? `write = [".", ${JSON.stringify(shown ?? '…')}]`
        : `read = [${JSON.stringify(shown ?? '…')}]`;
  return new ToolError('denied', `${name} was stopped by its sandbox (${profile}): ${done}`, {
    hint:
      table === null
        ? `a [[sandbox]] rule of yours sets that profile; give the rule one of its own: [sandbox.NAME] ${line}`
        : `allow it in ~/.wield/config.toml with [sandbox.${quoteKey(table)}] ${line}, or run it with --sandbox none`,
    data: { sandbox: { profile, backend, refused: what, ...(path === undefined ? {} : { path }) } },
  });
}

function quoteKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Returns the error of a launcher that could not start the process; undefined if it did. */
export function findLauncherFault(stderr: string, { name, sandbox }: RefusedProcess): ToolError | undefined {
  const [first = ''] = stderr.split('\n');
  const match = /^(bwrap|setpriv|unshare|sandbox-exec): (.*)$/.exec(first);
  if (match === null) return undefined;
  const { profile, backend } = sandbox;
  return new ToolError('unavailable', `the sandbox of ${name} could not be started: ${quoteOutside(match[2]!, 200)}`, {
    hint: 'run: wield doctor',
    data: { sandbox: { profile, backend } },
  });
}
