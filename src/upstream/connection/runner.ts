// Package runners: installs once what npx or uvx would fetch at every start, so that it runs without the network.

import { existsSync, readFileSync } from 'node:fs';
import { basename, delimiter, join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { createStateDirectory } from '../../files/state.js';
import { findProgram, pathOutside } from '../../process/environment.js';
import { runProcess } from '../../process/spawn.js';
import type { StartRequest } from '../../process/start.js';
import { findRunner } from '../entries/package-runner.js';

/** What a runner is asked to run. */
interface Wanted {
  /** The package, as its installer reads it. */
  readonly spec: string;
  /** The command of the package; undefined: its only one. */
  readonly command?: string;
  readonly args: readonly string[];
}

interface Installing {
  /** The server. */
  readonly name: string;
  readonly spec: string;
  /** The directory of this package, which exists. */
  readonly place: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where installers are looked for: they run outside the sandbox, so not in the workdir (EXE-70). */
  readonly path: readonly string[];
  readonly world: World;
}

const INSTALL_MS = 5 * 60_000;
// Those that need the network in a sandbox; of the others, what they run is what has the sandbox.
const RUNNERS = new Set(['npx', 'npm', 'pnpx', 'pnpm', 'yarn', 'bunx', 'bun', 'uvx', 'pipx']);

/** Returns the command line of a server without its package runner. Throws `unavailable` if that is not possible. */
export async function installRunner(
  name: string,
  { argv, cwd, environment }: StartRequest,
  directory: string,
  world: World,
): Promise<readonly string[]> {
  const [program = '', ...words] = argv;
  const runner = findRunner(argv);
  if (runner === undefined || !RUNNERS.has(runner)) return argv;
  // Behind a wrapper, such as `env npx`, the words are not its own.
  const isDirect = basename(program) === runner;
  const wanted = !isDirect
    ? undefined
    : runner === 'npx'
      ? readNpx(words)
      : runner === 'uvx'
        ? readUvx(words)
        : undefined;
  if (wanted === undefined) throw cannotInstall(name, runner);
  const { spec, command, args } = wanted;
  const place = join(directory, digestParts([runner, spec]).slice(0, 16));
  for (const one of [directory, place]) createStateDirectory(one);
  const path = pathOutside(cwd, world);
  const outside = { ...environment, PATH: path.join(delimiter) };
  const installing = { name, spec, place, environment: outside, path, world };
  const found = runner === 'npx' ? await installNpm(installing, command) : await installUv(installing, command!);
  return [...found, ...args];
}

// `npx [-y] PACKAGE …` or `npx [-y] -p PACKAGE COMMAND …`.
export function readNpx(words: readonly string[]): Wanted | undefined {
  const [first = '', ...rest] = words;
  if (first === '-y' || first === '--yes') return readNpx(rest);
  const [, joined] = /^--package=(.+)$/.exec(first) ?? [];
  const isNamed = first === '-p' || first === '--package';
  if (joined === undefined && !isNamed) return isWord(first) ? { spec: first, args: rest } : undefined;
  const [spec, ...others] = joined === undefined ? rest : [joined, ...rest];
  const [command, ...args] =
    others[0] === '-y' || others[0] === '--yes' || others[0] === '--' ? others.slice(1) : others;
  return isWord(spec) && isWord(command) ? { spec, command, args } : undefined;
}

function isWord(word: string | undefined): word is string {
  return word !== undefined && word !== '' && !word.startsWith('-');
}

// `uvx COMMAND[@VERSION] …` or `uvx --from PACKAGE COMMAND …`.
function readUvx(words: readonly string[]): Wanted | undefined {
  const [first = '', second, third] = words;
  if (first === '--from' && second !== undefined && third !== undefined && !third.startsWith('-'))
    return { spec: second, command: third, args: words.slice(3) };
  if (first === '' || first.startsWith('-')) return undefined;
  const [, command = '', version] = /^([^@\s]+)(?:@(.+))?$/.exec(first) ?? [];
  if (command === '') return undefined;
  const spec = version === undefined || version === 'latest' ? command : `${command}==${version}`;
  return { spec, command: command.replace(/\[.*\]$/, ''), args: words.slice(1) };
}

async function installNpm(installing: Installing, command: string | undefined): Promise<readonly string[]> {
  const { name, spec, place, path } = installing;
  if (!existsSync(join(place, 'package.json'))) {
    const npm = findProgram('npm', path);
    if (npm === undefined) throw cannotInstall(name, 'npx');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--save-exact'];
    const argv = [npm, 'install', ...flags, '--prefix', place, '--', spec];
    await install(argv, installing);
  }
  return [process.execPath, findBin(name, place, command)];
}

// Only wheels: building a source distribution runs its code.
async function installUv(installing: Installing, command: string): Promise<readonly string[]> {
  const { name, spec, place, environment, path } = installing;
  const program = join(place, 'bin', command);
  if (!existsSync(program)) {
    const uv = findProgram('uv', path);
    if (uv === undefined) throw cannotInstall(name, 'uvx');
    const places = { UV_TOOL_DIR: join(place, 'tools'), UV_TOOL_BIN_DIR: join(place, 'bin') };
    const argv = [uv, 'tool', 'install', '--force', '--no-build', '--link-mode', 'copy', '--', spec];
    await install(argv, { ...installing, environment: { ...environment, ...places } });
    if (!existsSync(program)) {
      throw noProgram(name, spec, command, 'uvx --from PACKAGE PROGRAM');
    }
  }
  return [program];
}

async function install(argv: readonly string[], { name, spec, place, environment, world }: Installing): Promise<void> {
  world.debug(`${name}: installing ${spec} into ${place}`);
  const limits = { stdin: '', timeoutMs: INSTALL_MS, outputBytes: 1024 * 1024 };
  const outcome = await runProcess({ argv, cwd: place, environment, ...limits }, world);
  if (outcome.ending === 'exit' && outcome.exitCode === 0) return;
  const lines = outcome.stderr
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim().replace(/^npm error\s*/, ''));
  const reason = lines.filter((line) => line !== '' && !line.startsWith('npm warn')).join(' ');
  const shown = `cannot install ${quoteOutside(spec)} for the server ${name}: ${quoteOutside(reason, 300)}`;
  throw new ToolError('unavailable', shown, {
    hint: `run it by hand to see what is wrong: ${argv
      .slice(0, 3)
      .map((word) => basename(word))
      .join(' ')} ${spec}`,
    data: { server: name },
  });
}

// npm writes the package as the only dependency of the directory that it was installed into.
function findBin(name: string, place: string, command: string | undefined): string {
  const { dependencies } = readManifest(place);
  const [packageName = ''] = isRecord(dependencies) ? Object.keys(dependencies) : [];
  const directory = join(place, 'node_modules', packageName);
  const { bin } = readManifest(directory);
  const short = packageName.replace(/^@[^/]+\//, '');
  const bins = typeof bin === 'string' ? { [short]: bin } : isRecord(bin) ? bin : {};
  const [only] = Object.values(bins);
  const single = bins[short] ?? (Object.keys(bins).length === 1 ? only : undefined);
  const chosen = command === undefined ? single : Object.hasOwn(bins, command) ? bins[command] : undefined;
  if (typeof chosen === 'string') return resolve(directory, chosen);
  throw noProgram(name, packageName, command, `npx -p ${packageName} ${Object.keys(bins)[0] ?? 'PROGRAM'}`);
}

function readManifest(directory: string): Readonly<Record<string, unknown>> {
  const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return isRecord(manifest) ? manifest : {};
}

function noProgram(name: string, spec: string, command: string | undefined, example: string): ToolError {
  const what = command === undefined ? 'no program, or several' : `no program ${quoteOutside(command, 60)}`;
  return new ToolError('unavailable', `${quoteOutside(spec)} of the server ${name} has ${what}`, {
    hint: `name the package and its program: ${quoteOutside(example, 200)}`,
    data: { server: name },
  });
}

function cannotInstall(name: string, runner: string): ToolError {
  return new ToolError('unavailable', `the sandbox of the server ${name} has no network, which ${runner} needs`, {
    hint: `install its program and write that as the command, or allow the network: [sandbox.${name}] network = true`,
    data: { server: name },
  });
}
