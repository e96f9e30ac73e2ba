// Tells which command lines are certainly those of tests, checks and builds (CLI-39).

import { isActingWord } from '../../core/destructive-words.js';
import { words } from '../../core/text.js';

/** What a task runs, if all of it is known. */
export interface Steps {
  /** Command lines for a shell. */
  readonly commands: readonly string[];
  /** Names of tasks of the same file, which must exist. */
  readonly tasks: readonly string[];
}

// With any arguments that do not watch, serve, fix, write or update.
const CHECKS = new Set(
  words(`
    echo printf true : exit test
    eslint oxlint jshint standard xo stylelint htmlhint markdownlint markdownlint-cli2 cspell knip depcheck publint attw tsd
    tsc vue-tsc svelte-check webpack rollup esbuild tsup tsdown unbuild swc babel
    vitest jest mocha ava tap tape uvu wtr
    pytest py.test flake8 pylint mypy pyright basedpyright bandit tox nox unittest compileall sphinx-build
    staticcheck govulncheck phpunit phpstan psalm phpcs pest rspec rubocop
    shellcheck bats hadolint actionlint yamllint zizmor typos luacheck ctest ninja
  `),
);
// Only with these subcommands.
const SUBCOMMANDS = new Map(
  `vite build; next build lint; nuxt build typecheck; astro build check; parcel build; rspack build; biome check lint ci format;
  dprint check; playwright test; cypress run; node-tap run; ruff check; ty check; mkdocs build; coverage run report xml html;
  cargo test build check clippy doc nextest; go test vet build; golangci-lint run; deno test check lint; bun test build;
  composer validate; dotnet test build; swift test build; mix test compile; flutter test analyze; dart test analyze;
  mvn test verify compile; meson test compile; wrangler types; tsc-alias; gleam test check build`
    .split(';')
    .map((line) => words(line))
    .map(([program = '', ...subcommands]) => [program, subcommands] as const),
);
// These write unless an option says that they check.
const WRITERS = /^(?:prettier|black|isort|gofmt|goimports|shfmt|rustfmt|ruff format|cargo fmt|deno fmt)(?![\w-])/;
const CHECKING = new Set(words('--check --check-only --list-different --diff --dry-run -l -d'));
const INTERPRETERS = new Set(words('node python python3 sh bash tsx ts-node ruby php bun deno'));
// Options of Node.js that run nothing else than the file, or the tests.
const PLAIN_OPTION =
  /^--(?:test(?:-[\w-]+)?|check|no-warnings|enable-source-maps|experimental-[\w-]+|import|allow-[\w-]+)(?:=.*)?$/;
// Parts of options and arguments by which a program changes something or does not end, besides those of names.
const ACTING = new Set(
  words(
    'autofix autocorrect correct alter baseline inplace overwrite accept bless init record open ui hot interactive server servedir',
  ),
);
// The command is what follows.
const PREFIXES = words(
  'npx bunx cross-env yarn pnpm|exec pnpm uv|run poetry|run bundle|exec python|-m python3|-m time c8 nyc',
).map((prefix) => prefix.split('|'));
const TOKEN =
  /(\\\n|[ \t\r]+|(?<!\S)#.*)|(&&|\|\||[;\n])|((?:[^\s'"`$&|;<>(){}\\#]|'[^']*'|"[^"`$\\]*"|\{[\w,.-]*\})+)/y;

// The words of each command; undefined if the text has anything else.
function splitCommands(text: string): readonly (readonly string[])[] | undefined {
  const commands: string[][] = [[]];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (match === null) return undefined;
    const [, , separator, word] = match;
    if (separator !== undefined) commands.push([]);
    if (word !== undefined) commands.at(-1)!.push(word.replace(/['"]/g, ''));
  }
  return commands.filter(({ length }) => length > 0);
}

/** Returns the names of the tasks that a text runs; undefined if it may run something else that is not known. */
export function findRunTasks(text: string, runner: readonly string[], isTask: (name: string) => boolean) {
  const commands = splitCommands(text)?.map((command) => readCommand(command, runner, isTask));
  return commands?.every((one) => one !== undefined) ? commands.flat() : undefined;
}

function readCommand(
  given: readonly string[],
  runner: readonly string[],
  isTask: (name: string) => boolean,
): readonly string[] | undefined {
  const command = given.slice(given.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word)));
  if (command[0]?.startsWith('@') && runner.includes('@'))
    return readCall(['@', command[0].slice(1), ...command.slice(1)]);
  if (runner.includes(command[0] ?? '')) {
    const called = readCall(command);
    if (called?.every(isTask)) return called;
  }
  if (/^(?:run-[ps]|npm-run-all|turbo)$/.test(command[0] ?? '') && runner.includes('npm')) return readCalls(command);
  const prefix = PREFIXES.find((one) => one.every((word, at) => command[at] === word));
  if (prefix !== undefined && command.length > prefix.length)
    return readCommand(command.slice(prefix.length), runner, isTask) ?? (isKnown(command) ? [] : undefined);
  return isKnown(command) ? [] : undefined;
}

// `npm run NAME`, `just NAME`, `make NAME`.
function readCall([program = '', ...rest]: readonly string[]): readonly string[] | undefined {
  if (program === 'make') return readCalls([program, ...rest]);
  const [name, ...args] = rest.slice(
    rest.findIndex((word) => !/^(?:run|run-script|task|-s|--silent|-q|--quiet)$/.test(word)),
  );
  return name === undefined || args.some(isActing) ? undefined : [name];
}

// `make -j4 NAME NAME`, `run-p NAME NAME`, `turbo run NAME`.
function readCalls([, ...rest]: readonly string[]): readonly string[] | undefined {
  if (rest.some((word) => isActing(word) || /^-[Cf]|=/.test(word))) return undefined;
  const names = rest.filter((word) => !word.startsWith('-') && word !== 'run');
  return names.length === 0 ? undefined : names;
}

function isKnown([first = '', ...args]: readonly string[]): boolean {
  if (args.some(isActing)) return false;
  const program = first.replace(/^(?:\.\/)?(?:node_modules\/\.bin|vendor\/bin)\//, '');
  if (WRITERS.test([program, ...args].join(' '))) return args.some((word) => CHECKING.has(word));
  if (CHECKS.has(program)) return true;
  const subcommand = args.find((word) => !word.startsWith('-'));
  if (SUBCOMMANDS.get(program)?.includes(subcommand ?? '')) return true;
  // Scripts of the repository.
  if (/^(?:\.|[\w-]+)\/[\w./-]+$/.test(program)) return !/\.\.|node_modules|vendor/.test(program);
  if (!INTERPRETERS.has(program)) return false;
  const rest = args.slice(/^(?:bun|deno)$/.test(program) && subcommand === 'run' ? args.indexOf('run') + 1 : 0);
  const file = rest.find((word, at) => !PLAIN_OPTION.test(word) && rest[at - 1] !== '--import');
  return file === undefined ? rest.includes('--test') : /^(?:\.?[\w-]*\/[\w./*-]+|[\w.][\w.*-]*\.\w+)$/.test(file);
}

// `--fix`, `--updateSnapshot`, `-w`, `watch`; not `--watch=false` and `--no-watch`.
function isActing(word: string): boolean {
  if (/^-(?:[wuaA]|wu|uw)$/.test(word)) return true;
  const [, dashes = '', name = '', value = ''] = /^(-*)([^=]*)=?(.*)$/.exec(word)!;
  if (dashes === '') return isActingPart(word);
  if (/^(?:false|0|no)$/.test(value)) return false;
  if (isActingPart(value)) return true;
  const parts = name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_:.]/);
  return parts[0] !== 'no' && parts.some(isActingPart);
}

function isActingPart(part: string): boolean {
  return isActingWord(part) || ACTING.has(part);
}
