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
  /** Writes a skill: SKILL.md and whatever else is given, objects as JSON; gives its directory. */
  skill(name: string, files?: Readonly<Record<string, unknown>>): string;
}

/** A workspace whose path begins with a directory of programs; `args` prints its arguments. */
export function createSkillWorkspace(): SkillWorkspace {
  const workspace = createWorkspace();
  const bin = join(workspace.home, 'bin');
  mkdirSync(bin);
  workspace.env.PATH = `${bin}:${workspace.env.PATH}`;
  const program = (name: string, text = PRINT_ARGUMENTS): string => {
    const path = join(bin, name);
    writeFileSync(path, text);
    chmodSync(path, 0o755);
    return path;
  };
  program('args');
  return {
    ...workspace,
    bin,
    program,
    skill: (name, files = {}) => {
      const base = `.agents/skills/${name}`;
      workspace.write(`${base}/SKILL.md`, `---\nname: ${name}\ndescription: About ${name}.\n---\n\nText of ${name}.\n`);
      for (const [file, content] of Object.entries(files))
        workspace.write(`${base}/${file}`, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
      return join(workspace.dir, base);
    },
  };
}

export interface CommandOptions {
  readonly tool?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly binary?: string;
  readonly subcommand?: string;
  readonly allowlist?: Readonly<Record<string, readonly string[]>>;
  /** What else the execution says. */
  readonly execution?: Readonly<Record<string, unknown>>;
}

/** A tools.json with one tool over one command; its parameters are text unless said otherwise. */
export function declare(args: readonly Readonly<Record<string, unknown>>[], options: CommandOptions = {}) {
  const { tool = 'run', binary = 'args', subcommand = '', execution = {}, required = [] } = options;
  const names = args.flatMap(({ param }) => (typeof param === 'string' ? [param] : []));
  const properties = { ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])), ...options.properties };
  return {
    tools: [{ name: tool, description: `Runs ${binary}.`, parameters: { type: 'object', properties, required } }],
    allowlist: options.allowlist ?? { [binary]: [subcommand] },
    execution: [{ tool, binary, subcommand, args, ...execution }],
  };
}
