// Finds the package that a command line runs, and the word that names it: of npx, uvx, docker run and their like.

import { basename } from 'node:path';
import { findRunner } from '../entries/package-runner.js';

/** As OSV names them; an image belongs to none. */
export type Ecosystem = 'npm' | 'PyPI' | 'docker';

/** What a package runner is asked to run. */
export interface Run {
  /** The program that runs it, such as `npx`. */
  readonly runner: string;
  /** The package as written: a name with a version, a path or an address. */
  readonly spec: string;
  /** Its program; undefined: its only one. */
  readonly program: string | undefined;
  /** The arguments of the program. */
  readonly args: readonly string[];
  /** The Python that it needs. */
  readonly python?: string | undefined;
}

/** The package of a registry that a server is run from. */
export interface RunPackage extends Omit<Run, 'spec'> {
  readonly ecosystem: Ecosystem;
  readonly name: string;
  /** What its installer reads after the name, such as `[cli]`. */
  readonly extras: string;
  /** A version, range, tag or digest; undefined without one. */
  readonly wanted: string | undefined;
  /** Returns the arguments of the command line with this version. */
  withVersion(version: string): readonly string[];
}

interface Scanned extends Run {
  /** The position of the word that names the package, and what is before the name in it. */
  readonly at: number;
  readonly prefix: string;
  readonly isNamed: boolean;
}

interface Options {
  readonly flags: RegExp;
  readonly from: RegExp;
  readonly python?: RegExp;
  /** Further options of command lines that cannot be pinned: flags, and those with a value. */
  readonly more: RegExp;
  readonly values: RegExp;
  /** Names further packages. */
  readonly with?: RegExp;
}

const NPM: Options = {
  flags: /^(?:-[yqs]|--(?:yes|quiet|silent|bun|prefer-offline|prefer-online))$/,
  from: /^(?:-p|--package)$/,
  more: /^(?:-[df]|--(?:verbose|force|offline|ignore-scripts|strict-ssl|legacy-peer-deps|no-(?:install|audit|fund|update-notifier|progress|color|strict-ssl)))$/,
  values:
    /^--(?:registry|loglevel|cache|prefix|userconfig|globalconfig|node-options|script-shell|tag|proxy|https?-proxy|noproxy|cafile|fetch-(?:retries|timeout)|before|min-release-age|allow-build|reporter)$/,
};
const UV: Options = {
  flags: /^(?:-[qn]|--(?:quiet|no-cache|isolated|no-progress|refresh))$/,
  from: /^--from$/,
  python: /^(?:-p|--python)$/,
  more: /^(?:-[vU]|--(?:verbose|offline|upgrade|reinstall|native-tls|system-certs|managed-python|no-(?:config|index|build|binary|env-file|managed-python|python-downloads)))$/,
  values:
    /^(?:-[ifP]|--(?:index-url|extra-index-url|index|default-index|find-links|index-strategy|keyring-provider|allow-insecure-host|cache-dir|config-file|directory|project|env-file|link-mode|resolution|prerelease|exclude-newer|color|python-preference|(?:upgrade|refresh|reinstall)-package))$/,
  with: /^(?:-w|--with|--with-editable)$/,
};
const RUNNERS: readonly (readonly [words: readonly string[], options: Options | 'image'])[] = [
  [['npx', 'npm exec', 'npm x', 'pnpx', 'pnpm dlx', 'yarn dlx', 'bunx', 'bun x'], NPM],
  [['uvx', 'uv tool run'], UV],
  [['docker run', 'podman run'], 'image'],
];

const NPM_SPEC = /^((?:@[A-Za-z0-9][\w.~-]*\/)?[A-Za-z0-9][\w.~-]*)(?:@([^\s:/@]+))?$/;
const PYPI_SPEC = /^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(\[[\w,.-]+\])?(?:(?:==|@)([\w.!+*-]+)|([<>~!=][^\s;#]*))?$/;
const IMAGE = /^((?:[\w.-]+(?::\d+)?\/)?[a-z0-9][a-z0-9._/-]*?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;

/** Returns undefined for a command line that runs no package of a registry, or in a form that is not known. */
export function findPackage(command: string, args: readonly string[]): RunPackage | undefined {
  const { options, before = 0 } = findOptions(command, args) ?? {};
  if (options === 'image') return findImage(basename(command), args, before);
  return options && findRegistered(args, before, options, basename(command));
}

/** Returns what `npx`, `uvx` and others are asked to run, from wherever it comes; undefined for other command lines. */
export function findRun(command: string, args: readonly string[]): Run | undefined {
  const { options, before = 0 } = findOptions(command, args) ?? {};
  return options === undefined || options === 'image' ? undefined : scan(args, before, options, basename(command));
}

type NamedPackage = Pick<RunPackage, 'ecosystem' | 'name' | 'wanted'>;

// What they run is in no ecosystem of advisories, or not named in the command line.
const OTHER_RUNNERS = ['docker', 'podman', 'nerdctl', 'go', 'deno', 'cargo', 'dotnet', 'dnx', 'nix'];
const LOCAL = /^(?:\.{1,2}(?:[\\/]|$)|[\\/~]|file:)/;

/** Returns all packages that a command line names; undefined if its runner is asked in a form that is not known. */
export function findPackages(command: string, args: readonly string[]): readonly NamedPackage[] | undefined {
  const runner = findRunner([command, ...args]);
  if (runner === undefined) return [];
  if (OTHER_RUNNERS.includes(runner)) return [findPackage(command, args)].filter((one) => one !== undefined);
  const { options, before = 0 } = findOptions(command, args) ?? {};
  // `uv run` runs what is in a project.
  if (runner === 'uv' && !args.includes('tool')) return toPackages(findFurther(args), UV);
  if (options === undefined || options === 'image') return undefined;
  const specs = findSpecs(args, before, options, basename(command) === 'npm');
  return specs && toPackages(specs, options);
}

function findFurther(args: readonly string[]): string[] {
  return args.flatMap((word, at) => {
    const [option, value] = toOption(word);
    return UV.with!.test(option) ? [value ?? args[at + 1] ?? ''] : [];
  });
}

// `isWhole`: options can also be after the package.
function findSpecs(
  words: readonly string[],
  before: number,
  { flags, more, from, python, values, with: further }: Options,
  isWhole: boolean,
): string[] | undefined {
  const specs: string[] = [];
  let first: string | undefined;
  let isNamed = false;
  for (let at = before; at < words.length && (isWhole || first === undefined); at++) {
    const word = words[at]!;
    const [option, value] = toOption(word);
    if (word === '--') {
      first ??= words[at + 1];
      break;
    }
    if (!word.startsWith('-')) first ??= word;
    else if (from.test(option) || further?.test(option)) {
      specs.push(value ?? words[++at] ?? '');
      isNamed ||= from.test(option);
    } else if (values.test(option) || python?.test(option)) at += value === undefined ? 1 : 0;
    else if (!(flags.test(option) || more.test(option)) || (value !== undefined && !isBoolean(value))) return undefined;
  }
  // npm takes it for the value of a flag.
  if (first !== undefined && isBoolean(first)) return undefined;
  return isNamed || first === undefined ? specs : [first, ...specs];
}

function toPackages(specs: readonly string[], options: Options): NamedPackage[] | undefined {
  const isNpm = options === NPM;
  const all = isNpm ? specs.map((spec) => spec.replace(/^@?[^@]+@npm:/, '')) : specs.flatMap(toRequirements);
  const found: NamedPackage[] = [];
  for (const spec of all) {
    if (LOCAL.test(spec)) continue;
    const [, name, second, third, range] = (isNpm ? NPM_SPEC : PYPI_SPEC).exec(spec) ?? [];
    if (name === undefined) return undefined;
    found.push({ ecosystem: isNpm ? 'npm' : 'PyPI', name, wanted: isNpm ? second : (third ?? range) });
  }
  return found;
}

// `a==1,b>=1,<2; python_version > "3"` are a and b.
function toRequirements(list: string): string[] {
  return list.split(/,(?=\s*[A-Za-z0-9./])/).map((one) => one.replace(/;.*$/, '').replaceAll(/\s/g, ''));
}

function toOption(word: string): [option: string, value?: string] {
  const at = /^--[\w-]+=/.test(word) ? word.indexOf('=') : -1;
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function isBoolean(word: string): boolean {
  return /^(?:true|false|null)$/.test(word);
}

// `before`: how many words belong to the runner, such as `exec` of npm.
function findOptions(command: string, args: readonly string[]) {
  for (const [texts, options] of RUNNERS)
    for (const text of texts) {
      const [program, ...words] = text.split(' ');
      if (basename(command) === program && words.every((word, at) => args[at] === word))
        return { options, before: words.length };
    }
  return undefined;
}

function findRegistered(
  all: readonly string[],
  before: number,
  options: Options,
  runner: string,
): RunPackage | undefined {
  const scanned = scan(all, before, options, runner);
  if (scanned === undefined) return undefined;
  const { at, prefix, isNamed, spec, ...run } = scanned;
  const isNpm = options === NPM;
  const [, name, second, third, range] = (isNpm ? NPM_SPEC : PYPI_SPEC).exec(spec) ?? [];
  if (name === undefined) return undefined;
  const extras = isNpm ? '' : (second ?? '');
  const equals = isNpm || !isNamed ? '@' : '==';
  return {
    ...run,
    ecosystem: isNpm ? 'npm' : 'PyPI',
    name,
    extras,
    wanted: isNpm ? second : (third ?? range),
    program: run.program ?? (isNpm ? undefined : name),
    withVersion: (version) => all.with(at, `${prefix}${name}${extras}${equals}${version}`),
  };
}

// Options of the runner, then the package, or its program if `--package` or `--from` named the package.
function scan(
  words: readonly string[],
  before: number,
  { flags, from, python: ofPython }: Options,
  runner: string,
): Scanned | undefined {
  let named: Pick<Scanned, 'at' | 'prefix'> | undefined;
  let python: string | undefined;
  for (let at = before; at < words.length; at++) {
    const word = words[at]!;
    const [option, value] = toOption(word);
    if (from.test(option) && named === undefined)
      named = value === undefined ? { at: ++at, prefix: '' } : { at, prefix: `${option}=` };
    else if (ofPython?.test(option)) python = value ?? words[++at];
    else if (word === '--' || flags.test(word)) continue;
    else if (word.startsWith('-')) return undefined;
    else {
      const found = named ?? { at, prefix: '' };
      const spec = words[found.at]?.slice(found.prefix.length);
      if (spec === undefined) return undefined;
      // `npm exec x -- -v`
      const isApart = runner === 'npm' && words[at + 1] === '--';
      const args = words.slice(at + (isApart ? 2 : 1));
      const isNamed = named !== undefined;
      return { ...found, isNamed, runner, spec, program: isNamed ? word : undefined, args, python };
    }
  }
  return undefined;
}

/** Options of `docker run` and its like without a value. */
export const CONTAINER_SWITCHES =
  /^(?:-[itdqP]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|quiet|publish-all|replace|no-healthcheck|oom-kill-disable|sig-proxy|disable-content-trust))$/;

function findImage(runner: string, words: readonly string[], before: number): RunPackage | undefined {
  for (let at = before; at < words.length; at++) {
    const word = words[at]!;
    if (CONTAINER_SWITCHES.test(word) || /^--[\w-]+=|^-[a-zA-Z]./.test(word)) continue;
    if (word.startsWith('-')) at++;
    else {
      const [, name, tag, digest] = IMAGE.exec(word) ?? [];
      if (name === undefined) return undefined;
      return {
        ecosystem: 'docker',
        runner,
        name,
        extras: '',
        wanted: digest ?? tag,
        program: undefined,
        args: words.slice(at + 1),
        withVersion: (version) => words.with(at, `${name}@${version}`),
      };
    }
  }
  return undefined;
}

/** Whether a version is exact, so that it always means the same package. */
export function isExact({ ecosystem, wanted }: Pick<RunPackage, 'ecosystem' | 'wanted'>): boolean {
  if (wanted === undefined) return false;
  if (ecosystem === 'docker') return wanted.startsWith('sha256:');
  if (ecosystem === 'npm') return /^v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(wanted);
  return /^(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[\w.]+)?$/.test(wanted);
}

/** Formats a package for people, such as `npm:x@1.2.3`. */
export function describePackage({ ecosystem, name }: Pick<RunPackage, 'ecosystem' | 'name'>, version?: string): string {
  return `${ecosystem.toLowerCase()}:${name}${version === undefined ? '' : `@${version}`}`;
}
