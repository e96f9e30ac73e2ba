// Starts a pinned server: from an installation of its own, whose packages and files are verified (UPS-123).

import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import { digestBytes, digestParts } from '../../files/digest.js';
import { withLock } from '../../files/lock.js';
import { removeTree } from '../../files/remove.js';
import { createStateDirectory } from '../../files/state.js';
import { hashTreeInTurns, listTree } from '../../files/tree.js';
import { writeFileAtomic } from '../../files/write.js';
import { type Advisories, assertHarmless } from './advisories.js';
import { describePackage, isExact, type RunPackage } from './package.js';
import {
  type Installing,
  NPM_FLAGS,
  type Pin,
  type Resolved,
  readNpmLock,
  readRequirements,
  resolvePackage,
  runInstaller,
  toPypiName,
} from './resolve.js';

export interface InstallOptions extends Installing {
  readonly wieldHome: string;
  readonly advisories: Advisories;
}

export interface PinnedStart extends InstallOptions {
  /** What the server is started with. */
  readonly environment: Readonly<Record<string, string>>;
  /** Called before it is installed. */
  readonly beforeRun?: (() => void) | undefined;
}

export interface Started {
  /** Undefined: the command line as it is. */
  readonly argv?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Its files, which are hashed before it is started. */
  readonly installed?: PinnedFiles;
}

/** Where a pinned server is installed, as plain data. */
export interface PinnedFiles extends Pick<RunPackage, 'ecosystem' | 'program'> {
  readonly server: string;
  readonly root: string;
}

const MARKER = 'pin.json';
const VENV = 'venv';

/**
 * Returns how a pinned package is started, once its files are unchanged. Throws `integrity` if it is not what it was pinned
 * to, `denied` by an advisory.
 */
export async function startPinned(
  wanted: RunPackage | undefined,
  integrity: string,
  start: PinnedStart,
): Promise<Started> {
  const { server, environment, wieldHome, advisories } = start;
  if (wanted === undefined || !isExact(wanted))
    throw differs(
      server,
      'its entry has an integrity, but does not name the exact version of a package',
      'remove integrity from its entry, or add it again: wield mcp add',
    );
  if (wanted.ecosystem === 'docker') {
    // Docker verifies digests itself.
    if (wanted.wanted !== integrity) throw differs(server, 'its entry names another image than its integrity');
    return { environment };
  }
  const pin = { version: wanted.wanted!, integrity };
  const root = rootOf(wanted, pin, wieldHome);
  if (!existsSync(join(root, MARKER))) {
    assertHarmless([wanted], advisories, server);
    start.beforeRun?.();
    const found = await resolvePackage(wanted, start);
    if (!isSame(wanted, found, pin))
      throw differs(
        server,
        `${describePackage(wanted, pin.version)} is pinned to ${integrity}, and the registry has ${found.integrity}`,
      );
    await installPin(wanted, found, start);
  }
  assertHarmless(packagesOf(wanted, root), advisories, server);
  const { ecosystem, program } = wanted;
  return { ...toStart(wanted, root, server, environment), installed: { server, root, ecosystem, program } };
}

/** Throws `integrity` if the files of a pinned server are not those that were installed. */
export async function assertUnchanged(files: PinnedFiles): Promise<void> {
  const { server, root } = files;
  const recorded: unknown = JSON.parse(readFileSync(join(root, MARKER), 'utf8'));
  if (!isRecord(recorded) || recorded.tree !== (await hashInstalled(files, root)))
    throw differs(
      server,
      `the files in ${root} are not those that were installed`,
      `remove them, and it is installed again: rm -r ${root}`,
    );
}

/** Installs what was resolved, once. No script of a package runs, and no code is built. */
export async function installPin(
  wanted: RunPackage,
  { files, ...pin }: Resolved,
  start: InstallOptions,
): Promise<void> {
  const { wieldHome, signal } = start;
  const root = rootOf(wanted, pin, wieldHome);
  for (const directory of [wieldHome, dirname(root)]) createStateDirectory(directory);
  await withLock(`${root}.lock`, { ...(signal && { signal }), doing: 'installing a package' }, async () => {
    if (existsSync(join(root, MARKER))) return;
    removeTree(root);
    createStateDirectory(root);
    for (const [name, text] of Object.entries(withPin(wanted, files, pin)))
      writeFileAtomic(join(root, name), text, { durable: false });
    assertHarmless(packagesOf(wanted, root), start.advisories, start.server);
    if (wanted.ecosystem === 'npm') await runInstaller(['npm', 'ci', ...NPM_FLAGS, '--prefix', root], root, start);
    else await installPypi(['--require-hashes', '-r', 'requirements.txt'], wanted, root, start);
    const tree = await hashInstalled(wanted, root);
    writeFileAtomic(join(root, MARKER), `${JSON.stringify({ ...pin, tree })}\n`);
  });
}

/** Installs what is named into a virtual environment, only from wheels: building a source distribution runs its code. */
export async function installPypi(
  named: readonly string[],
  { python }: Pick<RunPackage, 'python'>,
  root: string,
  installing: Installing,
  fail?: Parameters<typeof runInstaller>[3],
): Promise<void> {
  const own = python === undefined ? [] : ['--python', python];
  await runInstaller(['uv', 'venv', '--quiet', '--no-config', ...own, VENV], root, installing, fail);
  const flags = ['--quiet', '--no-config', '--no-build', '--link-mode', 'copy', '--python', `${VENV}/bin/python`];
  await runInstaller(['uv', 'pip', 'install', ...flags, ...named], root, installing, fail);
}

function rootOf(
  { ecosystem, name, extras, python = '' }: RunPackage,
  { version, integrity }: Pin,
  wieldHome: string,
): string {
  return join(wieldHome, 'packages', digestParts([ecosystem, name, extras, python, version, integrity]).slice(0, 32));
}

// Files of a version can be added on PyPI later.
function isSame({ ecosystem }: RunPackage, found: Pin, pin: Pin): boolean {
  if (found.version !== pin.version.replace(/^v/, '')) return false;
  if (ecosystem === 'npm') return found.integrity === pin.integrity;
  const hashes = found.integrity.split(' ');
  return pin.integrity.split(' ').some((hash) => hashes.includes(hash));
}

// Of PyPI, only the pinned files of the package itself are accepted.
function withPin({ ecosystem, name }: RunPackage, files: Resolved['files'], { integrity }: Pin): Resolved['files'] {
  if (ecosystem !== 'PyPI') return files;
  const lines = readRequirements(files['requirements.txt'] ?? '').map((one) => {
    const hashes = toPypiName(one.name) === toPypiName(name) ? integrity.split(' ') : one.hashes;
    return [`${one.name}==${one.version}`, ...hashes.map((hash) => `--hash=${hash}`)].join(' ');
  });
  return { 'requirements.txt': `${lines.join('\n')}\n` };
}

function packagesOf(
  { ecosystem }: RunPackage,
  root: string,
): readonly Pick<RunPackage, 'ecosystem' | 'name' | 'wanted'>[] {
  const read = (name: string): string => readFileSync(join(root, name), 'utf8');
  const all =
    ecosystem === 'npm'
      ? [...readNpmLock(read('package-lock.json')).values()]
      : readRequirements(read('requirements.txt'));
  return all.map(({ name, version }) => ({ ecosystem, name, wanted: version }));
}

// All files that run, but the caches that packages write next to them.
async function hashInstalled(
  { ecosystem, program = '' }: Pick<RunPackage, 'ecosystem' | 'program'>,
  root: string,
): Promise<string> {
  const hash = (directory: string): Promise<string> => {
    const files = listTree(directory, { links: 'keep' }).filter(
      ({ path }) => !/^\.cache\/|(?:^|\/)__pycache__\//.test(path),
    );
    return hashTreeInTurns(directory, files);
  };
  if (ecosystem === 'npm') return hash(join(root, 'node_modules'));
  const script = join(root, VENV, 'bin', program);
  return digestParts([
    await hash(join(root, VENV, 'lib')),
    existsSync(script) ? digestBytes(readFileSync(script)) : '',
  ]);
}

function toStart(
  { ecosystem, name, program, args }: RunPackage,
  root: string,
  server: string,
  environment: Started['environment'],
): Started {
  const withPath = (directory: string): Started['environment'] => ({
    ...environment,
    PATH: [directory, environment.PATH].filter(Boolean).join(delimiter),
  });
  if (ecosystem === 'npm') {
    const directory = join(root, 'node_modules');
    return {
      argv: [process.execPath, findBin(name, program, root, server), ...args],
      environment: withPath(join(directory, '.bin')),
    };
  }
  const file = findScript(name, program!, root, server);
  // Python would write compiled code next to the files.
  return { argv: [file, ...args], environment: { ...withPath(dirname(file)), PYTHONDONTWRITEBYTECODE: '1' } };
}

/** Returns the program of a package that is installed into a virtual environment. Throws `unavailable`. */
export function findScript(name: string, program: string, root: string, server: string): string {
  const file = join(root, VENV, 'bin', program);
  if (existsSync(file)) return file;
  throw noProgram(server, name, program, 'uvx --from PACKAGE PROGRAM');
}

/** Returns the program of a package that npm installed; the only one if it is not named. Throws `unavailable`. */
export function findBin(name: string, program: string | undefined, root: string, server: string): string {
  const own = join(root, 'node_modules', name);
  const { bin }: { bin?: unknown } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
  const short = name.replace(/^@[^/]+\//, '');
  const bins: Readonly<Record<string, unknown>> = typeof bin === 'string' ? { [short]: bin } : isRecord(bin) ? bin : {};
  const [first, ...others] = Object.keys(bins);
  const chosen = program ?? (Object.hasOwn(bins, short) || others.length > 0 ? short : first);
  const file = chosen !== undefined && Object.hasOwn(bins, chosen) ? bins[chosen] : undefined;
  if (typeof file === 'string') return resolve(own, file);
  throw noProgram(server, name, program, `npx -p ${name} ${first ?? 'PROGRAM'}`);
}

function noProgram(server: string, name: string, program: string | undefined, example: string): ToolError {
  const what = program === undefined ? 'no program, or several' : `no program ${quoteOutside(program, 60)}`;
  return new ToolError('unavailable', `${quoteOutside(name, 120)} of the server ${server} has ${what}`, {
    hint: `name the package and its program: ${quoteOutside(example, 200)}`,
    data: { server },
  });
}

function differs(
  server: string,
  message: string,
  hint = `find out why; wield upgrade ${server} pins it again`,
): ToolError {
  return new ToolError('integrity', `the server ${server} was not started: ${message}`, { hint, data: { server } });
}
