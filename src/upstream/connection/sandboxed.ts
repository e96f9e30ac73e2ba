// Starts a server in its sandbox: with a state directory of its own, and packages that were installed before.

import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { SandboxSettings } from '../../core/sandbox.js';
import type { World } from '../../core/snapshot.js';
import { digestParts } from '../../files/digest.js';
import { statOrNothing } from '../../files/read.js';
import { createStateDirectory } from '../../files/state.js';
import { type EgressPlan, planEgress } from '../../net/egress/plan.js';
import { findProgram, searchPath } from '../../process/environment.js';
import type { AppliedProfile } from '../../process/sandbox/applied.js';
import { launcherWith } from '../../process/sandbox/egress.js';
import { planSandbox } from '../../process/sandbox/index.js';
import { prepareSandbox } from '../../process/sandbox/prepare.js';
import type { StartRequest } from '../../process/start.js';
import { installRunner } from './runner.js';

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
