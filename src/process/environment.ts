// What a process starts with: its environment, the search path, interpreters and resource limits.

import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { PlanContext } from '../core/executor.js';
import type { Plan, ProcessLimits, Variables } from '../core/plan.js';
import { referencesOf, type Settings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { quoteOutside, words } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';

/** Every process gets these. */
const BASE = ['PATH', 'USER', 'LANG', 'TERM', 'TMPDIR', 'TZ'];
const FALLBACK_PATH = '/usr/local/bin:/usr/bin:/bin';
// Families of variables that make a loader, an interpreter, a shell or a build tool run or load other code, or trust other
// certificates: whole families, because each has members that few know. A wildcard never matches them (EXE-2).
const FAMILIES = [
  // Loaders and the C library.
  ...words('LD_ DYLD_ _RLD GCONV_PATH LOCPATH NLSPATH GLIBC_ MALLOC_ HOSTALIASES RES_OPTIONS'),
  // Shells, and what they start.
  ...words(`
    BASH SHELLOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND IFS CDPATH ZDOTDIR FPATH PAGER MANPAGER LESSOPEN LESSCLOSE
    EDITOR VISUAL BROWSER SSH_ASKPASS SUDO_ GIT_
  `),
  // Interpreters and their package managers.
  ...words(`
    NODE_ NPM_ YARN_ PNPM_ BUN_ DENO_ ELECTRON_ TS_NODE_ PYTHON PIP_ UV_ CONDA_ PERL RUBY GEM_ BUNDLE_ PHP LUA_
    TCL GUILE_ ERL_ ELIXIR_ R_ JULIA_ OCAML JAVA_ _JAVA_ JDK_ JRE_ JVM_ CLASSPATH MAVEN_ MVN_ GRADLE_ SBT_
    KOTLIN_ SCALA_ DOTNET_ CORECLR_ COR_ COMPLUS_ NUGET_ MONO_ PSMODULE
  `),
  // Build tools and compilers.
  ...words(`
    GOFLAGS GOROOT GOPATH GOENV GOTOOL GOPROXY CGO_ CARGO_ RUST CMAKE_ MAKE GCC_ COMPILER_PATH LIBRARY_PATH
    CPATH C_INCLUDE_ CPLUS_ GTK_ GIO_ GDK_ QT_ GST_ VIM PKG_CONFIG M4
  `),
  // Programs that start others, or load plugins.
  ...words(`
    ANSIBLE_ APT_CONFIG AWK CVS_ EMACS EXINIT FZF_ GVIMINIT IPYTHON JUPYTER_PATH JUPYTER_CONFIG NVIM_ OCTAVE RIPGREP_
    RSYNC_ SVN_ TAR_ TF_CLI_
  `),
  // Certificates and keys of connections.
  ...words('OPENSSL_ SSL CURL_ KRB5 P11_'),
];
// Parts of names that mean the same in any program: certificates to trust, and options, editors, pagers and others to run.
const PARTS = [
  ...['(?:^|_)CA_?(?:BUNDLE|CERT|FILE|PATH|DIR)', 'SSL_?(?:CERT|ROOT)', 'ROOT_?(?:CERT|CA$)', 'TRUST_?STORE'],
  ...['_(?:OPTS|EDITOR|PAGER|BROWSER|ASKPASS|RSH|SSH|SSH_COMMAND|PRELOAD|PLUGINS?|PLUGINS?_(?:DIR|PATH))$'],
  ...['^[A-Z0-9]+PATH$', '^[A-Z]*FLAGS$'],
];
export const LOADERS = new RegExp(`^(?:${FAMILIES.join('|')})|^(?:ENV|CC|CXX|LUA|SHELL)$|${PARTS.join('|')}`, 'i');
// Our own settings and what an outer call was given. A wildcard never matches them either.
const OWN = /^(?:WIELD|OCTOMIND)_/;
// Secrets of our server and fleet and the mark of an outer call: not passed on, whatever the configuration says.
const NEVER = /^WIELD_(?:TOKEN|CALL|FLEET|FLEET_KEY|FLEET_PASSWORD)$/;

/** Returns the variables every process gets, and those that the configuration passes on. */
export function baseEnvironment(world: World, pass: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) {
    if (value === undefined || value.includes('\0')) continue;
    if (BASE.includes(name) || name.startsWith('LC_') || isGranted(name, pass)) environment[name] = value;
  }
  environment.PATH = searchPath(world).join(delimiter);
  if (world.home !== undefined) environment.HOME = world.home;
  return environment;
}

/** Returns the world that a call is planned in: with the variables that a front sent, where this machine has none. */
export function worldOf({ variables }: Pick<PlanContext, 'variables'>, world: World): World {
  return variables === undefined ? world : { ...world, env: { ...variables, ...world.env } };
}

/** Returns the world in which a tool is planned: with references instead of the values, which only a run needs. */
export function withReferences(tool: Tool, settings: Settings, world: World): World {
  const references = referencesOf(tool, settings);
  return Object.keys(references).length === 0 ? world : { ...world, env: { ...world.env, ...references } };
}

/** Whether a variable is passed to no process, whatever a configuration says. */
export function isNeverPassed(name: string): boolean {
  return NEVER.test(name);
}

/** Whether the configuration passes a variable on. */
export function isGranted(name: string, pass: readonly string[]): boolean {
  if (isNeverPassed(name)) return false;
  return pass.some((entry) =>
    entry.endsWith('*')
      ? name.startsWith(entry.slice(0, -1)) && !LOADERS.test(name) && !OWN.test(name)
      : entry === name,
  );
}

/** Returns the absolute directories of PATH; relative ones could lead into a checkout. */
export function searchPath(world: Pick<World, 'env'>): string[] {
  const absolute = (world.env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
  // Many programs take an empty PATH as the current directory.
  return absolute.length > 0 ? absolute : FALLBACK_PATH.split(delimiter);
}

/** Returns the directories of PATH that are not in the workdir, nor lead there by a symbolic link (TJS-14). */
export function pathOutside(workdir: string, world: World): string[] {
  return searchPath(world).filter(isOutside(workdir));
}

function isOutside(workdir: string): (directory: string) => boolean {
  const real = realPath(workdir) ?? workdir;
  return (directory) =>
    (!isWithin(workdir, directory) && !isWithin(real, realPath(directory) ?? directory)) || isOfSystem(directory);
}

/** The directories of the programs of the system. */
export const SYSTEM_BIN: readonly string[] = ['/usr/local/', '/usr/', '/'].flatMap((at) => [`${at}bin`, `${at}sbin`]);

// Only root can add to these, and no sandboxed process.
function isOfSystem(directory: string): boolean {
  if (![directory, realPath(directory) ?? ''].every((path) => SYSTEM_BIN.includes(path))) return false;
  const stats = statOrNothing(directory);
  return stats?.uid === 0 && (stats.mode & 0o022) === 0;
}

// For programs that start others with fewer rights: such a process may have left a program of that name in a directory
// that it can write (EXE-70).
function systemFirst(path: readonly string[]): string[] {
  const isSystem = (directory: string): boolean => SYSTEM_BIN.includes(directory);
  return [...path.filter(isSystem), ...path.filter((directory) => !isSystem(directory))];
}

/** Finds programs that start a sandbox: those of the system first, and none of the workdir. */
export function launcherSearch(workdir: string, world: World): (name: string) => string | undefined {
  const path = systemFirst(searchPath(world));
  const isAllowed = isOutside(workdir);
  return (name) =>
    path.map((directory) => join(directory, name)).find((file) => isExecutable(file) && isAllowed(dirname(file)));
}

/** Returns the absolute path of a program on the search path, if there is one. */
export function findProgram(name: string, path: readonly string[]): string | undefined {
  if (name.includes('/')) return isAbsolute(name) && isExecutable(name) ? name : undefined;
  for (const directory of path) {
    const file = join(directory, name);
    if (isExecutable(file)) return file;
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  if (statOrNothing(path)?.isFile() !== true) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the absolute path of the interpreter of a shebang line (without `#!`), or of NAME for `env NAME`.
 * Throws `exec_failed` that quotes the line (EXE-8).
 */
export function findInterpreter(shebang: string, file: string, path: readonly string[]): string {
  const [first = '', ...rest] = shebang.split(/\s+/);
  const missing = (program: string): ToolError =>
    new ToolError('exec_failed', `interpreter not found: ${quoteOutside(program)}`, {
      hint: `install it, or change the first line of ${file}, which is "#!${quoteOutside(shebang)}"`,
      data: { shebang, interpreter: program },
    });
  const interpreter = isAbsolute(first) ? findProgram(first, []) : undefined;
  if (interpreter === undefined) throw missing(first);
  if (!/\/env$/.test(first)) return interpreter;
  const program = rest.find((word) => !word.startsWith('-') && !word.includes('='));
  if (program === undefined) return interpreter;
  const found = findProgram(program, path);
  if (found === undefined) throw missing(program);
  return found;
}

const FLAGS = {
  memoryBytes: '--as',
  cpuSeconds: '--cpu',
  openFiles: '--nofile',
  processes: '--nproc',
} as const satisfies Partial<Record<keyof ProcessLimits, string>>;

export type SystemLimit = keyof typeof FLAGS;

export const SYSTEM_LIMITS = Object.keys(FLAGS) as readonly SystemLimit[];

/** Returns the path of `prlimit`, if this system has it. */
export function findLimiter(platform: string, path: readonly string[]): string | undefined {
  return platform === 'linux' ? findProgram('prlimit', systemFirst(path)) : undefined;
}

/** Returns the arguments to put before a command to limit it; empty if no limit is set or can be set (EXE-9). */
export function limitLauncher(limits: ProcessLimits, limiter: () => string | undefined): readonly string[] {
  const flags = SYSTEM_LIMITS.flatMap((name) => (limits[name] === undefined ? [] : [`${FLAGS[name]}=${limits[name]}`]));
  const program = flags.length === 0 ? undefined : limiter();
  return program === undefined ? [] : [program, ...flags, '--'];
}

/** Returns the names of variables that the configuration passes on to a tool. */
export function grantsOf(tool: Tool, settings: Settings): readonly string[] {
  return [
    ...settings.env.pass,
    ...(settings.tools.get(tool.name)?.pass ?? []),
    ...Object.keys(referencesOf(tool, settings)),
  ];
}

/** Whether a tool or the configuration asks for a sandbox (EXE-10). */
export function mayBeSandboxed({ traits }: Tool, { sandbox }: Settings): boolean {
  return traits.sandbox !== undefined || sandbox.profiles.size > 0 || sandbox.rules.length > 0;
}

/** Throws `exec_failed` if the directory to run in does not exist. */
export function assertDirectory(directory: string): void {
  if (statOrNothing(directory)?.isDirectory() === true) return;
  throw new ToolError('exec_failed', `directory not found: ${directory}`, {
    hint: 'use another with --cwd DIR',
  });
}

// A reference in a credential: `${NAME}`, `${env:NAME}`.
const REFERENCE = /\$\{(?:env:)?([A-Za-z_]\w*)/g;

// Of no use on another machine.
const isOfMachine = (name: string): boolean =>
  BASE.includes(name) || name === 'HOME' || [/^LC_/, LOADERS, OWN].some((form) => form.test(name));

/** Returns the variables that a plan was granted; those of the machine itself are not sent (FLT-70). */
export function findSentVariables(plan: Plan, settings: Settings, { env }: World): Variables | undefined {
  const granted =
    plan.kind === 'http'
      ? plan.credentials.flatMap(({ value }) => [...value.matchAll(REFERENCE)].map(([, name = '']) => name))
      : grantsOf(plan.tool, settings);
  if (granted.length === 0) return undefined;
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !isOfMachine(entry[0]) && isGranted(entry[0], granted),
    ),
  );
}

/** Returns the names of sent variables that this machine does not grant a tool, which would arrive without them (FLT-70). */
export function findUngrantedVariables(tool: Tool, settings: Settings, variables: Variables): readonly string[] {
  // Those of credentials are granted by the entry of the operation.
  if (tool.action.kind === 'http') return [];
  const granted = grantsOf(tool, settings);
  return Object.keys(variables).filter((name) => !isGranted(name, granted));
}
