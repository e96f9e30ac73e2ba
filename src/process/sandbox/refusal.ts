// Finds out from the output of a failed process what its sandbox refused.

import { dirname, isAbsolute, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin, realPath } from '../../files/within.js';
import { SYSTEM } from './bubblewrap.js';

export interface Refusal {
  readonly what: 'write' | 'read' | 'network' | 'env' | 'create';
  /** The path, or the name of the variable. */
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
const NOT_FOUND = /no such file or directory|ENOENT|\bErrno 2\b/i;
const NO_NETWORK =
  /network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|temporary failure in name resolution|could not resolve host|name or service not known|connection refused|ECONNREFUSED|\bErrno 101\b/i;
const ERROR_NAME = /^E[A-Z]+$/;
const MAX_SEARCHED = 64 * 1024;

/** Returns what was refused; undefined if the failure seems to be the process's own. */
export function findRefusal(output: string, { sandbox, cwd }: RefusedProcess): Refusal | undefined {
  const searched = output.slice(-MAX_SEARCHED);
  let unnamed: Refusal | undefined;
  for (const line of searched.split('\n').reverse()) {
    const refusal = findInLine(line, sandbox, cwd);
    if (refusal?.path !== undefined || refusal?.what === 'network') return refusal;
    unnamed ??= refusal;
  }
  if (unnamed !== undefined) return unnamed;
  const words = sandbox.dropped.length === 0 ? undefined : new Set(searched.split(/\W+/));
  const variable = sandbox.dropped.find((name) => words!.has(name));
  return variable === undefined ? undefined : { what: 'env', path: variable };
}

function findInLine(line: string, sandbox: SandboxPlan, cwd: string): Refusal | undefined {
  const isReadOnly = READ_ONLY.test(line);
  if (isReadOnly || NOT_PERMITTED.test(line)) {
    const paths = pathsIn(line, cwd);
    const found = paths.find((one) => isHidden(one, sandbox) || !isWritable(one, sandbox));
    // Only as a whole can it be allowed.
    const path = sandbox.guarded.find((one) => found !== undefined && isWithin(one, found)) ?? found;
    if (path !== undefined)
      return { what: isHidden(path, sandbox) || !isReadable(path, sandbox) ? 'read' : 'write', path };
    if (isReadOnly) return { what: 'write' };
    const created = sandbox.backend === 'landlock' ? paths.find((one) => isBesideKept(one, sandbox)) : undefined;
    return created === undefined ? undefined : { what: 'create', path: created };
  }
  if (!sandbox.network && NO_NETWORK.test(line)) return { what: 'network' };
  if (!NOT_FOUND.test(line)) return undefined;
  // What a profile does not list does not exist in the sandbox.
  const path = pathsIn(line, cwd).find((one) => !isReadable(one, sandbox) && realPath(one) !== undefined);
  return path === undefined ? undefined : { what: 'read', path };
}

function isHidden(path: string, { hidden }: SandboxPlan): boolean {
  return hidden.some((one) => isWithin(one, path));
}

function isWritable(path: string, { write, guarded }: SandboxPlan): boolean {
  if (guarded.some((one) => isWithin(one, path))) return false;
  return write === 'all' || write.some((one) => isWithin(one, path));
}

function isReadable(path: string, { read, write }: SandboxPlan): boolean {
  const lists = [SYSTEM, ['/dev', '/proc'], read, write];
  return read === 'all' || lists.some((list) => list !== 'all' && list.some((one) => isWithin(one, path)));
}

// Landlock adds nothing to a directory that contains something hidden or protected.
function isBesideKept(path: string, { hidden, guarded }: SandboxPlan): boolean {
  return realPath(path) === undefined && [...hidden, ...guarded].some((one) => isWithin(dirname(path), one));
}

// Quoted texts, and words with a slash, with a dot at the beginning or before a colon.
function pathsIn(whole: string, cwd: string): string[] {
  // The first name is that of the program or script which reports it.
  const line = whole.replace(/^\S+: (?=.*: )/, '');
  const [, created] = /cannot (?:create|open) ([^\s'"‘`]+): /.exec(line) ?? [];
  const quoted = [...line.matchAll(/['"‘`]([^'"’`]+)['"’`]/g)].map(([, text]) => text!);
  const parts = line.split(/: |\s/).map((text) => text.replace(/[:,;]+$/, ''));
  return [
    ...quoted,
    ...(created === undefined ? [] : [created]),
    ...parts.filter((text) => text.includes('/') || text.startsWith('.')),
    ...line
      .split(': ')
      .slice(0, -1)
      .filter((text) => !/\s/.test(text)),
  ]
    .filter((text) => !ERROR_NAME.test(text) && !text.startsWith('/dev/'))
    .map((text) => {
      const absolute = isAbsolute(text) ? text : resolve(cwd, text);
      return realPath(absolute) ?? absolute;
    });
}

const DONE = { write: 'write to', read: 'read of', create: 'create', env: 'use of the variable' };

/** The error of a process that its sandbox stopped. */
export function refusedError({ what, path }: Refusal, refused: RefusedProcess): ToolError {
  const { name, sandbox } = refused;
  const { profile, backend } = sandbox;
  const done =
    what === 'network'
      ? 'use of the network'
      : path === undefined
        ? what
        : `${DONE[what]} ${quoteOutside(what === 'env' ? path : shorten(path, refused))}`;
  const named = what === 'env' ? { variable: path } : path === undefined ? {} : { path };
  return new ToolError('denied', `${name} was stopped by its sandbox (${profile}): ${done}`, {
    hint: `${toHint({ what, path }, refused)}${sandbox.byProject ? '; .agents/config.toml of the project narrows it too' : ''}`,
    data: { sandbox: { profile, backend, refused: what === 'create' ? 'write' : what, ...named } },
  });
}

function toHint({ what, path }: Refusal, refused: RefusedProcess): string {
  const { name, sandbox } = refused;
  const { tables, denied } = sandbox;
  const headers = tables.map(toHeader);
  const deniedAt = path === undefined ? undefined : denied.find((one) => isWithin(one, path));
  if (deniedAt !== undefined) {
    const shown = JSON.stringify(relativeTo(deniedAt, refused));
    return `remove ${shown} from deny in ${headers.join(' and ')} of ~/.wield/config.toml, or run it with --sandbox none`;
  }
  if (what === 'create')
    return 'Landlock cannot create files next to protected ones: write into a directory, or install bubblewrap';
  const line = `${toLine({ what, path }, refused)}${keepWrites(what, sandbox)}`;
  if (headers.length === 0)
    return `a [[sandbox]] rule of yours sets that profile; write profile = ${JSON.stringify(name)} in it, and ${toHeader(name)} ${line}`;
  const lines = headers.map((header) => `${header} ${line}`).join(' and ');
  return `allow it in ~/.wield/config.toml with ${lines}, or run it with --sandbox none`;
}

function toHeader(table: string): string {
  return `[sandbox.${/^[\w-]+$/.test(table) ? table : JSON.stringify(table)}]`;
}

// The line keeps what is allowed already.
function toLine({ what, path }: Refusal, refused: RefusedProcess): string {
  const { read, write, env = [] } = refused.sandbox;
  const list = (allowed: readonly string[]): string => `[${allowed.map((one) => JSON.stringify(one)).join(', ')}]`;
  const extend = (allowed: 'all' | readonly string[]): string =>
    list([
      ...(allowed === 'all' ? ['/'] : allowed.map((one) => relativeTo(one, refused))),
      path === undefined ? '…' : relativeTo(path, refused),
    ]);
  if (what === 'network') return 'network = true';
  if (what === 'env') return `env = ${list([...env, path!])}`;
  return what === 'read' ? `read = ${extend(read)}` : `write = ${extend(write)}`;
}

// A table that replaces a built-in profile writes the workdir, unless it says something else.
function keepWrites(what: Refusal['what'], { profile, tables }: SandboxPlan): string {
  if (what === 'write' || tables.includes(profile)) return '';
  return profile === 'read-only' ? ', write = []' : profile === 'no-network' ? ', write = ["/"]' : '';
}

function relativeTo(path: string, { sandbox, home }: RefusedProcess): string {
  const { workdir } = sandbox;
  if (path === workdir) return '.';
  if (path.startsWith(`${workdir}/`)) return path.slice(workdir.length + 1);
  return home !== undefined && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

function shorten(path: string, { home }: RefusedProcess): string {
  return home !== undefined && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
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
