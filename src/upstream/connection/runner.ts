// Package runners: installs once what npx or uvx would fetch at every start, so that it runs without the network.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { removeTree } from '../../files/remove.js';
import { createStateDirectory } from '../../files/state.js';
import type { StartRequest } from '../../process/start.js';
import { findRunner } from '../entries/package-runner.js';
import { findPackage, findRun } from '../pins/package.js';
import { NPM_FLAGS, runInstaller, toRequirement } from '../pins/resolve.js';
import { findBin, findScript, installPypi } from '../pins/start.js';

// Those that need the network in a sandbox; of the others, what they run is what has the sandbox.
const RUNNERS = new Set(['npx', 'npm', 'pnpx', 'pnpm', 'yarn', 'bunx', 'bun', 'uvx', 'pipx']);

/** Returns the command line of a server without its package runner. Throws `unavailable` if that is not possible. */
export async function installRunner(
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
