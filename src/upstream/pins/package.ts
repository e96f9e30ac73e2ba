// Finds the package that a command line runs, and the word that names it: of npx, uvx, docker run and their like.

import { basename } from 'node:path';

/** As OSV names them; an image belongs to none. */
export type Ecosystem = 'npm' | 'PyPI' | 'docker';

/** The package that a server is run from. */
export interface RunPackage {
  readonly ecosystem: Ecosystem;
  /** The program that runs it, such as `npx`. */
  readonly runner: string;
  readonly name: string;
  /** What its installer reads after the name, such as `[cli]`. */
  readonly extras: string;
  /** A version, range, tag or digest; undefined without one. */
  readonly wanted: string | undefined;
  /** Its program; undefined: its only one. */
  readonly program: string | undefined;
  /** The arguments of the program. */
  readonly args: readonly string[];
  /** The Python that it needs. */
  readonly python?: string | undefined;
  /** Returns the arguments of the command line with this version. */
  withVersion(version: string): readonly string[];
}

interface Words {
  readonly words: readonly string[];
  /** How many words come before them. */
  readonly before: number;
}

interface Scanned {
  /** The position of the word that names the package, and what is before the name in it. */
  readonly at: number;
  readonly prefix: string;
  readonly isNamed: boolean;
  readonly program: string | undefined;
  readonly args: readonly string[];
  readonly python?: string | undefined;
}

interface Options {
  readonly flags: RegExp;
  readonly from: RegExp;
  readonly python?: RegExp;
}

const NPM: Options = {
  flags: /^(?:-[yqs]|--(?:yes|quiet|silent|bun|prefer-offline|prefer-online))$/,
  from: /^(?:-p|--package)$/,
};
const UV: Options = {
  flags: /^(?:-[qn]|--(?:quiet|no-cache|isolated|no-progress|refresh))$/,
  from: /^--from$/,
  python: /^(?:-p|--python)$/,
};
const RUNNERS: readonly (readonly [words: string, options: Options | 'image'])[] = [
  ['npx', NPM],
  ['npm exec', NPM],
  ['npm x', NPM],
  ['pnpx', NPM],
  ['pnpm dlx', NPM],
  ['yarn dlx', NPM],
  ['bunx', NPM],
  ['bun x', NPM],
  ['uvx', UV],
  ['uv tool run', UV],
  ['docker run', 'image'],
  ['podman run', 'image'],
];

const NPM_SPEC = /^((?:@[A-Za-z0-9][\w.~-]*\/)?[A-Za-z0-9][\w.~-]*)(?:@([^\s:/@]+))?$/;
const PYPI_SPEC = /^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(\[[\w,.-]+\])?(?:(?:==|@)([\w.!+*-]+)|([<>~!=][^\s;#]*))?$/;
const IMAGE = /^((?:[\w.-]+(?::\d+)?\/)?[a-z0-9][a-z0-9._/-]*?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;

/** Returns undefined for a command line that runs no package, or in a form that is not known. */
export function findPackage(command: string, args: readonly string[]): RunPackage | undefined {
  for (const [text, options] of RUNNERS) {
    const [program, ...words] = text.split(' ');
    if (basename(command) !== program || words.some((word, at) => args[at] !== word)) continue;
    const rest = { words: args.slice(words.length), before: words.length };
    return options === 'image' ? findImage(program!, args, rest) : findRegistered(program!, args, rest, options);
  }
  return undefined;
}

function findRegistered(runner: string, all: readonly string[], rest: Words, options: Options): RunPackage | undefined {
  const scanned = scan(rest.words, options);
  if (scanned === undefined) return undefined;
  const { at, prefix, isNamed, args, python } = scanned;
  const isNpm = options === NPM;
  const spec = rest.words[at]!.slice(prefix.length);
  const [, name, second, third, range] = (isNpm ? NPM_SPEC : PYPI_SPEC).exec(spec) ?? [];
  if (name === undefined) return undefined;
  const extras = isNpm ? '' : (second ?? '');
  const equals = isNpm || !isNamed ? '@' : '==';
  return {
    ecosystem: isNpm ? 'npm' : 'PyPI',
    runner,
    name,
    extras,
    wanted: isNpm ? second : (third ?? range),
    program: scanned.program ?? (isNpm ? undefined : name),
    // `npm exec x -- -v`
    args: runner === 'npm' && args[0] === '--' ? args.slice(1) : args,
    python,
    withVersion: (version) => all.with(rest.before + at, `${prefix}${name}${extras}${equals}${version}`),
  };
}

// Options of the runner, then the package, or its program if `--package` or `--from` named the package.
function scan(words: readonly string[], { flags, from, python }: Options): Scanned | undefined {
  let named: Pick<Scanned, 'at' | 'prefix'> | undefined;
  let version: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const [option, value] = /^(--[\w-]+)=/.test(word)
      ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]
      : [word];
    if (from.test(option!) && named === undefined)
      named = value === undefined ? { at: ++at, prefix: '' } : { at, prefix: `${option}=` };
    else if (python?.test(option!)) version = value ?? words[++at];
    else if (word === '--' || flags.test(word)) continue;
    else if (word.startsWith('-')) return undefined;
    else {
      const args = words.slice(at + 1);
      if (named === undefined) return { at, prefix: '', isNamed: false, program: undefined, args, python: version };
      return words[named.at] === undefined
        ? undefined
        : { ...named, isNamed: true, program: word, args, python: version };
    }
  }
  return undefined;
}

// Other options have a value.
const SWITCHES =
  /^(?:-[itdqP]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|quiet|publish-all|no-healthcheck|oom-kill-disable|sig-proxy|disable-content-trust))$/;

function findImage(runner: string, all: readonly string[], { words, before }: Words): RunPackage | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (SWITCHES.test(word) || /^--[\w-]+=|^-[a-zA-Z]./.test(word)) continue;
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
        withVersion: (version) => all.with(before + at, `${name}@${version}`),
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
