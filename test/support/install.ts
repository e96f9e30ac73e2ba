// Sources to install from: directories and real git repositories, and a workspace that looks at what became of them.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type CliOptions, type CliRun, json, wield } from './cli.js';
import { createWorkspace, type Workspace } from './workspace.js';

/** Texts of files; one whose path ends with `!` is executable. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

export interface InstallWorkspace extends Workspace {
  readonly wieldHome: string;
  /** Writes a directory that can be added, and gives its path. */
  source(name: string, files: Files): string;
  /** The same as a repository with a commit; gives a `file://` URL. */
  repository(name: string, files: Files): string;
  /** Runs git in a source. */
  git(name: string, ...args: readonly string[]): string;
  run(...args: readonly string[]): Promise<CliRun>;
  runWith(options: CliOptions, ...args: readonly string[]): Promise<CliRun>;
  /** A run that must succeed, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents whose shape they are there to prove
  json(...args: readonly string[]): Promise<any>;
  /** A run that must fail, as its error. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents whose shape they are there to prove
  fail(...args: readonly string[]): Promise<any>;
  /** The text of a file in the store. */
  stored(path: string): string;
  /** Every file and link below the home, with its bytes or its target; what is not about installing left out. */
  snapshot(): Record<string, string>;
}

export const DETECT: Files = {
  'tools/detect/TOOL.md':
    '---\ndescription: Detect the project type from files in the current directory.\nbin: detect.sh\n---\n',
  'tools/detect/detect.sh!':
    '#!/bin/sh\n# @description Detect the project type.\n# @param path string Where to look\n. "$(dirname "$0")/lib.sh"\n[ "$#" -gt 0 ] || set -- "$WIELD_PARAM_PATH"\ndetect "$1"\n',
  'tools/detect/lib.sh': 'detect() { if [ -e "$1/package.json" ]; then echo node; else echo unknown; fi; }\n',
};

const SCAN: Files = {
  'skills/scan/SKILL.md':
    '---\nname: scan\ndescription: Scan a project.\n---\n\n1. Run the shared tool: `{{tools:detect}} .`\n2. Source its library: `. {{path:tool:detect}}/lib.sh`\n3. Record the result: `{{self}}/resources/notes.md`\n',
  'skills/scan/resources/notes.md': '# Notes\n',
};

export const WORKED: Files = { ...DETECT, ...SCAN };

export function writeFiles(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name.replace(/!$/, ''));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    chmodSync(path, name.endsWith('!') ? 0o755 : 0o644);
  }
}

const WHO = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];

export function createInstallWorkspace(): InstallWorkspace {
  const workspace = createWorkspace();
  const at = (name: string): string => join(dirname(workspace.dir), 'sources', name);
  const git = (name: string, ...args: readonly string[]): string =>
    execFileSync('git', [...WHO, ...args], {
      cwd: at(name),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: workspace.home },
    });
  const source = (name: string, files: Files): string => {
    mkdirSync(at(name), { recursive: true });
    writeFiles(at(name), files);
    return at(name);
  };
  const runWith = (options: CliOptions, ...args: readonly string[]): Promise<CliRun> =>
    wield(workspace, args, options);
  const run = (...args: readonly string[]): Promise<CliRun> => runWith({}, ...args);
  const wieldHome = workspace.env.WIELD_HOME!;
  return {
    ...workspace,
    wieldHome,
    source,
    git,
    repository: (name, files) => {
      source(name, files);
      git(name, 'init', '--quiet', '--initial-branch=main');
      git(name, 'add', '--all');
      git(name, 'commit', '--quiet', '--message', 'Begin');
      return `file://${at(name)}`;
    },
    run,
    runWith,
    json: async (...args) => {
      const done = await run(...args, '--json');
      if (done.status !== 0)
        throw new Error(`${args.join(' ')}: ${done.status} ${done.stdout}${done.stderr}`);
      return json(done);
    },
    fail: async (...args) => {
      const done = await run(...args, '--json');
      const document = json(done);
      if (document.ok !== false) throw new Error(`${args.join(' ')} did not fail: ${done.stdout}`);
      return { ...document.error, status: done.status };
    },
    stored: (path) => readFileSync(join(wieldHome, 'store', path), 'utf8'),
    snapshot: () => snapshot(workspace.home),
  };
}

const NOT_ABOUT = /^\.wield\/(?:audit|cache|pins|hooks\.json|sources\.json|sources$|sources\/)|^\.wield$/;

function snapshot(home: string): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' }).sort()) {
    if (NOT_ABOUT.test(name)) continue;
    const path = join(home, name);
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) seen[name] = `-> ${readlinkSync(path)}`;
    else if (stats.isFile()) seen[name] = `${stats.mode & 0o111 ? 'x' : '-'} ${readFileSync(path, 'latin1')}`;
    else seen[name] = 'directory';
  }
  return seen;
}
