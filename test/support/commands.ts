// Skills with a tools.json, and small real programs on the path for them to run.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, type Workspace } from './workspace.js';

/** Prints its arguments as a JSON array on the first line, then its standard input. */
export const PRINT_ARGUMENTS = `#!${process.execPath}
const argv = process.argv.slice(2);
let input = '';
process.stdin.on('data', (chunk) => { input += chunk; });
process.stdin.on('end', () => process.stdout.write(JSON.stringify(argv) + '\\n' + input));
`;

export interface SkillWorkspace extends Workspace {
  /** A directory on the path, outside of the workdir. */
  readonly bin: string;
  /** Writes an executable onto the path. */
  program(name: string, text?: string): string;
  /** Writes a skill with SKILL.md and other files (objects as JSON), and returns its directory. */
  skill(name: string, files?: Readonly<Record<string, unknown>>): string;
}

/** Writes an executable onto the path of a workspace, outside of its workdir. */
export function createProgram(workspace: Workspace, name: string, text: string): string {
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin, { recursive: true });
  if (!workspace.env.PATH!.startsWith(`${bin}:`)) workspace.env.PATH = `${bin}:${workspace.env.PATH}`;
  const path = join(bin, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** A workspace with a program `args` on its path, which prints its arguments. */
export function createSkillWorkspace(): SkillWorkspace {
  const workspace = createWorkspace();
  const program = (name: string, text = PRINT_ARGUMENTS): string => createProgram(workspace, name, text);
  program('args');
  return {
    ...workspace,
    bin: join(workspace.home, 'bin'),
    program,
    skill: (name, files = {}) => {
      const base = `.agents/skills/${name}`;
      const header = `name: ${name}\ndescription: About ${name}.`;
      workspace.write(`${base}/SKILL.md`, `---\n${header}\n---\n\nText of ${name}.\n`);
      for (const [file, content] of Object.entries(files)) {
        const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
        workspace.write(`${base}/${file}`, text);
      }
      return join(workspace.dir, base);
    },
  };
}

/** Writes a SKILL.md with extra frontmatter, and returns its path. */
export function writeSkill(
  workspace: Workspace,
  name: string,
  { header = '', text = `Text of ${name}.\n`, place = '.agents/skills' } = {},
): string {
  const head = `name: ${name}\ndescription: About ${name}.\n${header === '' ? '' : `${header.trimEnd()}\n`}`;
  return workspace.write(join(place, name, 'SKILL.md'), `---\n${head}---\n${text}`);
}

export interface CommandOptions {
  readonly tool?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly binary?: string;
  readonly subcommand?: string;
  readonly allowlist?: Readonly<Record<string, readonly string[]>>;
  /** Other fields of the execution. */
  readonly execution?: Readonly<Record<string, unknown>>;
}

/** Returns a tools.json with one tool over one command; parameters are strings by default. */
export function declare(args: readonly Readonly<Record<string, unknown>>[], options: CommandOptions = {}) {
  const { tool = 'run', binary = 'args', subcommand = '', execution = {}, required = [] } = options;
  const names = args.flatMap(({ param }) => (typeof param === 'string' ? [param] : []));
  const properties = {
    ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    ...options.properties,
  };
  return {
    tools: [{ name: tool, description: `Runs ${binary}.`, parameters: { type: 'object', properties, required } }],
    allowlist: options.allowlist ?? { [binary]: [subcommand] },
    execution: [{ tool, binary, subcommand, args, ...execution }],
  };
}

/** Returns a copy with a value set at a JSON pointer, or removed if it is undefined. */
export function withValue(document: object, pointer: string, value: unknown): object {
  const copy = structuredClone(document) as Record<string, unknown>;
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/'));
  const last = steps.pop()!;
  let at = copy;
  for (const step of steps) at = at[step] as Record<string, unknown>;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}
