// The package.json format: scripts of a package and of its workspaces.

import type { Format } from '../../core/format.js';
import { compileGlob } from '../../core/glob.js';
import { isRecord, mapValues } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { quoteOutside } from '../../core/text.js';
import type { TextFile } from '../shared/root-file.js';
import { createTaskFormat, type Task, type TaskCommand, type TaskSource, type Tasks } from '../shared/task-file.js';
import { ARGS, describeTask, PLAIN_ARGS } from '../shared/task-input.js';
import { parseObject, parseYamlTasks, readTable, toSteps } from '../shared/task-text.js';

export function createPackageJsonFormat(): Format {
  return createTaskFormat({
    name: 'package-json',
    prefix: 'npm',
    files: ['package.json'],
    runner: ['npm', 'pnpm', 'yarn', 'bun'],
    parse,
  });
}

function parse(source: TaskSource): Tasks {
  const document = parseObject(source.text);
  const manager = findManager(source, document);
  const { members, findings } = findMembers(source, document, manager);
  const below = members.map((file) => toMember(file, manager));
  return {
    tasks: [...scriptsOf(document, manager), ...below.flatMap(({ tasks }) => tasks)],
    findings: [...findings, ...below.flatMap((one) => one.findings ?? [])],
  };
}

// npm runs these itself, around an installation, a version or a release.
const LIFECYCLE = new Set(
  ['install', 'prepare', 'publish', 'pack', 'version', 'uninstall', 'shrinkwrap'].flatMap((name) => [
    `pre${name}`,
    `post${name}`,
  ]),
);
for (const name of ['install', 'prepare', 'prepublishOnly', 'dependencies']) LIFECYCLE.add(name);

function scriptsOf(
  document: Record<string, unknown>,
  manager: Manager,
  member?: Pick<TaskCommand, 'file' | 'group'>,
): Task[] {
  const scripts = isRecord(document.scripts) ? document.scripts : {};
  const withHooks = mapValues(scripts, (text, name) =>
    [scripts[`pre${name}`] ?? [], text, scripts[`post${name}`] ?? []].flat(),
  );
  const toOffer = (name: string): Task['offer'] => {
    if (LIFECYCLE.has(name) || isHook(name, scripts)) return undefined;
    const text = scripts[name];
    if (typeof text !== 'string') return 'not a string';
    return { ...member, description: describeTask(undefined, text), ...toCommand(manager, name) };
  };
  return readTable(withHooks, toOffer, (commands) => toSteps({ commands }, { commands: ['commands'] }));
}

// Runs before or after another script.
function isHook(name: string, scripts: Record<string, unknown>): boolean {
  const of = /^(?:pre|post)(.+)$/.exec(name)?.[1];
  return of !== undefined && Object.hasOwn(scripts, of);
}

type Program = 'npm' | 'pnpm' | 'yarn' | 'bun';

interface Manager {
  readonly program: Program;
  /** Whether it passes everything after the name of a script on to it: not npm, and not pnpm before version 7. */
  readonly passesOptions: boolean;
}

function toCommand(
  { program, passesOptions }: Manager,
  script: string,
): Pick<TaskCommand, 'argv' | 'input' | 'endOfOptions'> {
  if (program === 'npm') return { argv: ['npm', 'run', script, { param: 'args' }], input: ARGS, endOfOptions: true };
  return {
    argv: [program, 'run', script, { param: 'args', allowDash: passesOptions }],
    // pnpm 7 and 8 put arguments into the text of a shell, in double quotes (TSK-6); which version runs is not known.
    input: program === 'pnpm' ? PLAIN_ARGS : ARGS,
  };
}

const LOCK_FILES: readonly (readonly [file: string, program: Program])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
];

function findManager(source: TaskSource, { packageManager }: Record<string, unknown>): Manager {
  const [, declared, version] = /^(npm|pnpm|yarn|bun)(?:@(\d*)|$)/.exec(String(packageManager ?? '')) ?? [];
  const { program, lock } = findProgram(source, declared as Program | undefined);
  if (program !== 'pnpm') return { program, passesOptions: program !== 'npm' };
  // Version 7 writes 5.4.
  const format = /^lockfileVersion: *['"]?(\d+(?:\.\d+)?)/m.exec(source.read(lock ?? '')?.text ?? '')?.[1];
  return { program, passesOptions: Number(version) >= 7 || Number(format) >= 5.4 };
}

// By the nearest lock file; `packageManager` decides if there are several, or none.
function findProgram(
  { has, depth }: TaskSource,
  declared: Program | undefined,
): { readonly program: Program; readonly lock?: string | undefined } {
  for (let up = 0; up <= depth; up++) {
    const found = new Map(
      LOCK_FILES.map(([file, program]) => [program, '../'.repeat(up) + file] as const).filter(([, lock]) => has(lock)),
    );
    if (declared !== undefined && (found.has(declared) || found.size > 1))
      return { program: declared, lock: found.get(declared) };
    const [first] = found;
    if (first !== undefined) return { program: first[0], lock: first[1] };
  }
  return { program: declared ?? 'npm' };
}

const MAX_MEMBERS = 200;

function findMembers(
  source: TaskSource,
  { workspaces }: Record<string, unknown>,
  manager: Manager,
): { readonly members: readonly TextFile[]; readonly findings: readonly Finding[] } {
  const declared =
    manager.program === 'pnpm' ? readPnpmWorkspace(source) : isRecord(workspaces) ? workspaces.packages : workspaces;
  const patterns = Array.isArray(declared) ? declared.filter((one) => typeof one === 'string').map(normalize) : [];
  const excluded = patterns.filter((one) => one.startsWith('!')).map((one) => compileGlob(normalize(one.slice(1))));
  const findings: Finding[] = [];
  const found = new Set<string>();
  for (const pattern of patterns) {
    if (pattern.startsWith('!')) continue;
    if (pattern.includes('**') || pattern.split('/').includes('..') || pattern.startsWith('/'))
      findings.push({
        message: `workspaces of "${quoteOutside(pattern, 200)}" are left out: only * for one directory is followed`,
        hint: 'name their package.json files in tasks.from',
      });
    else for (const directory of expand(source, pattern)) found.add(directory);
  }
  const wanted = [...found].filter((directory) => !excluded.some((glob) => glob.matches(directory)));
  if (wanted.length > MAX_MEMBERS)
    findings.push({
      message: `${wanted.length - MAX_MEMBERS} workspaces are left out: it has more than ${MAX_MEMBERS}`,
      hint: 'name their package.json files in tasks.from',
    });
  const members = wanted.slice(0, MAX_MEMBERS).flatMap((directory) => source.read(`${directory}/package.json`) ?? []);
  return { members, findings };
}

function readPnpmWorkspace({ read }: TaskSource): unknown {
  const file = read('pnpm-workspace.yaml');
  if (file === undefined) return undefined;
  const document = parseYamlTasks(file.text, 'pnpm-workspace.yaml');
  return isRecord(document) ? document.packages : undefined;
}

function normalize(pattern: string): string {
  return pattern.replace(/^\.\//, '').replace(/\/+$/, '');
}

// Directories of a pattern, whose parts are names or have a * in them.
function expand({ directories }: TaskSource, pattern: string): string[] {
  let found = [''];
  for (const part of pattern.split('/')) {
    const glob = /[*?[{]/.test(part) ? compileGlob(part) : undefined;
    found = found.flatMap((above) => {
      const names =
        glob === undefined
          ? [part]
          : directories(above === '' ? '.' : above).filter((name) => isMember(name) && glob.matches(name));
      return names.map((name) => (above === '' ? name : `${above}/${name}`));
    });
  }
  return found.filter((one) => one !== '.' && one !== '');
}

function isMember(name: string): boolean {
  return name !== 'node_modules' && !name.startsWith('.');
}

// The name of a package without its scope is unique in most workspaces.
function toMember(file: TextFile, manager: Manager): Tasks {
  let document: Record<string, unknown>;
  try {
    document = parseObject(file.text);
  } catch (error) {
    const finding = { message: `${file.path}: ${(error as Error).message}`, hint: 'fix the file' };
    return { tasks: [], findings: [finding] };
  }
  const directory = file.path.split('/').at(-2)!;
  const group =
    typeof document.name === 'string' && document.name !== '' ? document.name.replace(/^@[^/]*\//, '') : directory;
  return { tasks: scriptsOf(document, manager, { file, group }) };
}
