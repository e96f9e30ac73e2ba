// Starts a server in its sandbox: with a state directory of its own, and packages that were installed before.

import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { SandboxSettings } from '../../core/sandbox.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { statOrNothing } from '../../files/read.js';
import { removeTree } from '../../files/remove.js';
import { createStateDirectory } from '../../files/state.js';
import { type EgressPlan, planEgress } from '../../net/egress/plan.js';
import { findProgram, searchPath } from '../../process/environment.js';
import type { AppliedProfile } from '../../process/sandbox/applied.js';
import { launcherWith } from '../../process/sandbox/egress.js';
import { planSandbox } from '../../process/sandbox/index.js';
import { prepareSandbox } from '../../process/sandbox/prepare.js';
import type { StartRequest } from '../../process/start.js';
import { findRunner } from '../entries/package-runner.js';
import { findPackage, findRun } from '../pins/package.js';
import { NPM_FLAGS, runInstaller, toRequirement } from '../pins/resolve.js';
import { findBin, findScript, installPypi } from '../pins/start.js';

export interface SandboxedServer {
  readonly name: string;
  readonly request: StartRequest;
  /** The directory that its package is installed in. */
  readonly root?: string | undefined;
  readonly applied: readonly AppliedProfile[];
  readonly sandboxes: SandboxSettings;
}

interface SandboxedContext {
  readonly world: World;
  readonly wieldHome: string;
}

const PACKAGE_FILES = ['package.json', 'pyproject.toml', 'setup.py'];

/** Returns how to start the server in its sandbox. Throws if it cannot be enforced or its package not be installed. */
export async function sandboxServer(
  { name, request, root, applied, sandboxes }: SandboxedServer,
  context: SandboxedContext,
): Promise<{ readonly request: StartRequest; readonly egress: EgressPlan | undefined }> {
  const own = join(context.wieldHome, 'servers', directoryName(name));
  const state = join(own, 'state');
  const environment = {
    ...request.environment,
    XDG_STATE_HOME: state,
    XDG_CACHE_HOME: state,
    XDG_DATA_HOME: state,
    npm_config_cache: join(state, 'npm'),
  };
  const target = { name, isPermanent: true, workdir: request.cwd, state: [state], environment };
  for (const directory of [context.wieldHome, join(context.wieldHome, 'servers'), own, state])
    createStateDirectory(directory);
  const plan = (argv: readonly string[], installed: readonly string[]) => {
    const program = findProgram(argv[0]!, searchPath(context.world)) ?? argv[0]!;
    const code = [program, ...installed, ...argv.slice(1).flatMap(toPackage)].filter((path) => existsSync(path));
    return planSandbox(applied, sandboxes, { ...target, code }, context);
  };
  const first = await plan(request.argv, root === undefined ? [] : [root]);
  const isOffline = first.sandbox.backend !== 'none' && first.sandbox.network !== true;
  const argv = isOffline ? await installRunner(name, request, join(own, 'code'), context.world) : request.argv;
  // Only a package that was installed is somewhere else.
  const planned = argv === request.argv ? first : await plan(argv, [join(own, 'code')]);
  prepareSandbox(planned.sandbox);
  return {
    request: {
      ...request,
      argv: [...launcherWith(planned.sandbox, []), ...argv],
      filter: planned.sandbox.filter,
      environment: planned.environment,
    },
    egress: planEgress(name, planned.sandbox),
  };
}

// EXE-82: a file or directory that the entry names is open, with the package around it.
function toPackage(argument: string): string[] {
  if (!isAbsolute(argument)) return [];
  const stats = statOrNothing(argument);
  if (stats?.isFile() !== true) return stats === undefined ? [] : [argument];
  for (let at = dirname(argument); at !== dirname(at); at = dirname(at)) {
    if (PACKAGE_FILES.some((name) => existsSync(join(at, name)))) return [argument, at];
  }
  return [argument, dirname(argument)];
}

// A name may contain any printable character.
function directoryName(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) && !name.startsWith('.') ? name : digestParts([name]).slice(0, 16);
}

// Those that need the network in a sandbox; of the others, what they run is what has the sandbox.
const RUNNERS = new Set(['npx', 'npm', 'pnpx', 'pnpm', 'yarn', 'bunx', 'bun', 'uvx', 'pipx']);

// Returns the command line of a server without its package runner. Throws `unavailable` if that is not possible.
async function installRunner(
  server: string,
  { argv, cwd, environment }: StartRequest,
  directory: string,
  world: World,
): Promise<readonly string[]> {
  const [command = '', ...words] = argv;
  const runner = findRunner(argv);
  if (runner === undefined || !RUNNERS.has(runner)) return argv;
  // Behind a wrapper, such as `env npx`, the words are not its own.
  const isKnown = basename(command) === runner && (runner === 'npx' || runner === 'uvx');
  const run = isKnown ? findRun(command, words) : undefined;
  const found = findPackage(command, words);
  const program = run?.program ?? found?.program;
  if (run === undefined || (runner === 'uvx' && program === undefined)) throw needsNetwork(server, runner);
  const { spec, args, python } = run;
  const root = join(directory, digestParts([runner, spec, ...(python === undefined ? [] : [python])]).slice(0, 16));
  world.debug(`${server}: ${spec} is installed in ${root}`);
  const installing = { server, variables: environment, cwd, world };
  const fail = (_what: string, _server: string, reason: string): ToolError => failed(server, spec, reason);
  const clear = (): void => {
    removeTree(root);
    for (const one of [directory, root]) createStateDirectory(one);
  };
  const manifest = join(root, 'package.json');
  if (runner === 'npx') {
    const flags = ['install', ...NPM_FLAGS, '--save-exact', '--prefix', root];
    if (!existsSync(manifest)) {
      clear();
      await runInstaller(['npm', ...flags, '--', spec], root, installing, fail);
    }
    // npm writes the package as the only dependency of the directory that it was installed into.
    const { dependencies = {} }: { dependencies?: object } = JSON.parse(readFileSync(manifest, 'utf8'));
    const [name = spec] = Object.keys(dependencies);
    return [process.execPath, findBin(name, program, root, server), ...args];
  }
  const named = found === undefined ? spec : toRequirement(found);
  if (!existsSync(join(root, 'venv', 'bin', program!))) {
    clear();
    await installPypi(['--', named], run, root, installing, fail);
  }
  return [findScript(spec, program!, root, server), ...args];
}

function failed(server: string, spec: string, reason: string): ToolError {
  const shown = `cannot install ${quoteOutside(spec)} for the server ${server}: ${quoteOutside(reason, 300)}`;
  return new ToolError('unavailable', shown, {
    hint: 'check the package and the connection, or install its program and write that as the command',
    data: { server },
  });
}

function needsNetwork(name: string, runner: string): ToolError {
  return new ToolError('unavailable', `the sandbox of the server ${name} has no network, which ${runner} needs`, {
    hint: `install its program and write that as the command, or allow the network: [sandbox.${name}] network = true`,
    data: { server: name },
  });
}
