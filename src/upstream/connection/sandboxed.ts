// Starts a server in its sandbox: with a state directory of its own, and packages that were installed before.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { AppliedProfile, SandboxSettings } from '../../core/sandbox.js';
import type { World } from '../../core/world.js';
import { digestParts } from '../../files/digest.js';
import { createStateDirectory } from '../../files/state.js';
import { findProgram, searchPath } from '../../process/environment.js';
import { planSandbox } from '../../process/sandbox/index.js';
import { prepareSandbox } from '../../process/sandbox/prepare.js';
import { runProcess, type StartRequest } from '../../process/spawn.js';

export interface SandboxedServer {
  readonly name: string;
  readonly request: StartRequest;
  readonly applied: readonly AppliedProfile[];
  readonly sandboxes: SandboxSettings;
}

interface Places {
  readonly world: World;
  readonly wieldHome: string;
}

const INSTALL_MS = 5 * 60_000;

/** Returns how to start the server in its sandbox. Throws if it cannot be enforced or its package not be installed. */
export async function sandboxServer(
  { name, request, applied, sandboxes }: SandboxedServer,
  places: Places,
): Promise<StartRequest> {
  const own = join(places.wieldHome, 'servers', directoryName(name));
  const state = join(own, 'state');
  const environment = {
    ...request.environment,
    XDG_STATE_HOME: state,
    XDG_CACHE_HOME: state,
    XDG_DATA_HOME: state,
    npm_config_cache: join(state, 'npm'),
  };
  const target = { name, workdir: request.cwd, state: [state], environment };
  for (const directory of [places.wieldHome, join(places.wieldHome, 'servers'), own, state])
    createStateDirectory(directory);
  const first = await planSandbox(applied, sandboxes, { ...target, code: [] }, places);
  const isOffline = first.sandbox.backend !== 'none' && !first.sandbox.network;
  const argv = isOffline ? await installRunner(name, request, join(own, 'code'), places) : request.argv;
  const program = findProgram(argv[0]!, searchPath(places.world)) ?? argv[0]!;
  const code = [program, ...(isOffline ? [join(own, 'code')] : [])].filter((path) => existsSync(path));
  const planned = await planSandbox(applied, sandboxes, { ...target, code }, places);
  prepareSandbox(planned.sandbox);
  return {
    ...request,
    argv: [...planned.sandbox.launcher, ...argv],
    environment: planned.environment,
  };
}

// A name may contain any printable character.
function directoryName(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) && !name.startsWith('.') ? name : digestParts([name]).slice(0, 16);
}

/** Installs what a package runner would fetch, once; returns the command line that runs it without the network. */
async function installRunner(
  name: string,
  { argv, environment }: StartRequest,
  directory: string,
  { world }: Places,
): Promise<readonly string[]> {
  const [command = '', ...args] = argv;
  const runner = basename(command);
  if (runner === 'uvx' || runner === 'pipx' || runner === 'bunx' || runner === 'dlx') throw cannotInstall(name, runner);
  if (runner !== 'npx') return argv;
  const { spec, rest } = readNpx(args);
  if (spec === undefined) throw cannotInstall(name, runner);
  const place = join(directory, digestParts([spec]).slice(0, 16));
  if (!existsSync(join(place, 'package.json'))) {
    createStateDirectory(directory);
    createStateDirectory(place);
    await install(name, spec, place, environment, world);
  }
  return [process.execPath, findBin(name, place), ...rest];
}

function readNpx(args: readonly string[]): { readonly spec: string | undefined; readonly rest: readonly string[] } {
  const at = args.findIndex((word) => !word.startsWith('-'));
  // `-p PACKAGE COMMAND` may run any command.
  const isPlain = args.slice(0, at).every((word) => word === '-y' || word === '--yes');
  return { spec: at === -1 || !isPlain ? undefined : args[at], rest: args.slice(at + 1) };
}

async function install(
  name: string,
  spec: string,
  directory: string,
  environment: Readonly<Record<string, string>>,
  world: World,
): Promise<void> {
  const npm = findProgram('npm', searchPath(world));
  if (npm === undefined) throw cannotInstall(name, 'npx');
  world.debug(`${name}: installing ${spec} into ${directory}`);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--save-exact'];
  const outcome = await runProcess(
    {
      argv: [npm, 'install', ...flags, '--prefix', directory, '--', spec],
      cwd: directory,
      environment,
      stdin: '',
      timeoutMs: INSTALL_MS,
      outputBytes: 1024 * 1024,
    },
    world,
  );
  if (outcome.ending === 'exit' && outcome.exitCode === 0) return;
  const reason = outcome.stderr.toString('utf8').trim().split('\n')[0] ?? '';
  throw new ToolError('unavailable', `cannot install ${spec} for the server ${name}: ${reason.slice(0, 200)}`, {
    hint: `run it by hand to see what is wrong: npm install ${spec}`,
  });
}

// npm writes the package as the only dependency of the directory that it was installed into.
function findBin(name: string, place: string): string {
  const { dependencies } = readManifest(place);
  const [packageName = ''] = isRecord(dependencies) ? Object.keys(dependencies) : [];
  const directory = join(place, 'node_modules', packageName);
  const { bin } = readManifest(directory);
  const short = packageName.replace(/^@[^/]+\//, '');
  const bins = typeof bin === 'string' ? { [short]: bin } : isRecord(bin) ? bin : {};
  const [only] = Object.values(bins);
  const chosen = bins[short] ?? (Object.keys(bins).length === 1 ? only : undefined);
  if (typeof chosen === 'string') return resolve(directory, chosen);
  throw cannotInstall(name, 'npx');
}

function readManifest(directory: string): Readonly<Record<string, unknown>> {
  const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return isRecord(manifest) ? manifest : {};
}

function cannotInstall(name: string, runner: string): ToolError {
  return new ToolError('unavailable', `the sandbox of the server ${name} has no network, which ${runner} needs`, {
    hint: `install its program and write that as the command, or allow the network: [sandbox.${name}] network = true`,
    data: { server: name },
  });
}
