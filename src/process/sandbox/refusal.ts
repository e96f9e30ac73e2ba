// Finds out from the output of a failed process what its sandbox refused.

import { dirname, isAbsolute, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { SandboxPlan } from '../../core/sandbox.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin, realPath } from '../../files/within.js';
import { accessTo, isVisible } from './rules.js';

export interface Refusal {
  /** `operation`: what no profile allows. */
  readonly what: 'write' | 'read' | 'network' | 'env' | 'create' | 'operation';
  /** The path, the name of the variable, or what the process said about an operation. */
  readonly path?: string;
  /** The path that has to be allowed, if it is another one: some operations need the directory. */
  readonly allow?: string;
  /** The hosts that it tried to reach, if there is a list. */
  readonly hosts?: readonly RefusedHost[];
}

/** A connection that the proxy of a sandbox refused. */
export interface RefusedHost {
  readonly message: string;
  /** What has to be listed to allow it; undefined if nothing does. */
  readonly allow: string | undefined;
}

export interface RefusedProcess {
  readonly name: string;
  readonly sandbox: SandboxPlan;
  readonly cwd: string;
  readonly home: string | undefined;
  /** Whether `--sandbox none` is not for it: a server, which other calls use, or a hook. */
  readonly isPermanent?: boolean | undefined;
}

// Texts of the C library, of Node and of common programs for the errors that a sandbox causes.
const READ_ONLY = /read-only file system|EROFS|\bErrno 30\b/i;
const NOT_PERMITTED = /permission denied|operation not permitted|EACCES|EPERM|\bErrno 13\b/i;
const NOT_FOUND = /no such file or directory|ENOENT|\bErrno 2\b/i;
const NO_NETWORK =
  /network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|temporary failure in name resolution|(?:could not|unable to|failed to) resolve|name or service not known|unknown ?host|getaddrinfo|connection refused|ECONNREFUSED|(?:couldn't|failed to|unable to) connect to|fetch failed|no route to host|\bErrno 101\b/i;
// Of a program that does not use its proxy.
const WITHOUT_PROXY =
  /network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|temporary failure in name resolution|(?:could not|unable to|failed to) resolve|name or service not known|unknown ?host|getaddrinfo|fetch failed(?!.*proxy)|(?:failed|unable) to connect to (?!localhost|127\.|\[?::1)|no route to host|\bErrno 101\b/i;
// Refused by the filter, or for want of capabilities, whatever the profile (EXE-76).
const PRIVILEGED =
  /\b(?:u?mount|unshare|setns|chroot|pivot_root|namespaces?|p?trace|strace|ptrace|keyctl|add_key|request_key|bpf|perf|perf_event_open|io_uring\w*|userfaultfd|mknod|set groups|setgroups|set[ug]id|raw socket|socket)\b/i;
const NEVER_ALLOWED =
  /no new privileges|no permissions to create new namespace|effective uid is not 0|address family not supported|EAFNOSUPPORT|cross-device link|EXDEV|\bErrno (?:18|97)\b/i;
const CHANGES_OWNER = /(?:ownership|chown).*(?:invalid argument|operation not permitted)|(?:EINVAL|EPERM).*chown/i;
const DEVICE = /\/dev\/(?!fd\b|std|pts\b|tty\b|tcp\b|udp\b)[\w./-]+/;
// They replace or remove an entry of a directory.
const NEEDS_DIRECTORY =
  /temporary file|unable to remove target|\block\b|lock file|cannot remove|unlink|rmdir|rename|cannot move|(?:sym|hard |symbolic )link/i;
const MAKES_DIRECTORY = /create (?:work tree )?dir|mkdir/i;
// Python names the function in a line of its own.
const PYTHON_MKDIR = /\b(?:mkdir|makedirs)\b/;
const BUSY = /resource busy|EBUSY|\bErrno 16\b/i;
const ALWAYS_THERE = /^\/(?:dev|proc)(?:\/|$)/;
const ERROR_NAME = /^E[A-Z]+$/;
const MAX_SEARCHED = 64 * 1024;

/** Returns what was refused; undefined if the failure seems to be the process's own. */
export function findRefusal(output: string, { sandbox, cwd }: RefusedProcess): Refusal | undefined {
  const searched = output.slice(-MAX_SEARCHED);
  let unnamed: Refusal | undefined;
  for (const line of searched.split('\n').reverse()) {
    const refusal = findInLine(line, sandbox, cwd, searched);
    if (refusal?.path !== undefined || refusal?.what === 'network') return refusal;
    unnamed ??= refusal;
  }
  if (unnamed !== undefined) return unnamed;
  const words = sandbox.dropped.length === 0 ? undefined : new Set(searched.split(/\W+/));
  const variable = sandbox.dropped.find((name) => words!.has(name));
  return variable === undefined ? undefined : { what: 'env', path: variable };
}

function findInLine(line: string, sandbox: SandboxPlan, cwd: string, whole: string): Refusal | undefined {
  if (isNeverAllowed(line)) return { what: 'operation', path: line.trim() };
  const isReadOnly = READ_ONLY.test(line);
  if (isReadOnly || NOT_PERMITTED.test(line)) {
    const paths = pathsIn(line, cwd);
    const found = paths.find((one) => accessTo(sandbox.rules, one) !== 'write');
    // Only as a whole can it be allowed.
    const guarded = sandbox.guarded.find((one) => found !== undefined && isWithin(one, found));
    const path = guarded ?? found;
    if (path !== undefined) {
      if (ALWAYS_THERE.test(path)) return { what: 'operation', path: line.trim() };
      // Of /sys, only the devices of the network are hidden.
      if (path.startsWith('/sys/') && accessTo(sandbox.rules, path) === 'hidden') return { what: 'network' };
      if (isUnreadable(path, sandbox)) return { what: 'read', path };
      return { what: 'write', path, allow: guarded ?? toAllow(line, path, whole) };
    }
    const mount = paths.find((one) => isMount(one, sandbox));
    if (isReadOnly)
      return mount === undefined ? { what: 'write' } : { what: 'write', path: mount, allow: dirname(mount) };
    const created = sandbox.backend === 'landlock' ? paths.find((one) => isBesideKept(one, sandbox)) : undefined;
    return created === undefined ? undefined : { what: 'create', path: created };
  }
  if (sandbox.network !== true && lacksNetwork(line, sandbox)) return { what: 'network' };
  if (BUSY.test(line)) {
    const paths = pathsIn(line, cwd);
    const kept = paths.find((one) => ['hidden', 'read'].includes(sandbox.rules.get(one) ?? ''));
    if (kept !== undefined) return { what: 'write', path: kept };
    const path = paths.find((one) => isMount(one, sandbox));
    return path === undefined ? undefined : { what: 'write', path, allow: dirname(path) };
  }
  if (!NOT_FOUND.test(line)) return undefined;
  // What a profile does not list does not exist in the sandbox.
  const isMissing = (one: string): boolean => !isVisible(sandbox.rules, one) && !ALWAYS_THERE.test(one);
  const path = pathsIn(line, cwd).find((one) => isMissing(one) && realPath(one) !== undefined);
  return path === undefined ? undefined : { what: 'read', path };
}

function lacksNetwork(line: string, { network }: SandboxPlan): boolean {
  if (network === false) return NO_NETWORK.test(line);
  // What the proxy itself reports is a fault of the server.
  return WITHOUT_PROXY.test(line) && !line.includes(PROXY_REPORT);
}

/** How texts of the proxy begin. */
export const PROXY_REPORT = 'wield: ';

function isNeverAllowed(line: string): boolean {
  if (NEVER_ALLOWED.test(line)) return true;
  if (process.getuid?.() === 0 && CHANGES_OWNER.test(line)) return true;
  const isRefused = NOT_PERMITTED.test(line);
  const [device] = DEVICE.exec(line) ?? [];
  if (device !== undefined && (isRefused || NOT_FOUND.test(line)) && realPath(device) !== undefined) return true;
  // Names of files may contain any of the words.
  const words = line.replace(/\S*\/\S+|['"‘`][^'"’`]+['"’`]/g, ' ');
  return isRefused && PRIVILEGED.test(words);
}

function toAllow(line: string, path: string, whole: string): string {
  if (NEEDS_DIRECTORY.test(line)) return dirname(path);
  const isDirectory = MAKES_DIRECTORY.test(line) || (/\bErrno 30\b/.test(line) && PYTHON_MKDIR.test(whole));
  return isDirectory ? `${path}/` : path;
}

// What is allowed by itself exists, and cannot be removed or replaced.
function isMount(path: string, { write, workdir }: SandboxPlan): boolean {
  return write !== 'all' && path !== workdir && write.some((one) => one === path || one === `${path}/`);
}

// What is hidden in a directory that can be passed through does not exist there, so that only writing is refused.
function isUnreadable(path: string, { rules, backend }: SandboxPlan): boolean {
  const access = accessTo(rules, path);
  if (access !== 'hidden') return access === undefined && !ALWAYS_THERE.test(path);
  const around = [...rules.keys()].filter((one) => isWithin(one, path)).reduce((a, b) => (a.length > b.length ? a : b));
  const isPassed = [...rules].some(([one, access]) => access !== 'hidden' && isWithin(around, one));
  return path === around || backend !== 'bubblewrap' || !isPassed;
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

const DONE: Readonly<Record<string, string>> = {
  write: 'write to',
  read: 'read of',
  create: 'create',
  env: 'use of the variable',
};

/** The error of a process that its sandbox stopped. */
export function refusedError(refusal: Refusal, refused: RefusedProcess): ToolError {
  const { what, path } = refusal;
  const { name, sandbox } = refused;
  const { profile, backend } = sandbox;
  const done =
    what === 'network'
      ? describeNetworkUse(refusal, sandbox)
      : what === 'operation'
        ? quoteOutside(path!, 200)
        : path === undefined
          ? what
          : `${DONE[what]} ${quoteOutside(what === 'env' ? path : shorten(path, refused))}`;
  const hosts = refusal.hosts?.flatMap(({ allow = [] }) => allow);
  const named =
    hosts !== undefined
      ? { hosts }
      : what === 'env'
        ? { variable: path }
        : path === undefined || what === 'operation'
          ? {}
          : { path };
  return new ToolError('denied', `${name} was stopped by its sandbox (${profile}): ${done}`, {
    hint: `${toHint(refusal, refused)}${sandbox.byProject ? '; .agents/config.toml of the project narrows it too' : ''}`,
    data: { sandbox: { profile, backend, refused: what === 'create' ? 'write' : what, ...named } },
  });
}

function describeNetworkUse({ hosts }: Refusal, { network }: SandboxPlan): string {
  if (hosts !== undefined) return hosts.map(({ message }) => message).join('; ');
  return network === false ? 'use of the network' : 'use of the network without its proxy';
}

function toHint(refusal: Refusal, refused: RefusedProcess): string {
  const { what, path, allow = path, hosts } = refusal;
  if (hosts !== undefined) return explainHosts(hosts, refused);
  if (what === 'operation') return `no profile allows it${refused.isPermanent ? '' : '; run it with --sandbox none'}`;
  const orWithout = refused.isPermanent ? '' : ', or run it with --sandbox none';
  const { sandbox } = refused;
  const { tables, denied } = sandbox;
  const headers = tables.map(toHeader);
  const deniedAt = path === undefined ? undefined : denied.find((one) => isWithin(one, path));
  if (deniedAt !== undefined) {
    const shown = JSON.stringify(relativeTo(deniedAt, refused));
    return `remove ${shown} from deny in ${headers.join(' and ')} of ~/.wield/config.toml${orWithout}`;
  }
  if (what === 'create')
    return 'Landlock cannot create files next to protected ones: write into a directory, or install bubblewrap';
  const line = `${toLine({ what, path: allow }, refused)}${keepWrites(what, sandbox)}`;
  const isListed = what === 'network' && sandbox.network !== false;
  return `${isListed ? 'let it use the proxy in HTTPS_PROXY and HTTP_PROXY, or ' : ''}${toAllowed(line, refused)}${headers.length === 0 ? '' : orWithout}`;
}

/** What is needed to say how a host is allowed. */
export interface RefusingSandbox extends Pick<RefusedProcess, 'name'> {
  readonly sandbox: Pick<SandboxPlan, 'network' | 'profile' | 'tables' | 'byProject'>;
}

/** Returns the lines of configuration that allow hosts. */
export function explainHosts(hosts: readonly RefusedHost[], refused: RefusingSandbox): string {
  const { sandbox } = refused;
  const added = hosts.flatMap(({ allow = [] }) => allow);
  if (added.length === 0) return 'no profile allows it';
  const known = typeof sandbox.network === 'boolean' ? [] : sandbox.network;
  const line = `network = ${toList([...new Set([...known, ...added])])}${keepWrites('network', sandbox)}`;
  return toAllowed(line, refused);
}

function toAllowed(line: string, { name, sandbox: { tables } }: RefusingSandbox): string {
  if (tables.length === 0)
    return `a [[sandbox]] rule of yours sets that profile; write profile = ${JSON.stringify(name)} in it, and ${toHeader(name)} ${line}`;
  return `allow it in ~/.wield/config.toml with ${tables.map((table) => `${toHeader(table)} ${line}`).join(' and ')}`;
}

function toList(allowed: readonly string[]): string {
  return `[${allowed.map((one) => JSON.stringify(one)).join(', ')}]`;
}

function toHeader(table: string): string {
  return `[sandbox.${/^[\w-]+$/.test(table) ? table : JSON.stringify(table)}]`;
}

// The line keeps what is allowed already.
function toLine({ what, path }: { what: Refusal['what']; path: string | undefined }, refused: RefusedProcess): string {
  const { read, write, env = [] } = refused.sandbox;
  // A path below the new one would stay a mount.
  const isKept = (one: string): boolean =>
    one === refused.sandbox.workdir || path === undefined || !isWithin(path, one);
  const extend = (allowed: 'all' | readonly string[]): string =>
    toList([
      ...(allowed === 'all' ? ['/'] : allowed.filter(isKept).map((one) => relativeTo(one, refused))),
      path === undefined ? '…' : relativeTo(path, refused),
    ]);
  if (what === 'network') return 'network = true';
  if (what === 'env') return `env = ${toList([...env, path!])}`;
  return what === 'read' ? `read = ${extend(read)}` : `write = ${extend(write)}`;
}

// A table that replaces a built-in profile writes the workdir, unless it says something else.
function keepWrites(what: Refusal['what'], { profile, tables }: Pick<SandboxPlan, 'profile' | 'tables'>): string {
  if (what === 'write' || tables.includes(profile)) return '';
  return profile === 'read-only' ? ', write = []' : profile === 'no-network' ? ', write = ["/"]' : '';
}

function relativeTo(path: string, refused: RefusedProcess): string {
  const { workdir } = refused.sandbox;
  if (path === workdir) return '.';
  return path.startsWith(`${workdir}/`) ? path.slice(workdir.length + 1) : shorten(path, refused);
}

function shorten(path: string, { home }: RefusedProcess): string {
  const isHome = home !== undefined && (path === home || path.startsWith(`${home}/`));
  return isHome ? `~${path.slice(home.length)}` : path;
}

/** Returns the error of a launcher that seems not to have started the process; a process may print such text, too. */
export function findLauncherFault(stderr: string, { name, sandbox }: RefusedProcess): ToolError | undefined {
  const [first = ''] = stderr.split('\n');
  const match = /^(bwrap|setpriv|unshare|sandbox-exec): (.*)$/.exec(first);
  if (match === null) return undefined;
  const { profile, backend } = sandbox;
  return new ToolError('unavailable', `the sandbox of ${name} could not be started: ${quoteOutside(match[2]!, 200)}`, {
    hint: 'check the paths of its profile, and run: wield doctor',
    data: { sandbox: { profile, backend } },
  });
}
