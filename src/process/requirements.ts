// Finds what is missing of the requirements of a tool or skill, and says how to get it.

import type { PlanSnapshot } from '../core/executor.js';
import { describePrograms, includesVersion, type Requirements } from '../core/requirements.js';
import type { World } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { realPath } from '../files/within.js';
import { findProgram, grantsOf, isGranted, pathOutside, searchPath } from './environment.js';
import { readVersion } from './sandbox/try-launcher.js';

/** One thing that is missing. */
export interface Missing {
  readonly what: string;
  readonly hint: string;
}

export interface RequirementContext {
  readonly world: World;
  readonly workdir: string;
  /** Names of variables that the configuration passes on; undefined if all are visible to what needs them. */
  readonly pass?: readonly string[] | undefined;
  /** Whether it runs in the Node of this process, whatever is on the PATH. */
  readonly isInNode?: boolean;
}

/** Returns what is missing, in the order of the requirements. Starts Python or Node to ask for its version. */
export async function findMissing(requires: Requirements, context: RequirementContext): Promise<readonly Missing[]> {
  const { programs, env, python, node } = requires;
  const path = searchPath(context.world);
  const isInstalled = (name: string): boolean => findProgram(name, path) !== undefined;
  const missing: Missing[] = [];
  for (const groups of programs) {
    if (groups.some((group) => group.every(isInstalled))) continue;
    const absent = groups[0]!.filter((name) => !isInstalled(name));
    const what = groups.length === 1 ? absent.join(' and ') : describePrograms(groups);
    missing.push({ what: `the program ${what}`, hint: toInstallHint(absent, path) });
  }
  missing.push(...findMissingVariables(env, context));
  if (python !== undefined)
    missing.push(...(await findMissingVersion('python', python, ['python3', 'python'], context)));
  if (node !== undefined) {
    const isFitting = context.isInNode === true && includesVersion(node, process.versions.node);
    if (!isFitting) missing.push(...(await findMissingVersion('node', node, ['node'], context)));
  }
  return missing;
}

/** Returns what is missing for calls of a tool. */
export async function missingOf(
  tool: Tool,
  world: World,
  { workdir, settings }: Pick<PlanSnapshot, 'workdir' | 'settings'>,
): Promise<readonly Missing[]> {
  const { traits, action } = tool;
  if (traits.requires === undefined) return [];
  const isStarted = action.kind === 'process' || action.kind === 'module';
  return findMissing(traits.requires, {
    world,
    workdir,
    pass: isStarted ? grantsOf(tool, settings) : undefined,
    isInNode: action.kind === 'module' || action.kind === 'function',
  });
}

/** Says on one line what is missing and how to get it; undefined if nothing is. */
export function describeMissing(missing: readonly Missing[]): string | undefined {
  if (missing.length === 0) return undefined;
  return `Missing here: ${missing.map(({ what, hint }) => `${what} (${hint})`).join('; ')}.`;
}

function findMissingVariables(env: readonly string[], { world, pass }: RequirementContext): Missing[] {
  const absent = env.filter((name) => world.env[name] === undefined);
  const hidden = pass === undefined ? [] : env.filter((name) => !isGranted(name, pass));
  return env
    .filter((name) => absent.includes(name) || hidden.includes(name))
    .map((name) => {
      const grant = `add to ~/.wield/config.toml:  [env]  pass = ["${name}"]`;
      const set = `set it before starting wield:  export ${name}=…`;
      return {
        what: `the variable ${name}${absent.includes(name) ? '' : ', which the configuration does not pass on'}`,
        hint: [...(absent.includes(name) ? [set] : []), ...(hidden.includes(name) ? [grant] : [])].join(', and '),
      };
    });
}

const LABELS = { python: 'Python', node: 'Node' } as const;

async function findMissingVersion(
  kind: keyof typeof LABELS,
  wanted: string,
  names: readonly string[],
  context: RequirementContext,
): Promise<Missing[]> {
  const { world, workdir } = context;
  const path = pathOutside(workdir, world);
  const file = names.map((name) => findProgram(name, path)).find((found) => found !== undefined);
  const what = `${LABELS[kind]} ${wanted}`.trim();
  if (file === undefined) return [{ what, hint: toInstallHint([names[0]!], path) }];
  if (wanted === '') return [];
  const version = await versionOf(file, world);
  if (version !== null && includesVersion(wanted, version)) return [];
  const found = version === null ? `${file} does not tell its version` : `${file} is ${version}`;
  return [{ what: `${what} (${found})`, hint: `install ${what}, and put its directory first in PATH` }];
}

const versions = new Map<string, Promise<string | null>>();

/** Forgets versions, which may be others now. */
export function forgetVersions(): void {
  versions.clear();
}

function versionOf(file: string, world: World): Promise<string | null> {
  if (realPath(file) === realPath(process.execPath)) return Promise.resolve(process.versions.node);
  const known = versions.get(file) ?? readVersion(file, world);
  versions.set(file, known);
  return known;
}

const MANAGERS: readonly (readonly [program: string, command: string])[] = [
  ['apt-get', 'apt-get install'],
  ['dnf', 'dnf install'],
  ['pacman', 'pacman -S'],
  ['zypper', 'zypper install'],
  ['apk', 'apk add'],
  ['brew', 'brew install'],
];
// Packages that are not named like their program.
const PACKAGES: Readonly<Record<string, string>> = {
  rg: 'ripgrep',
  convert: 'imagemagick',
  magick: 'imagemagick',
  ffprobe: 'ffmpeg',
  soffice: 'libreoffice',
  pdftotext: 'poppler-utils',
  pdftoppm: 'poppler-utils',
  node: 'nodejs',
};

function toInstallHint(names: readonly string[], path: readonly string[]): string {
  const [, command] = MANAGERS.find(([program]) => findProgram(program, path) !== undefined) ?? [];
  const packages = [...new Set(names.map((name) => PACKAGES[name] ?? name))].join(' ');
  return command === undefined
    ? `install ${names.join(' and ')}, or add the directory to PATH`
    : `install it, such as with:  ${command} ${packages}`;
}
